"""/v1/mixtures/{ref}/steps/{step}: what one optimizer update reads, down to the documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mixture.api.answers import (
    LARGEST_NUMBER,
    NOT_MODIFIED,
    JsonOnly,
    Listed,
    Page,
    PageAsked,
    TableFormat,
    asks_for_table,
    check_rows,
    chunked_answer,
    encode_cursor,
    json_answer,
    list_answer,
    next_url,
    number_after,
    table_page_query,
    table_responses,
)
from mixture.api.dependencies import AppServices, AskedMixture, Reads
from mixture.api.figures import asked_slots, read_sequences, schedule_with, sequences_table
from mixture.api.middleware import Lifetime, problems
from mixture.api.routes.schedules import PositionRow
from mixture.names import DIGEST_MARK
from mixture.stream import masks_for

router = APIRouter(prefix="/v1/mixtures", tags=["schedules"], dependencies=[Reads])

MOST_SLOTS = 200
"""Of a page, and of what is read at a time of a table that has all."""

StepNumber = Annotated[int, Path(ge=0, description="Counts from 0.", examples=[15300])]
SlotsQuery = Annotated[PageAsked, Depends(table_page_query(limit=20, most=MOST_SLOTS, is_table=asks_for_table))]


class StepDomain(BaseModel):
    """What a step reads of a domain."""

    domain: str = Field(examples=["c14q3"])
    sequences: int = Field(examples=[214])
    tokens: int = Field(examples=[876544])


class StepShown(BaseModel):
    """A step: its size, and what it reads of each domain that it reads from."""

    step: int = Field(examples=[108000])
    phase: str | None = Field(examples=["main"])
    first_position: int = Field(examples=[1216512000])
    sequences: int = Field(examples=[11264])
    sequence_length: int = Field(examples=[4096])
    tokens: int = Field(examples=[46137344])
    history: str = Field(examples=["7d" * 32], description="Digest of all that decides what is read before this step.")
    domains: list[StepDomain]
    links: dict[str, str] = Field(examples=[{"sequences": "/v1/mixtures/demo/steps/108000/sequences"}])


class DocumentRow(BaseModel):
    """A document of the store: its id and place, and its attributes beside."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "id": "a/17",
                "first_token": 812,
                "tokens": 96,
                "license": "MIT",
                "from_token": 0,
                "to_token": 96,
            }
        },
    )

    id: str = Field(examples=["a/17"])
    first_token: int = Field(examples=[812], description="Where it begins in the domain's storage.")
    tokens: int = Field(examples=[96], description="The end of the document counted in.")
    from_token: int = Field(examples=[0], description="Where the part that the sequence reads begins, from its first.")
    to_token: int = Field(examples=[96], description="Where that part ends: one past its last token.")
    masked_tokens: int | None = Field(
        None,
        examples=[95],
        description="How many of them are taken down at this step; only where the lock takes text down.",
    )


class SequenceRow(PositionRow):
    """A sequence of a step, and the documents that it reads from, whole or in part."""

    documents: list[DocumentRow] | None = Field(description="In order of place; null where there is no store.")


@router.get(
    "/{ref}/steps/{step}",
    dependencies=[JsonOnly],
    response_model=StepShown,
    responses=NOT_MODIFIED | problems.documented(404),
)
def get_step(asked: AskedMixture, step: StepNumber, request: Request) -> Response:
    """One step: its size, and what it reads of each domain."""
    mixture = asked.mixture
    schedule = schedule_with(mixture.lock, step)

    def make() -> StepShown:
        drawn, length = schedule.counts(step + 1) - schedule.counts(step), schedule.length_of(step)
        phase, sequences = mixture.lock.phase_of(step), schedule.batch_of(step)
        here = f"{router.prefix}/{mixture.name}{DIGEST_MARK}{mixture.digest}/steps/{step}"
        return StepShown(
            step=step,
            phase=None if phase is None else phase.name,
            first_position=schedule.positions_before(step),
            sequences=sequences,
            sequence_length=length,
            tokens=sequences * length,
            history=schedule.history(step),
            domains=[
                StepDomain(domain=name, sequences=count, tokens=count * length)
                for name, count in zip(schedule.names, drawn.tolist(), strict=True)
                if count
            ],
            links={"sequences": f"{here}/sequences"},
        )

    return json_answer(request, of=mixture.digest, lifetime=asked.lifetime, make=make)


@router.get(
    "/{ref}/steps/{step}/sequences",
    response_model=None,
    responses={
        **table_responses(
            Page[SequenceRow],
            '"position","step","slot","domain",…,"tokens","document_id","document_first_token","document_tokens",…\n'
            '1216512000,108000,0,"c14q3",…,4096,"a/17",812,96,…\n',
        ),
        **problems.documented(404, 409, 429),
    },
)
def list_step_sequences(
    asked: AskedMixture,
    services: AppServices,
    step: StepNumber,
    form: TableFormat,
    page: SlotsQuery,
    request: Request,
    rank: Annotated[
        int | None,
        Query(ge=0, le=LARGEST_NUMBER, examples=[3], description="Only what this rank reads, of `world_size`."),
    ] = None,
    world_size: Annotated[
        int | None, Query(ge=1, le=LARGEST_NUMBER, examples=[8], description="The number of ranks, with `rank`.")
    ] = None,
) -> Response:
    """The step's sequences in order of slots, each with the documents that it reads from where the service has a store.

    Rank r of R reads slots floor(r·B/R) up to floor((r+1)·B/R) of a step of B. A page may be shorter than `limit` where
    sequences have very many documents. In the other formats a row is a sequence and one of its documents, `document_…`.
    """
    schedule, store, after = schedule_with(asked.mixture.lock, step), asked.mixture.store, number_after(page)
    masks = masks_for(asked.mixture.lock)
    every = asked_slots(schedule.batch_of(step), rank, world_size)
    first = every.start if after is None else min(max(after + 1, every.start), every.stop)
    slots = range(first, min(first + page.limit, every.stop))

    def make() -> Listed:
        shown = read_sequences(schedule, step, slots, store, masks)
        end = first + len(shown)
        cursor = encode_cursor(end - 1) if end < every.stop else None
        return Listed(items=shown, next=cursor, next_url=next_url(request, cursor))

    def table(rows: list[dict[str, Any]]) -> pa.Table:
        return sequences_table(rows, store, schedule.names[0], masked=masks is not None)

    # Documents follow from the store, which may be there later, or another one.
    of = f"{asked.mixture.digest} {store.digest if store else None}"
    if not page.is_whole:
        return list_answer(request, form, of=of, lifetime=Lifetime.SHORT, make=make, table=table)
    check_rows(len(slots), most=services.settings.max_rows)
    read_sequences(schedule, step, slots[:1], store, masks)  # what cannot be read is refused before anything is sent

    def parts(slots: range) -> Iterator[pa.RecordBatch]:
        while slots:
            rows = read_sequences(schedule, step, slots[:MOST_SLOTS], store, masks)
            slots = slots[len(rows) :]
            yield from table(rows).to_batches()

    return chunked_answer(
        request,
        form,
        of=of,
        lifetime=Lifetime.SHORT,
        schema=table([]).schema,
        chunks=parts(slots),
        places=services.streams if len(slots) > MOST_SLOTS else None,
    )
