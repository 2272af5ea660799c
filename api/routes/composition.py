"""/v1/mixtures/{ref}/composition: what any stretch of a run is made of, by any columns of its catalog."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from starlette.responses import Response

from mixture.api.answers import (
    By,
    Format,
    Listed,
    Page,
    TableFormat,
    Where,
    check_step,
    chunked_answer,
    columns_of,
    json_answer,
    table_answer,
    table_responses,
    wrong_query,
)
from mixture.api.dependencies import AppServices, AskedMixture, Reads
from mixture.api.middleware import Problem, Work, problems, threads_of
from mixture.errors import LockError
from mixture.lock import Lock
from mixture.planning.plan import FIGURES, STRETCH, Groups, at_phases, composition, evenly

router = APIRouter(prefix="/v1/mixtures", tags=["composition"], dependencies=[Reads])

EXAMPLE: JsonDict = {
    "first_step": 108000,
    "last_step": 312191,
    "phase": "main",
    "cluster": "c14",
    "domains": 5,
    "sequences": 154996518,
    "tokens": 634865737728,
    "weight": 0.0673,
    "epochs": 0.408,
    "tokens_so_far": 970655330304,
    "epochs_so_far": 0.624,
}
MOST_POINTS = 1000
MOST_ROWS = 100_000
CHUNK_ROWS = 1 << 12
"""More rows are made and sent in parts of that size, a few requests at a time."""
AT_PHASES = "phases"
TAKEN = (*STRETCH, *FIGURES)


class CompositionRow(BaseModel):
    """A group of domains in a stretch of the run: the columns asked for, and what is drawn, as planned."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"example": EXAMPLE})

    first_step: int = Field(examples=[0])
    last_step: int = Field(examples=[107999], description="The last one, counted in.")
    phase: str | None = Field(examples=["initial"], description="That the stretch lies in whole; null for several.")
    domains: int = Field(examples=[5])
    sequences: int = Field(examples=[83492000], description="Drawn in the stretch.")
    tokens: int = Field(examples=[341983232000])
    weight: float = Field(examples=[0.067], description="Share of all tokens of the stretch, whatever `where` says.")
    epochs: float | None = Field(examples=[0.22], description="Tokens drawn in the stretch ÷ tokens; null without any.")
    tokens_so_far: int = Field(examples=[341983232000], description="From the run's start to the stretch's end.")
    epochs_so_far: float | None = Field(examples=[0.22])


async def asked_groups(asked: AskedMixture, services: AppServices, by: By = None, where: Where = None) -> Groups:
    """The groups that a request asks for. Those that are not known yet are made by a few threads at a time."""
    mixture = asked.mixture
    columns = (mixture.domain_column,) if by is None else columns_of(mixture.catalog, by, taken=TAKEN)
    if services.has_groups(mixture, columns, where):
        return services.groups(mixture, columns, where)
    limiter = threads_of(Work.FIRST)
    return await anyio.to_thread.run_sync(services.groups, mixture, columns, where, limiter=limiter)


AskedGroups = Annotated[Groups, Depends(asked_groups)]


