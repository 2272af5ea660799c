"""POST /v1/mixtures/{name}/amendments: a run is another from a step on. GET …/lineage: what came of it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mixture.api.answers import NOT_MODIFIED, Format, JsonOnly, json_answer, json_bytes
from mixture.api.database import Change
from mixture.api.dependencies import (
    AppServices,
    AskedMixture,
    Publisher,
    Reads,
    Services,
    TokenFirst,
    check_consumed,
    check_free,
    lineage_known,
    masks_of_documents,
)
from mixture.api.middleware import Lifetime, Problem, problems
from mixture.api.models import AmendmentMade, Lineage, NewAmendment
from mixture.api.refs import NAME_PATTERN, parse_ref
from mixture.api.registry import AmendmentAsked, LoadedMixture, amended_bundle
from mixture.errors import Place
from mixture.lock import Mask, MaskedRange, MaskLine, parting_step
from mixture.names import DIGEST_MARK
from mixture.planning.amend import amended_json
from mixture.planning.explain import amendment_json, amendment_words, resumable_json
from mixture.planning.plan import PlanReport

router = APIRouter(prefix="/v1/mixtures", tags=["mixtures"], route_class=TokenFirst)
MOST_VERSIONS = 1000


@router.post(
    "/{name}/amendments",
    response_model=AmendmentMade,
    responses={
        201: {"model": AmendmentMade, "description": "The name is new"},
        **problems.documented(401, 403, 404, 409, 413, 428, 503),
    },
)
def amend_mixture(
    name: Annotated[str, Path(pattern=f"^{NAME_PATTERN}$", examples=["small"], description="The mixture's name.")],
    new: NewAmendment,
    caller: Publisher,
    services: AppServices,
) -> Response:
    """Amend a mixture from a step on, and let the name point to what comes of it; or, with `dry_run`, only say it.

    The lock that is amended is the service's own. Sending the same again changes nothing. Refused where a run of the
    name has read past the step from which the new lock reads something else, `run-consumed`.
    """
    mixture = _base(services, name, new)
    if not new.dry_run:
        ref = f"{mixture.name}{DIGEST_MARK}{mixture.digest}"
        check_free(services, name, hint=f"POST {router.prefix}/NEWNAME/amendments with the base {ref}")
    lock = mixture.lock
    ranges, documents = _masks(new)
    amendment_asked = AmendmentAsked(
        step=new.step,
        spec=new.spec,
        tables=new.tables,
        skip_steps=new.skip_steps,
        masks=ranges,
        reason=new.reason,
        keep_weights=new.keep_weights,
    )
    bundle, made = amended_bundle(
        lock, services.bundle(mixture), amendment_asked, lambda made: masks_of_documents(services, documents, made)
    )
    check_consumed(services, name, made, leaves=new.leaves_runs)
    status = 200
    if not new.dry_run:
        is_next = mixture.name == name
        expected = mixture.digest if is_next else None
        services.keep(mixture)
        done = services.repository.publish(name, bundle, expected=expected, if_new=not is_next, by=caller.name)
        services.metrics.publishes.labels(done.change.value).inc()
        status = 201 if done.change is Change.CREATED else 200
    plan: PlanReport = json.loads(bundle.plan)
    answer: AmendmentMade = {
        "name": name,
        "digest": made.digest,
        "ref": f"{name}{DIGEST_MARK}{made.digest}",
        "published": not new.dry_run,
        "batches": services.has_text(made),
        "step": new.step,
        "parts_at": parting_step(lock, made),
        **amended_json(lock, made, new.step),
        "findings": plan["findings"],
    }
    headers = {"Cache-Control": "no-store"}
    return Response(json_bytes(answer), status, headers=headers, media_type=Format.JSON.value)


def _base(services: Services, name: str, new: NewAmendment) -> LoadedMixture:
    """The mixture that is amended. Raises Problem 422 `base-invalid`, 404 `unknown-mixture`."""
    base = parse_ref(new.base)
    if base is None:
        hint = f"NAME{DIGEST_MARK}DIGEST is right, as `ref` of GET {router.prefix}/{name} says it"
        raise Problem(422, "the base is no reference of a mixture", code="base-invalid", hint=hint)
    mixture = services.mixture(base)
    if base.digest is None and not new.dry_run:
        hint = f"it points to {mixture.name}{DIGEST_MARK}{mixture.digest} now; with dry_run the name alone is right"
        raise Problem(422, f"the base {new.base!r} does not say one lock", code="base-invalid", hint=hint)
    return mixture


def _masks(new: NewAmendment) -> tuple[tuple[Mask, ...], Mapping[int, Sequence[MaskLine]]]:
    """What is taken down: ranges, and documents by the step from which on."""
    ranges: list[Mask] = []
    documents: dict[int, list[MaskLine]] = defaultdict(list)
    for i, mask in enumerate(new.masks):
        first_step, what = new.step if mask.first_step is None else mask.first_step, mask.what()
        if isinstance(what, MaskedRange):
            ranges.append(Mask(first_step, what.domain, what.first_token, what.tokens))
        else:
            if first_step < new.step:
                detail = f"a mask from step {first_step} on changes what was read before step {new.step}"
                raise Problem(422, detail, code="mask-invalid")
            documents[first_step].append(MaskLine(what, Place(path=f"/masks/{i}")))
    return tuple(ranges), documents


@router.get(
    "/{ref}/lineage",
    dependencies=[Reads, JsonOnly],
    response_model=Lineage,
    responses=NOT_MODIFIED | problems.documented(404),
)
def get_lineage(asked: AskedMixture, services: AppServices, request: Request) -> Response:
    """Where a lock came from: each amendment, what it changed, and whose checkpoints go on under it."""
    mixture = asked.mixture
    services.keep(mixture)
    moves = services.repository.last_moves(mixture.name, limit=MOST_VERSIONS)
    known = lineage_known(services, mixture)
    explanation = known.explanation
    line = {mixture.digest, *(amendment.amended for amendment in explanation.amendments)}

    def make() -> Lineage:
        return {
            "name": mixture.name,
            "digest": mixture.digest,
            "steps": explanation.steps,
            "masked_tokens": explanation.masked_tokens,
            "amendments": [
                {
                    **amendment_json(amendment),
                    "words": list(amendment_words(amendment, repr)),
                    "url": None if (ref := known.refs.get(amendment.amended)) is None else f"{router.prefix}/{ref}",
                }
                for amendment in explanation.amendments
            ],
            "resumable": [resumable_json(one) for one in explanation.resumable],
            "versions": [
                {
                    "revision": move.revision,
                    "digest": move.to_digest,
                    "at": move.at.isoformat().replace("+00:00", "Z"),
                    "by": move.by,
                    "in_lineage": move.to_digest in line,
                    "url": f"{router.prefix}/{mixture.name}{DIGEST_MARK}{move.to_digest}",
                }
                for move in moves
            ],
        }

    of = f"{mixture.digest} {sorted(known.refs.items())} {moves}"
    return json_answer(request, of=of, lifetime=Lifetime.SHORT, make=make)
