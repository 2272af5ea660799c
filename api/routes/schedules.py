"""/v1/mixtures/{ref}/positions, counts, find, handoffs, history: what stands at any place of a run.

JSON is what the command line's `--json` prints; tables of counts have a row a step and domain.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field, RootModel
from starlette.responses import Response

from mixture.api.answers import (
    CHUNK_ROWS,
    NOT_MODIFIED,
    JsonOnly,
    Listed,
    Page,
    PageAsked,
    TableFormat,
    batches_at,
    chunked_answer,
    encode_cursor,
    json_answer,
    list_answer,
    next_url,
    number_after,
    page_query,
    range_batches,
    table_answer,
    table_responses,
    wrong_query,
)
from mixture.api.dependencies import AppServices, AskedMixture, Reads
from mixture.api.figures import counts_table
from mixture.api.middleware import problems
from mixture.schedule import Schedule
from mixture.stream import POSITIONS

router = APIRouter(prefix="/v1/mixtures", tags=["schedules"], dependencies=[Reads])

MOST_AT = 1000
MOST_STEPS = 100
MOST_EPOCHS = 1000
MOST_COUNTS = 1_000_000
"""Steps × domains of one answer: some 20 MB of JSON."""
MOST_LOOKED_AT = 10_000_000
"""Positions × domains: each position may be in a step of its own, which is laid out over all domains (2 seconds)."""
SHOWN = 100
FOUND = pa.schema([(name, pa.int64()) for name in ("position", "step", "slot", "epoch")])

Steps = Annotated[
    list[Annotated[int, Field(ge=0)]],
    Query(
        alias="step",
        min_length=1,
        max_length=MOST_STEPS,
        description="Steps, from 0; one past the last is the end of the run.",
        examples=[[0, 15300]],
    ),
]


class PositionRow(BaseModel):
    """The sequence at a position of the run."""

    position: int = Field(examples=[4000000000])
    step: int = Field(examples=[355113])
    slot: int = Field(examples=[7168], description="Its index within the step.")
    domain: str = Field(examples=["c12q3"])
    draw: int = Field(examples=[13450000], description="Its place in the domain's endless order.")
    epoch: int = Field(examples=[0], description="Full passes over the domain before it.")
    sequence: int = Field(examples=[7230145], description="Its number in the domain's storage.")
    first_token: int = Field(examples=[29614673920], description="Where it begins in the domain's storage.")
    tokens: int = Field(examples=[4096])


class CountsRow(RootModel[dict[str, int]]):
    """Sequences by domain, drawn by all steps before one."""

    model_config = ConfigDict(json_schema_extra={"example": {"c00q0": 812000, "c00q1": 1624000}})


class FoundRow(BaseModel):
    """Where a sequence that holds a token is read."""

    position: int = Field(examples=[81250031])
    step: int = Field(examples=[7213])
    slot: int = Field(examples=[3295], description="Its index within the step.")
    epoch: int = Field(examples=[0], description="Full passes over the domain before it.")


class HandoffRow(BaseModel):
    """Tokens that domains leave unread where a segment begins: the length changes, or text is skipped."""

    first_step: int = Field(examples=[312192])
    tokens_skipped: dict[str, int] = Field(examples=[{"c00q0": 0, "c00q1": 524288}])


class HistoryRow(BaseModel):
    """The digest of all that decides what is read before a step: equal in all locks that agree so far."""

    step: int = Field(examples=[108000])
    history: str = Field(examples=["7d" * 32], description="SHA-256, lower-case hex.")


@router.get(
    "/{ref}/positions",
    response_model=None,
    responses={
        **table_responses(Page[PositionRow], '"position","step","slot","domain","draw",…\n0,0,0,"c14q3",0,…\n'),
        **problems.documented(404),
    },
)
def list_positions(
    asked: AskedMixture,
    services: AppServices,
    form: TableFormat,
    request: Request,
    first_position: Annotated[
        int | None, Query(ge=0, description="The first position of a range; default: 0.", examples=[0])
    ] = None,
    last_position: Annotated[
        int | None,
        Query(
            ge=0,
            description=f"The last position of the range; default: {SHOWN} positions, or up to the end of the run.",
            examples=[99],
        ),
    ] = None,
    position: Annotated[
        list[int] | None,
        Query(max_length=MOST_AT, description="These positions, in this order.", examples=[[0, 17, 4000000]]),
    ] = None,
) -> Response:
    """Which sequence of which domain stands at positions of the run: a range, or any (`position=0&position=17`).

    A long table is sent as it is made.
    """
    schedule = asked.mixture.lock.schedule()
    if position is not None:
        if first_position is not None or last_position is not None:
            detail = "position and a range of positions exclude each other"
            raise wrong_query("position", detail, "bad-range", hint="use position, or first_position and last_position")
        _check_domains("position", len(position), schedule, most=MOST_LOOKED_AT)
        for number in position:
            schedule.step_of(number)
        chunks, rows = batches_at(schedule, position), len(position)
    else:
        first = first_position or 0
        last = min(first + SHOWN, schedule.num_sequences) - 1 if last_position is None else last_position
        if last < first < schedule.num_sequences:
            detail = f"first_position {first} comes after last_position {last}"
            raise wrong_query("last_position", detail, "bad-range")
        rows = max(0, last - first + 1)
        _check_range(schedule, first, rows, most=services.settings.max_rows)
        chunks = range_batches(schedule, first, rows)
    return chunked_answer(
        request,
        form,
        of=asked.mixture.digest,
        lifetime=asked.lifetime,
        schema=POSITIONS,
        chunks=chunks,
        places=services.streams if rows > CHUNK_ROWS else None,
    )


def _check_domains(name: str, asked: int, schedule: Schedule, *, most: int) -> None:
    """Raise Problem 422, `too-many-rows`, where more than one is asked for and each of them takes all domains."""
    domains = len(schedule.names)
    if asked > 1 and asked * domains > most:
        detail = f"{asked:,} of {domains:,} domains are more than {most:,}"
        hint = f"ask for {max(1, most // domains):,} at a time"
        raise wrong_query(name, detail, "too-many-rows", hint=hint, max_rows=most)


def _check_range(schedule: Schedule, first: int, rows: int, *, most: int) -> None:
    """Raise Problem 422, `too-many-rows`, and ScheduleError, `position-out-of-range`."""
    if rows > most:
        detail = f"{rows:,} positions are more than {most:,}, as many as one answer has"
        raise wrong_query("last_position", detail, "too-many-rows", hint="request several ranges", max_rows=most)
    schedule.step_of(first)
    if rows:
        schedule.step_of(first + rows - 1)


@router.get(
    "/{ref}/counts",
    response_model=None,
    responses={
        **table_responses(Page[CountsRow], '"step","domain","sequences"\n15300,"c00q0",812000\n'),
        **problems.documented(404),
    },
)
def count_sequences(asked: AskedMixture, form: TableFormat, request: Request, steps: Steps) -> Response:
    """How many sequences each domain has given before steps, of any length: one object a step, in the order asked.

    In the other formats one row a step and domain.
    """
    schedule = asked.mixture.lock.schedule()
    _check_domains("step", len(steps), schedule, most=MOST_COUNTS)

    def make() -> Listed:
        found = (schedule.counts(step).tolist() for step in steps)
        return Listed(items=[dict(zip(schedule.names, one, strict=True)) for one in found])

    def table(items: list[dict[str, int]]) -> pa.Table:
        return counts_table(steps, items)

    return list_answer(request, form, of=asked.mixture.digest, lifetime=asked.lifetime, make=make, table=table)


@router.get(
    "/{ref}/find",
    response_model=None,
    responses={
        **table_responses(Page[FoundRow], '"position","step","slot","epoch"\n81250031,7213,3295,0\n'),
        **problems.documented(404),
    },
)
def find_token(
    asked: AskedMixture,
    form: TableFormat,
    request: Request,
    domain: Annotated[str, Query(max_length=1000, examples=["web-high"])],
    token: Annotated[int, Query(ge=0, description="An offset in the domain's tokens.", examples=[5000000])],
) -> Response:
    """Every position whose sequence holds a token, in order, with its step, slot and epoch; none where its turn does
    not come in this run."""
    schedule = asked.mixture.lock.schedule()

    def make() -> pa.Table:
        _check_epochs(schedule, domain)
        return pa.Table.from_pylist([asdict(place) for place in schedule.iter_places(domain, token)], schema=FOUND)

    return table_answer(request, form, of=asked.mixture.digest, lifetime=asked.lifetime, make=make)


def _check_epochs(schedule: Schedule, name: str) -> None:
    """Raise Problem 422, `too-many-epochs`: each epoch is looked through, and a tiny domain may have millions."""
    d = schedule.domain_index(name)
    held = schedule.data.domains[d]
    epochs = int(schedule.tokens(schedule.steps)[d]) // max(1, held.held)
    if epochs > MOST_EPOCHS:
        detail = (
            f"domain {name!r} is read {epochs:,} times in this run: more than {MOST_EPOCHS:,} are not looked through"
        )
        raise wrong_query("domain", detail, "too-many-epochs", epochs=epochs, max_epochs=MOST_EPOCHS)


HandoffsQuery = Annotated[PageAsked, Depends(page_query(limit=100, most=200))]


@router.get(
    "/{ref}/handoffs",
    dependencies=[JsonOnly],
    response_model=Page[HandoffRow],
    responses=NOT_MODIFIED | problems.documented(404),
)
def list_handoffs(asked: AskedMixture, page: HandoffsQuery, request: Request) -> Response:
    """The tokens that domains leave unread where segments begin, in order of steps.

    A page may be shorter than `limit` where there are very many domains.
    """
    schedule, after = asked.mixture.lock.schedule(), number_after(page)

    def make() -> Listed:
        rest = [one for one in schedule.handoffs() if after is None or one.first_step > after]
        shown = rest[: min(page.limit, max(1, MOST_COUNTS // len(schedule.names)))]
        cursor = encode_cursor(shown[-1].first_step) if len(rest) > len(shown) else None
        rows = [
            {
                "first_step": one.first_step,
                "tokens_skipped": dict(zip(schedule.names, one.tokens_skipped, strict=True)),
            }
            for one in shown
        ]
        return Listed(items=rows, next=cursor, next_url=next_url(request, cursor))

    return json_answer(request, of=asked.mixture.digest, lifetime=asked.lifetime, make=make)


@router.get(
    "/{ref}/history",
    dependencies=[JsonOnly],
    response_model=Page[HistoryRow],
    responses=NOT_MODIFIED | problems.documented(404),
)
def get_history(asked: AskedMixture, request: Request, steps: Steps) -> Response:
    """The digests of all that decides what is read before steps, in the order asked."""
    schedule = asked.mixture.lock.schedule()

    def make() -> Listed:
        return Listed(items=[{"step": step, "history": schedule.history(step)} for step in steps])

    return json_answer(request, of=asked.mixture.digest, lifetime=asked.lifetime, make=make)
