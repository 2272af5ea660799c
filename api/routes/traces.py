"""/v1/mixtures/{ref}/traces, reads, read-so-far: text followed through a run, from documents to steps, and in sums.

What a step reads, with its documents, is /v1/mixtures/{ref}/steps/{step}/sequences.
"""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import Response

from mixture.api.answers import (
    Listed,
    Page,
    PageAsked,
    TableFormat,
    TablePart,
    asks_for_table,
    encode_cursor,
    list_answer,
    number_after,
    table_answer,
    table_page_query,
    table_responses,
    whole_answer,
    wrong_query,
)
from mixture.api.dependencies import AskedMixture, Reads
from mixture.api.figures import (
    READS,
    TraceRow,
    bounded_sums,
    check_traced,
    document_traces,
    reads_page,
    sums_table,
    trace_row,
    traces_table,
)
from mixture.api.middleware import Lifetime, problems
from mixture.names import DIGEST_MARK
from mixture.stream import ReadSums, ReadValueReport, TracedReadReport, read_json, sums_json, trace_range

router = APIRouter(prefix="/v1/mixtures", tags=["schedules"], dependencies=[Reads])

MOST_DOCUMENTS = 100
LONGEST_ID = 10_000

FirstStep = Annotated[
    int, Query(ge=0, description="Only what is read from this step on: what is still to come.", examples=[216000])
]
RowsQuery = Annotated[PageAsked, Depends(table_page_query(limit=100, most=1000, is_table=asks_for_table))]


class ReadsPage(Page[TracedReadReport]):
    """The sequences that read of a range of tokens, in order; `times`: how many there are from `first_step` on.

    times_down: of these, how many read nothing of it, since all of the range was taken down before. (A document that is
    taken down keeps its last token, which is its end.)
    """

    times: int = Field(examples=[3])
    times_down: int = Field(examples=[0])


class ReadValues(Page[ReadValueReport]):
    """What was read before a step by value, most tokens with repeats first, and in all."""

    total: ReadSums


@router.get(
    "/{ref}/traces",
    response_model=None,
    responses={
        **table_responses(
            Page[TraceRow],
            '"document","domain","first_token","tokens","first_step","times","times_down",…\n"a/17","c14q3",812,…\n',
        ),
        **problems.documented(404, 409),
    },
)
def trace_documents(
    asked: AskedMixture,
    form: TableFormat,
    request: Request,
    document: Annotated[
        list[Annotated[str, Field(max_length=LONGEST_ID)]],
        Query(min_length=1, max_length=MOST_DOCUMENTS, description="Ids of documents.", examples=[["a/17"]]),
    ],
    first_step: FirstStep = 0,
) -> Response:
    """Where documents are read: each of their places in the store, how often, and when for the first time.

    With `first_step` only what is still to come. A document with the id may be in several domains: each is an item.
    """
    mixture, store = asked.mixture, asked.store()
    here = f"{router.prefix}/{mixture.name}{DIGEST_MARK}{mixture.digest}/reads"

    def make() -> Listed:
        found = document_traces(mixture.lock, store, document, first_step=first_step)
        return Listed(items=[trace_row(trace, here) for trace in found])

    def table(rows: list[TraceRow]) -> pa.Table:
        return traces_table(rows, store.attributes)

    of = f"{mixture.digest} {store.digest}"
    return list_answer(request, form, of=of, lifetime=Lifetime.SHORT, make=make, table=table)


@router.get(
    "/{ref}/reads",
    response_model=None,
    responses={
        **table_responses(ReadsPage, '"position","step","slot","epoch",…\n4000000000,355113,7168,0,…\n'),
        **problems.documented(404, 429),
    },
)
def list_reads(
    asked: AskedMixture,
    form: TableFormat,
    page: RowsQuery,
    request: Request,
    domain: Annotated[str, Query(max_length=1000, examples=["web-high"])],
    first_token: Annotated[int, Query(ge=0, description="An offset in the domain's tokens.", examples=[812])],
    last_token: Annotated[
        int | None, Query(ge=0, description="The last token of the range; default: `first_token`.", examples=[907])
    ] = None,
    first_step: FirstStep = 0,
) -> Response:
    """Every sequence that reads of a range of a domain's tokens, in order, and which part of it. Needs no store."""
    lock, after = asked.mixture.lock, number_after(page)
    schedule = lock.schedule()
    tokens = 1 if last_token is None else last_token - first_token + 1
    if tokens < 1:
        detail = f"first_token {first_token} comes after last_token {last_token}"
        raise wrong_query("last_token", detail, "bad-range")

    def make() -> TablePart:
        trace = trace_range(lock, domain, first_token, tokens, first_step=first_step)
        check_traced(schedule, [(domain, tokens)], name="last_token", first_step=first_step)
        begin = (
            first_step if after is None else max(first_step, schedule.step_of(min(after, schedule.num_sequences - 1)))
        )
        rest = trace_range(lock, domain, first_token, tokens, first_step=begin)
        shown, last = reads_page(rest, after, page.limit)
        table = pa.Table.from_pylist([read_json(read) for read in shown], schema=READS)
        times = {"times": trace.times, "times_down": trace.times_down}
        return TablePart(table, None if last is None else encode_cursor(last), times)

    answer = whole_answer if page.is_whole else table_answer
    return answer(request, form, of=asked.mixture.digest, lifetime=asked.lifetime, make=make)


@router.get(
    "/{ref}/read-so-far",
    response_model=None,
    responses={
        **table_responses(
            ReadValues,
            '"value","documents","tokens","tokens_with_repeats","tokens_masked"\n"MIT",30112,41200512,52310016,0\n',
        ),
        **problems.documented(404, 409, 429),
    },
)
def sum_read_so_far(
    asked: AskedMixture,
    form: TableFormat,
    page: RowsQuery,
    request: Request,
    step: Annotated[
        int,
        Query(
            ge=0,
            description="All steps before this one: 0 is nothing, the number of the run's steps is the whole run.",
            examples=[216000],
        ),
    ],
    by: Annotated[
        str,
        Query(
            max_length=1000,
            description="`domain`, an attribute of documents, or a label of the store's domains.",
            examples=["license"],
        ),
    ] = "domain",
) -> Response:
    """What was read before a step, exact to the token, by license, source, or any other column."""
    lock, store, after = asked.mixture.lock, asked.store(), number_after(page)

    def make() -> TablePart:
        found = bounded_sums(lock, store, step, by)
        first = 0 if after is None else min(after + 1, len(found.values))
        end = min(first + page.limit, len(found.values))
        cursor = encode_cursor(end - 1) if end < len(found.values) else None
        total = sums_json(found.total)
        return TablePart(sums_table(found, slice(first, end)), cursor, {"total": total})

    of = f"{asked.mixture.digest} {store.digest}"
    answer = whole_answer if page.is_whole else table_answer
    return answer(request, form, of=of, lifetime=Lifetime.SHORT, make=make)
