"""POST /v1/mixtures/{ref}/what-if: a mixture with other shares, budget or boundaries, planned and not kept."""

from __future__ import annotations

from math import inf
from typing import Annotated, Self

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from mixture.api.answers import BodyRoute, JsonOnly, RequestBody, VisibleText
from mixture.api.dependencies import AppServices, AskedMixture, Reads, Services
from mixture.api.middleware import client_of, problems
from mixture.api.registry import LoadedMixture
from mixture.api.what_if import WhatIfAnswer, changes_refused, what_if, what_if_answer
from mixture.planning.spec import Form
from mixture.planning.whatif import Changes, Faults, PhaseChange, parse_share
from mixture.planning.whatif import Share as ChangedShare

MOST_BODY = 2**20
"""Bytes of a body: anybody may send one."""
MOST_SHARES = 10_000
LONGEST_QUANTITY = 80


def _share_text(value: object) -> str:
    """A share as text: a number of JSON is its shortest decimal. One validator, so that a fault is said once."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PydanticCustomError("share_type", "a share is a number or a text, as in 0.1, 10% or +10 points")
    if not isinstance(value, str) and not 0 <= value < inf:
        raise PydanticCustomError("share_range", "a share is at least 0; points to take off are a text, as in '-5'")
    if len(str(value)) > LONGEST_QUANTITY:
        raise PydanticCustomError("string_too_long", f"a share has at most {LONGEST_QUANTITY} characters")
    return str(value)


Share = Annotated[
    VisibleText,
    BeforeValidator(_share_text),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "maxLength": LONGEST_QUANTITY}, {"type": "number", "minimum": 0, "maximum": 1}]}
    ),
]
Quantity = Annotated[VisibleText, Field(max_length=LONGEST_QUANTITY)]


class SmallBody(BodyRoute):
    """A route whose bodies are small, whatever others may send."""

    most_body_bytes = MOST_BODY
    most_body_values = 48_000
    most_body_texts = 24_000  # MOST_SHARES, and as much as there can be beside them


router = APIRouter(prefix="/v1/mixtures", tags=["mixtures"], dependencies=[Reads, JsonOnly], route_class=SmallBody)


class ChangedPhase(RequestBody):
    """What is changed in a phase: shares, and with one of `until`, `share`, `tokens`, `steps` how long it is."""

    shares: dict[str, Share] = Field(
        default_factory=dict,
        max_length=MOST_SHARES,
        examples=[{"books": "10%"}],
        description="Token shares of the phase, by domain, as a spec has them: 10%, 0.1; "
        'or points that are added to the present one: "+10".',
    )
    groups: dict[str, Share] = Field(
        default_factory=dict,
        max_length=MOST_SHARES,
        examples=[{"web": 0.5}],
        description="Shares of all domains together that have a value in the column `by`.",
    )
    until: Quantity | None = Field(None, examples=["80%"])
    share: Quantity | None = Field(None, examples=[None])
    tokens: Quantity | None = Field(None, examples=[None])
    steps: Quantity | None = Field(None, examples=[None])

    @model_validator(mode="after")
    def _one_extent(self) -> Self:
        if sum(getattr(self, form.value) is not None for form in Form) > 1:
            raise ValueError("one of until, share, tokens and steps is right here")
        return self


class WhatIfAsked(RequestBody):
    """Changes to a mixture. What is not named stays as it is."""

    phases: dict[str, ChangedPhase] = Field(
        default_factory=dict,
        max_length=1000,
        examples=[{"pretraining": {"groups": {"web": "50%"}, "until": "90%"}}],
        description="By the name of the phase.",
    )
    budget: Quantity | None = Field(None, examples=["30B tokens"])
    by: str | None = Field(None, max_length=1000, examples=["kind"], description="The column that groups are of.")


@router.post("/{ref}/what-if", responses=problems.documented(404, 409, 413, 503))
async def plan_what_if(
    request: Request, asked: AskedMixture, changed: WhatIfAsked, services: AppServices, response: Response
) -> WhatIfAnswer:
    """Plan a mixture with changes: epochs, shortfalls, findings, and the spec that gives them. Nothing is kept.

    Shares that are named are as asked; the other domains of the phase keep their proportions and share the rest, which
    `said` says. The spec is that of the mixture, with its comments, and can be saved, planned, published.
    """
    response.headers["Cache-Control"] = "no-store"
    return await answer_what_if(request, services, asked.mixture, await run_in_threadpool(changes_of, changed))


async def answer_what_if(
    request: Request, services: Services, mixture: LoadedMixture, changes: Changes
) -> WhatIfAnswer:
    """The answer, made in its turn or taken from those that were made last.

    Raises as `what_if` does, and Problem 503 `busy`.
    """
    key = (mixture.name, mixture.digest, mixture.spec_text, changes)
    kept = services.what_ifs.peek(key)
    if kept is not None:
        return kept

    def make() -> WhatIfAnswer:
        return what_if_answer(mixture, what_if(mixture, services.bundle(mixture), changes))

    async with services.what_if_places.place(client_of(request.scope)):
        return await run_in_threadpool(services.what_ifs.get, key, make)


def changes_of(asked: WhatIfAsked) -> Changes:
    """The changes that a body asks for. Raises Problem 422 with all that are no shares, each with where it stands."""
    faults = Faults()
    phases = tuple((name, _phase(name, one, faults)) for name, one in sorted(asked.phases.items()))
    with changes_refused():
        faults.finish()
    return Changes(phases=phases, budget=asked.budget or None, by=asked.by)


def _phase(name: str, changed_phase: ChangedPhase, faults: Faults) -> PhaseChange:
    extents = [(form, value) for form in Form if (value := getattr(changed_phase, form.value))]
    read: dict[str, list[tuple[str, ChangedShare]]] = {"weights": [], "groups": []}
    for kind, texts in (("weights", changed_phase.shares), ("groups", changed_phase.groups)):
        for key, text in sorted(texts.items()):
            with faults.at("phases", name, kind, key):
                read[kind].append((key, parse_share(key, text)))
    return PhaseChange(tuple(read["weights"]), tuple(read["groups"]), extents[0] if extents else None)
