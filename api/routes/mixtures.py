"""/v1/mixtures: what mixtures there are, and what each one says."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from mixture.api.answers import (
    NOT_MODIFIED,
    Format,
    JsonOnly,
    Page,
    PageQuery,
    json_answer,
    name_after,
    number_after,
    only,
    page_answer,
    page_of,
    text_answer,
)
from mixture.api.database import MixtureRecord, Source
from mixture.api.dependencies import AppServices, AskedMixture, Reads
from mixture.api.middleware import Lifetime, mixture_tag, problems
from mixture.api.models import LockShown
from mixture.api.refs import DIGEST
from mixture.api.registry import LoadedMixture
from mixture.data.layout import ContentKind
from mixture.names import DIGEST_MARK
from mixture.planning.plan import FindingReport, PlanReport

router = APIRouter(prefix="/v1/mixtures", tags=["mixtures"], dependencies=[Reads])
SPEC_MEDIA_TYPE = "application/yaml"


class MixtureHead(BaseModel):
    """A mixture in the list: its name, and what the name points to now."""

    name: str = Field(examples=["demo"])
    digest: str = Field(examples=[DIGEST], description="Of the lock: SHA-256, lower-case hex.")
    ref: str = Field(examples=[f"demo{DIGEST_MARK}{DIGEST}"], description="Name and digest: the address for good.")
    steps: int = Field(examples=[19073])
    sequences: int = Field(examples=[8788992])
    tokens: int = Field(examples=[19999490048])
    domains: int = Field(examples=[10])
    source: Source = Field(examples=["builtin"])
    published: datetime | None = Field(examples=[None], description="When; null for a built-in mixture.")
    renamed_from: str | None = Field(
        None,
        examples=[None],
        description="The name that its folder gives it, where another folder's mixture is shown under that; else null.",
    )
    url: str = Field(examples=["/v1/mixtures/demo"])


class PhaseHead(BaseModel):
    """A phase: the stretch of the run that it covers."""

    phase: str = Field(examples=["pretraining"])
    first_step: int = Field(examples=[0])
    steps: int = Field(examples=[15259])
    tokens: int = Field(examples=[16000221184])
    batch_sequences: int = Field(examples=[512])
    sequence_length: int = Field(examples=[2048])


class Mixture(MixtureHead):
    """A mixture: its size, phases and findings. `links` lead to the rest."""

    mixture: str = Field(examples=["demo"], description="The name that its spec gives it.")
    description: str = Field(examples=["A small run in two phases, 80% and 20%."])
    tokenizer: str | None = Field(examples=[None])
    seed: int = Field(examples=[0])
    block_tokens: int = Field(examples=[65536])
    window_blocks: int = Field(examples=[64])
    spec: str = Field(examples=["5cc6e87f32d56f1a" * 4], description="Digest of what the spec says.")
    catalog: str = Field(examples=["ca06a7e0f3e7a79f" * 4], description="Digest of what the catalog says.")
    phases: list[PhaseHead]
    findings: list[FindingReport] = Field(description="As `mixture plan --json` prints them.")
    links: dict[str, str] = Field(examples=[{"plan": f"/v1/mixtures/demo{DIGEST_MARK}{DIGEST}/plan"}])


class NameMove(BaseModel):
    """A line of a name's history: from then on the name led to this digest."""

    name: str = Field(examples=["demo"])
    revision: int = Field(examples=[2], description="Counts from 1.")
    from_digest: str | None = Field(examples=["a3" * 32], description="What it replaced; null for the first.")
    to_digest: str = Field(examples=[DIGEST])
    at: datetime = Field(examples=["2026-03-01T12:00:00Z"])
    by: str | None = Field(
        examples=["release-bot"], description="Whose token it was; null where a folder of the service changed."
    )


class StoreDomainHead(BaseModel):
    """A domain of the store."""

    domain: str = Field(examples=["web"])
    tokens: int = Field(examples=[1904000])
    documents: int = Field(examples=[21300])
    content: str = Field(examples=["0c" * 32], description="SHA-256 of what `kind` says.")
    kind: ContentKind = Field(
        examples=["tokens"],
        description="tokens: all tokens and document spans; files: files' names, sizes and fingerprints.",
    )


class StoreHead(BaseModel):
    """The store that batches of a mixture are read from."""

    digest: str = Field(examples=["1f" * 32], description="SHA-256 of what it holds.")
    tokenizer: str = Field(examples=["bytes"])
    dtype: str = Field(examples=["uint16"])
    end_of_document: int = Field(examples=[256])
    domains: list[StoreDomainHead]


PARTS = ("spec", "plan", "lock", "exports")
AS_YAML: dict[str, Any] = {"schema": {"description": "A spec, YAML."}, "example": "mixture: demo\nseed: 0\n…"}
SHOWN: dict[int | str, dict[str, Any]] = {200: {"content": {SPEC_MEDIA_TYPE: AS_YAML}}}


def head(one: LoadedMixture | MixtureRecord) -> MixtureHead:
    """A mixture in the list, built-in or published."""
    if isinstance(one, LoadedMixture):
        return _head_of(one)
    name = one.name or one.mixture
    return MixtureHead(
        name=name,
        digest=one.digest,
        ref=f"{name}{DIGEST_MARK}{one.digest}",
        steps=one.steps,
        sequences=one.sequences,
        tokens=one.tokens,
        domains=one.domains,
        source=Source.PUBLISHED,
        published=one.published,
        renamed_from=None,
        url=f"{router.prefix}/{name}",
    )


