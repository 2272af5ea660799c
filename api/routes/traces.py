"""/v1/mixtures/{ref}/traces, reads, read-so-far: text followed through a run, from documents to steps, and in sums.

What a step reads, with its documents, is /v1/mixtures/{ref}/steps/{step}/sequences.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
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
    READ_SUMS,
    READS,
    bounded_sums,
    check_traced,
    document_traces,
    read_row,
    reads_page,
    sums_table,
    trace_row,
    traces_table,
)
from mixture.api.middleware import Lifetime, problems
from mixture.data.layout import Attribute
from mixture.names import DIGEST_MARK
from mixture.stream import trace_range

router = APIRouter(prefix="/v1/mixtures", tags=["schedules"], dependencies=[Reads])

MOST_DOCUMENTS = 100
LONGEST_ID = 10_000

FirstStep = Annotated[
    int, Query(ge=0, description="Only what is read from this step on: what is still to come.", examples=[216000])
]
RowsQuery = Annotated[PageAsked, Depends(table_page_query(limit=100, most=1000, is_table=asks_for_table))]


class TracedReadRow(BaseModel):
    """A sequence that reads of what is traced."""

    position: int = Field(examples=[4000000000])
    step: int = Field(examples=[355113])
    slot: int = Field(examples=[7168], description="Its index within the step.")
    epoch: int = Field(examples=[0], description="Full passes over the domain before it.")
    draw: int = Field(examples=[13450000], description="Its place in the domain's endless order.")
    sequence: int = Field(examples=[7230145], description="Its number in the domain's storage.")
    first_token: int = Field(examples=[29614673920], description="Where the sequence begins in the domain's storage.")
    tokens: int = Field(examples=[4096], description="Of the sequence.")
    from_token: int = Field(examples=[0], description="Where the part that it reads begins, from the first one traced.")
    to_token: int = Field(examples=[812], description="Where that part ends: one past its last token.")
    masked_tokens: int = Field(examples=[0], description="How many of these are taken down at this step.")


class TraceRow(BaseModel):
    """A document at one place of the store, and how often it is read."""

    document: str = Field(examples=["a/17"])
    domain: str = Field(examples=["c14q3"])
    first_token: int = Field(examples=[812], description="Where it begins in the domain's storage.")
    tokens: int = Field(examples=[96], description="The end of the document counted in.")
    attributes: dict[str, Attribute] = Field(examples=[{"license": "MIT"}])
    first_step: int = Field(examples=[0])
    times: int = Field(
        examples=[3],
        description="Sequences from `first_step` on that read of it; of a document over several, each counts.",
    )
    times_down: int = Field(
        examples=[0], description="Of these, how many read nothing of its text, since all of it was taken down before."
    )
    next: TracedReadRow | None = Field(description="The first of them; null where it is not read.")
    links: dict[str, str] = Field(
        examples=[{"reads": "/v1/mixtures/demo/reads?domain=c14q3&first_token=812&first_step=0&last_token=907"}]
    )


class ReadsPage(Page[TracedReadRow]):
    """The sequences that read of a range of tokens, in order; `times`: how many there are from `first_step` on.

    times_down: of these, how many read nothing of it, since all of the range was taken down before. (A document that is
    taken down keeps its last token, which is its end.)
    """

    times: int = Field(examples=[3])
    times_down: int = Field(examples=[0])


class ReadValueRow(BaseModel):
    """What was read of the documents with one value."""

    value: str | int | float | bool | None = Field(examples=["MIT"], description="Null: documents without one.")
    documents: int = Field(examples=[30112], description="Of which at least one token was read.")
    tokens: int = Field(examples=[41200512], description="Different ones.")
    tokens_with_repeats: int = Field(examples=[52310016], description="Each as often as it was read.")
    tokens_masked: int = Field(
        examples=[0], description="Beside them: what stood in sequences, and was hidden since it was taken down."
    )


class ReadTotal(BaseModel):
    """All values together."""

    documents: int = Field(examples=[90210])
    tokens: int = Field(examples=[141200512])
    tokens_with_repeats: int = Field(examples=[152310016])
    tokens_masked: int = Field(examples=[0])


class ReadValues(Page[ReadValueRow]):
    """What was read before a step by value, most tokens with repeats first, and in all."""

    total: ReadTotal


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
        rows = [trace_row(trace) for trace in found]
        for row in rows:
            place = {name: row[name] for name in ("domain", "first_token", "first_step")}
            place["last_token"] = row["first_token"] + row["tokens"] - 1
            row["links"] = {"reads": f"{here}?{urlencode(place)}"}
        return Listed(items=rows)

    def table(rows: list[dict[str, Any]]) -> pa.Table:
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
        table = pa.Table.from_pylist([read_row(read) for read in shown], schema=READS)
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
        total = {name: getattr(found.total, name) for name in READ_SUMS}
        return TablePart(sums_table(found, slice(first, end)), cursor, {"total": total})

    of = f"{asked.mixture.digest} {store.digest}"
    answer = whole_answer if page.is_whole else table_answer
    return answer(request, form, of=of, lifetime=Lifetime.SHORT, make=make)
