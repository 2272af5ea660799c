"""PUT /v1/mixtures/{name}: publish a mixture. Its lock's digest names it for good; the name is moved with care."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response
from pydantic import BaseModel, Field

from mixture.api.answers import RequestBody
from mixture.api.database import Change, read_digest, write_digest
from mixture.api.dependencies import AppServices, Publisher, TokenFirst, check_consumed, check_free, check_lineage
from mixture.api.middleware import Problem, digest_in_tag, mixture_tag, problems, unquoted_tags
from mixture.api.models import RunIds
from mixture.api.refs import DIGEST, DIGEST_PATTERN, NAME_PATTERN
from mixture.api.registry import make_bundle
from mixture.names import DIGEST_MARK

router = APIRouter(prefix="/v1/mixtures", tags=["mixtures"], route_class=TokenFirst)

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: only
    weights: {a: 50%, b: 50%}
"""
_LONGEST_TEXT = 64 * 2**20


class NewMixture(RequestBody):
    """A mixture as its author has it: the spec file, the tables that it names, and the lock that should come out."""

    spec: str = Field(max_length=4 * 2**20, examples=[SPEC], description="The text of the spec file.")
    tables: dict[str, str] = Field(
        examples=[{"cells.csv": "domain,tokens\na,200000\nb,90000\n"}],
        description="Each table by the name that the spec has for it: text, or base64 where the name ends in .parquet. "
        "A name without an ending is a store's folder, and its value the store's domains.parquet, in base64.",
    )
    lock: str | None = Field(
        None,
        max_length=_LONGEST_TEXT,
        examples=[None],
        description="The text of the lock file. Where spec and tables do not give this lock, nothing is published. "
        "A lock that amends another brings along what comes before its step.",
    )
    leaves_runs: RunIds = Field(default_factory=list)


class KeptText(StrEnum):
    """Which text of the spec is kept."""

    SENT = "sent"
    FIRST = "first"


class PublishedMixture(BaseModel):
    """What became of a name."""

    name: str = Field(examples=["small"])
    digest: str = Field(examples=[DIGEST], description="Of the lock: SHA-256, lower-case hex.")
    ref: str = Field(examples=[f"small{DIGEST_MARK}{DIGEST}"], description="Name and digest: the address for good.")
    change: Change = Field(examples=[Change.CREATED])
    replaced: str | None = Field(examples=[None], description="The digest that the name pointed to before it moved.")
    text: KeptText = Field(
        examples=[KeptText.SENT],
        description="`first`: a mixture with this lock was here, with a spec that says the same in other words, "
        "and its text stays. Another comment is published together with a change, such as another seed.",
    )
    batches: bool = Field(
        examples=[True],
        description="Whether a store of this service holds the text of its domains: without one, there are no batches.",
    )
    url: str = Field(examples=["/v1/mixtures/small"])


@router.put(
    "/{name}",
    status_code=200,
    responses={
        201: {"model": PublishedMixture, "description": "The name is new"},
        **problems.documented(401, 403, 409, 413, 428, 503),
    },
)
def publish_mixture(
    name: Annotated[str, Path(pattern=f"^{NAME_PATTERN}$", examples=["small"], description="A name for the mixture.")],
    new: NewMixture,
    caller: Publisher,
    services: AppServices,
    response: Response,
    if_match: Annotated[
        str | None,
        Header(
            description='The digest that the name points to now: `"sha256:…"`. Needed to move it.',
            examples=[f'"{write_digest(DIGEST)}"'],
        ),
    ] = None,
    if_none_match: Annotated[str | None, Header(description="`*`: only where the name is new.", examples=["*"])] = None,
) -> PublishedMixture:
    """Publish a mixture: it is planned and locked here, and kept whole under its lock's digest.

    Sending the same again changes nothing. A name that points to another mixture is moved only by who names, in
    If-Match, the digest that it replaces. A lock that rewrites what an unfinished run of the name has read is refused,
    `run-consumed`, unless the run is named as one that is left behind.
    """
    expected = _digest_expected(if_match)
    if if_none_match not in (None, "*"):
        raise Problem(422, "If-None-Match: only * is right here", code="precondition-invalid")
    check_free(services, name)
    bundle, lock = make_bundle(new.spec, new.tables, lock=new.lock)
    check_lineage(services, lock)
    check_consumed(services, name, lock, leaves=new.leaves_runs)
    done = services.repository.publish(name, bundle, expected=expected, if_new=if_none_match == "*", by=caller.name)
    services.metrics.publishes.labels(done.change.value).inc()
    response.status_code = 201 if done.change is Change.CREATED else 200
    url = f"{router.prefix}/{name}"
    response.headers.update(
        {"ETag": f'"{mixture_tag(done.digest, done.text)}"', "Location": url, "Cache-Control": "no-store"}
    )
    return PublishedMixture(
        name=name,
        digest=done.digest,
        ref=f"{name}{DIGEST_MARK}{done.digest}",
        change=done.change,
        replaced=done.replaced,
        text=KeptText.SENT if done.text == hashlib.sha256(bundle.spec).hexdigest() else KeptText.FIRST,
        batches=services.has_text(lock),
        url=url,
    )


def _digest_expected(if_match: str | None) -> str | None:
    """The digest (hex) in an If-Match header."""
    if if_match is None:
        return None
    tags = unquoted_tags(if_match)
    digest = read_digest(digest_in_tag(tags[0])) if len(tags) == 1 else None
    if digest is None:
        hint = f'one digest of {DIGEST_PATTERN} is right here: "sha256:…"'
        raise Problem(422, "If-Match does not say one digest", code="precondition-invalid", hint=hint)
    return digest