def _head_of(mixture: LoadedMixture) -> MixtureHead:
    plan = mixture.plan_json
    return MixtureHead(
        name=mixture.name,
        digest=mixture.digest,
        ref=f"{mixture.name}{DIGEST_MARK}{mixture.digest}",
        steps=plan["steps"],
        sequences=plan["sequences"],
        tokens=plan["tokens"],
        domains=len(mixture.lock.data.domains),
        source=mixture.source,
        published=mixture.published,
        renamed_from=mixture.renamed_from,
        url=f"{router.prefix}/{mixture.name}",
    )


def summary(mixture: LoadedMixture) -> Mixture:
    """All that follows from a mixture's digest, in short."""
    here = f"{router.prefix}/{mixture.name}{DIGEST_MARK}{mixture.digest}"
    links = {part: f"{here}/{part}" for part in PARTS}
    own = {"description": mixture.description, "links": links}
    return Mixture.model_validate({**mixture.plan_json, **_head_of(mixture).model_dump(), **own})


@router.get("", dependencies=[JsonOnly])
def list_mixtures(services: AppServices, page: PageQuery, request: Request, response: Response) -> Page[MixtureHead]:
    """The mixtures that names point to now, built-in and published, in order of name."""
    services.check_started()
    found = [head(one) for one in services.heads(after=name_after(page), limit=page.limit + 1)]
    made = page_of(found, page, key=lambda one: one.name, request=request)
    return page_answer(made, response)


@router.get(
    "/{ref}", dependencies=[JsonOnly], response_model=Mixture, responses=NOT_MODIFIED | problems.documented(404)
)
def get_mixture(asked: AskedMixture, request: Request) -> Response:
    """A mixture: its size, phases and findings. Its entity tag is what moving the name takes (If-Match)."""
    mixture = asked.mixture
    return json_answer(
        request,
        of=mixture.digest,
        lifetime=Lifetime.SHORT,
        tag=mixture_tag(mixture.digest, mixture.text_digest),
        make=lambda: summary(mixture),
    )


@router.get(
    "/{ref}/plan", dependencies=[JsonOnly], response_model=PlanReport, responses=NOT_MODIFIED | problems.documented(404)
)
def get_plan(asked: AskedMixture, request: Request) -> Response:
    """The plan, as `mixture plan --json` prints it: phases, domains, tokens, epochs, findings."""
    mixture = asked.mixture
    of = f"{mixture.digest} {mixture.text_digest}"  # findings say where in the spec's file they stand
    return json_answer(request, of=of, lifetime=Lifetime.SHORT, make=lambda: mixture.plan_json)


@router.get(
    "/{ref}/lock", dependencies=[JsonOnly], response_model=LockShown, responses=NOT_MODIFIED | problems.documented(404)
)
def get_lock(asked: AskedMixture, request: Request) -> Response:
    """The lock file as it is: save it, and `mixture positions` and a local stream read the same run."""
    mixture = asked.mixture
    return text_answer(
        request, mixture.lock_text, of=mixture.digest, lifetime=asked.lifetime, media_type=Format.JSON.value
    )


@router.get(
    "/{ref}/spec",
    dependencies=[only(SPEC_MEDIA_TYPE)],
    response_class=Response,
    responses=SHOWN | NOT_MODIFIED | problems.documented(404),
)
def get_spec(asked: AskedMixture, request: Request) -> Response:
    """The spec file as it was written. A lock does not fix its comments: keep it by its entity tag."""
    mixture = asked.mixture
    return text_answer(
        request, mixture.spec_text, of=mixture.text_digest, lifetime=Lifetime.SHORT, media_type=SPEC_MEDIA_TYPE
    )


@router.get("/{ref}/moves", dependencies=[JsonOnly], responses=problems.documented(404))
def list_moves(
    asked: AskedMixture, services: AppServices, page: PageQuery, request: Request, response: Response
) -> Page[NameMove]:
    """What the name has led to, oldest first. Nothing is ever taken out of it."""
    services.keep(asked.mixture)
    kept = services.repository.name_history(asked.mixture.name, after=number_after(page) or 0, limit=page.limit + 1)
    name_moves = [NameMove(**asdict(one)) for one in kept]
    return page_answer(page_of(name_moves, page, key=lambda one: one.revision, request=request), response)


@router.get("/{ref}/store", dependencies=[JsonOnly], responses=problems.documented(404, 409))
def get_store(asked: AskedMixture, response: Response) -> StoreHead:
    """The store that this service reads the mixture's batches from; 404 `store-missing` where it has none."""
    held = asked.store()
    response.headers["Cache-Control"] = "no-cache"
    return StoreHead(
        digest=held.digest,
        tokenizer=held.tokenizer,
        dtype=str(held.dtype),
        end_of_document=held.end_of_document,
        domains=[
            StoreDomainHead(
                domain=domain.name,
                tokens=domain.tokens,
                documents=domain.documents,
                content=domain.content,
                kind=domain.kind,
            )
            for domain in held.domains.values()
        ],
    )