@router.get(
    "/{ref}/composition",
    response_model=None,
    responses={
        **table_responses(
            Page[CompositionRow], '"first_step","last_step","phase","cluster","domains","sequences","tokens",…\n'
        ),
        **problems.documented(404, 429),
    },
)
def get_composition(
    asked: AskedMixture,
    services: AppServices,
    form: TableFormat,
    request: Request,
    groups: AskedGroups,
    step: Annotated[
        int | None, Query(ge=0, description="This step alone, from 0; not the steps before it.", examples=[15300])
    ] = None,
    first_step: Annotated[
        int | None, Query(ge=0, description="The first step, from 0. Default: 0.", examples=[15300])
    ] = None,
    last_step: Annotated[
        int | None,
        Query(
            ge=0,
            description="The last step, counted in: for all steps before step N, N - 1. Default: the run's last.",
            examples=[15500],
        ),
    ] = None,
    phase: Annotated[
        str | None,
        Query(max_length=1000, description="Its name, or its number, from 1.", examples=["midtraining"]),
    ] = None,
    points: Annotated[
        str | None,
        Query(
            pattern=f"^({AT_PHASES}|[1-9][0-9]{{0,2}}|{MOST_POINTS})$",
            description=f"For charts: cut the stretch into 1 to {MOST_POINTS} parts, evenly, or where phases begin "
            f"(`{AT_PHASES}`).",
            examples=["200"],
        ),
    ] = None,
) -> Response:
    """Sequences, tokens, weight and epochs by groups of domains: of one step, of steps, of a phase, or of the run.

    Say `step`, or `first_step` and `last_step` (one is enough), or `phase`, or nothing for the whole run; without `by`,
    rows are domains. Figures are
    those of the schedule: what is planned is what is drawn. Exact integers; in order of stretches, then of the columns.
    """
    mixture, lock = asked.mixture, asked.mixture.lock
    stretch = _stretch(lock, step=step, first_step=first_step, last_step=last_step, phase=phase)
    stretches = _cut(lock, stretch, points)
    most = min(MOST_ROWS, services.settings.max_rows)
    if len(stretches) * len(groups.keys) > most:
        detail = f"{len(stretches):,} stretches of {len(groups.keys):,} groups are more than {most:,} rows"
        raise wrong_query("points", detail, "too-many-rows", hint="fewer points, or fewer columns", max_rows=most)
    if len(stretches) * len(groups.keys) > CHUNK_ROWS:
        size = max(1, CHUNK_ROWS // len(groups.keys))
        parts = (stretches[first : first + size] for first in range(0, len(stretches), size))
        return chunked_answer(
            request,
            form,
            of=mixture.digest,
            lifetime=asked.lifetime,
            schema=groups.schema,
            chunks=(batch for part in parts for batch in composition(lock, groups, part).table().to_batches()),
            places=services.streams,
        )
    if form is Format.JSON and groups.is_plain:
        return json_answer(
            request,
            of=mixture.digest,
            lifetime=asked.lifetime,
            make=lambda: Listed(items=composition(lock, groups, stretches).rows()),
        )
    return table_answer(
        request,
        form,
        of=mixture.digest,
        lifetime=asked.lifetime,
        make=lambda: composition(lock, groups, stretches).table(),
    )


def _stretch(
    lock: Lock, *, step: int | None, first_step: int | None, last_step: int | None, phase: str | None
) -> range:
    """The steps that a request asks about. Raises Problem 422: `bad-range`, `step-out-of-range`, `unknown-phase`."""
    steps = lock.data.steps
    by_range = first_step is not None or last_step is not None
    if sum([step is not None, by_range, phase is not None]) > 1:
        hint = "one of: step; first_step and last_step; phase; none of them for the whole run"
        raise Problem(422, "the query names more than one stretch of the run", code="bad-range", hint=hint)
    for name, one in (("step", step), ("first_step", first_step), ("last_step", last_step)):
        if one is not None:
            check_step(one, steps, name=name)
    if phase is not None:
        try:
            found = lock.phase_named(phase)
        except LockError as error:
            raise wrong_query("phase", error.message, error.code, hint=error.hint, **error.facts) from error
        return range(found.first_step, found.end_step)
    if step is not None:
        return range(step, step + 1)
    first, last = first_step or 0, steps - 1 if last_step is None else last_step
    if first > last:
        raise wrong_query("last_step", f"first_step {first} comes after last_step {last}", "bad-range")
    return range(first, last + 1)


def _cut(lock: Lock, stretch: range, points: str | None) -> list[range]:
    if points is None:
        return [stretch]
    return at_phases(lock, stretch) if points == AT_PHASES else evenly(stretch, int(points))
