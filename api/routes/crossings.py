"""/v1/mixtures/{ref}/crossings: when domains of a run pass numbers of epochs."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from mixture.api.answers import Page, TableFormat, table_answer, table_responses, wrong_query
from mixture.api.dependencies import AppServices, AskedMixture, Reads
from mixture.api.middleware import problems
from mixture.errors import UnitError
from mixture.planning.plan import crossing_json, crossings, parse_epochs

router = APIRouter(prefix="/v1/mixtures", tags=["schedules"], dependencies=[Reads])

MOST_NUMBERS = 20
MOST_NAMES = 1000
MOST_ROWS = 100_000
COLUMNS = pa.schema(
    [
        ("domain", pa.string()),
        ("epochs", pa.float64()),
        ("step", pa.int64()),
        ("phase", pa.string()),
        ("epochs_in_run", pa.float64()),
    ]
)


class CrossingRow(BaseModel):
    """When a domain passes a number of epochs: epochs are tokens drawn ÷ tokens of the domain, as in a plan."""

    domain: str = Field(examples=["c12q3"])
    epochs: float = Field(examples=[1.0], description="The number that it passes: more of it is drawn than that.")
    step: int | None = Field(
        examples=[132646], description="The step that passes it: a checkpoint there is before it; null: none does."
    )
    phase: str | None = Field(examples=["main"], description="That the step is in.")
    epochs_in_run: float | None = Field(examples=[2.855], description="At the run's end; null without tokens.")


@router.get(
    "/{ref}/crossings",
    response_model=None,
    responses={
        **table_responses(
            Page[CrossingRow], '"domain","epochs","step","phase","epochs_in_run"\n"c12q3",1,132646,"main",2.855\n'
        ),
        **problems.documented(404),
    },
)
def find_crossings(
    asked: AskedMixture,
    services: AppServices,
    form: TableFormat,
    request: Request,
    epochs: Annotated[
        list[Annotated[str, Query(max_length=30)]],
        Query(min_length=1, max_length=MOST_NUMBERS, description="Numbers of epochs.", examples=[["1", "2.5"]]),
    ],
    domain: Annotated[
        list[Annotated[str, Query(max_length=1000)]] | None,
        Query(max_length=MOST_NAMES, description="Only these domains; default: all.", examples=[["c12q3"]]),
    ] = None,
    passing: Annotated[bool, Query(description="Only domains that pass the number.", examples=[True])] = False,
) -> Response:
    """The step in which each domain passes each number of epochs, exact; what `mixture show --crossings` prints.

    With `passing` only the rows that have a step.
    """
    lock = asked.mixture.lock
    try:
        numbers = [parse_epochs(text) for text in epochs]
    except UnitError as error:
        raise wrong_query("epochs", error.message, error.code, hint=error.hint) from error
    rows, most = len(numbers) * len(domain or lock.data.domains), min(MOST_ROWS, services.settings.max_rows)
    if rows > most:
        detail = f"{rows:,} domains and numbers of epochs are more than {most:,} rows"
        raise wrong_query("epochs", detail, "too-many-rows", hint="name domains, or fewer numbers", max_rows=most)

    def make() -> pa.Table:
        rows = [crossing_json(crossing) for crossing in crossings(lock, numbers, domain)]
        return pa.Table.from_pylist([row for row in rows if row["step"] is not None or not passing], schema=COLUMNS)

    return table_answer(request, form, of=asked.mixture.digest, lifetime=asked.lifetime, make=make)
