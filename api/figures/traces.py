"""Traces as answers: where documents and ranges of tokens are read, and what was read before a step. Bounded work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Annotated
from urllib.parse import urlencode

import pyarrow as pa
from pydantic import Field

from mixture.api.answers import wrong_query
from mixture.api.middleware import Problem
from mixture.api.texts import reading_store
from mixture.data.layout import Attribute, attribute_text
from mixture.data.store import Store
from mixture.errors import MixtureError
from mixture.lock import Lock
from mixture.schedule import Schedule
from mixture.stream import (
    ReadSoFar,
    ReadSums,
    Trace,
    TraceCounts,
    TracedPlace,
    TracedRead,
    TracedReadReport,
    read_json,
    read_so_far,
    trace_counts,
    trace_documents,
    traced_place,
)

READS = pa.schema([(name, pa.int64()) for name in TracedReadReport.__annotations__])
READ_SUMS = tuple(ReadSums.__annotations__)
TRACES = pa.schema(
    [
        *((name, pa.string()) for name in ("document", "domain")),
        *((name, pa.int64()) for name in ("first_token", "tokens", "first_step", "times", "times_down")),
    ]
)
MOST_SEQUENCES = 4_096
"""Sequences that one range lies over."""
MOST_LOOKED_UP = 100_000
"""Sequences × epochs that one answer looks through: some 2 seconds."""
MOST_DOCUMENTS = 5_000_000
"""Documents of the domains that a sum goes through: some 2 seconds."""
MOST_BLOCKS = 20_000_000
"""Blocks of these domains, each of which has another place in each epoch: some 2 seconds."""


def check_traced(schedule: Schedule, ranges: Sequence[tuple[str, int]], *, name: str, first_step: int) -> None:
    """Raise Problem 422 where traces would take long: `range-too-long`, `too-many-epochs`.

    ranges: the domain and the tokens of each
    """
    known, looked_up = set(schedule.names), 0
    shortest = min(segment.sequence_length for segment in schedule.data.segments)
    for domain, tokens in ranges:
        if domain not in known:
            continue
        sequences = -(-tokens // shortest) + 1
        if sequences > MOST_SEQUENCES:
            most = (MOST_SEQUENCES - 1) * shortest
            detail = f"{tokens:,} tokens are more than {most:,}, as many as one range has"
            raise wrong_query(
                name, detail, "range-too-long", hint="`mixture trace document --file` has no such limit", most=most
            )
        for draws in schedule.draws(schedule.domain_index(domain), first_step):
            looked_up += sequences * sum(1 for _ in islice(draws.epochs(), MOST_LOOKED_UP))
            if looked_up > MOST_LOOKED_UP:
                detail = f"more than {MOST_LOOKED_UP:,} sequences and epochs of them would be looked through"
                hint = "ask for fewer documents, or from a later step on; `mixture trace document` has no such limit"
                raise wrong_query(name, detail, "too-many-epochs", hint=hint, most=MOST_LOOKED_UP)


def reads_page(trace: Trace, after: int | None, limit: int) -> tuple[list[TracedRead], int | None]:
    """Up to `limit` reads behind a position, and the position to go on behind; None: there are no more.

    trace: from the step of that position on
    """
    behind = (read for read in trace.reads() if after is None or read.position > after)
    shown = list(islice(behind, limit + 1))
    return shown[:limit], shown[limit - 1].position if len(shown) > limit else None


def document_traces(lock: Lock, store: Store, ids: Sequence[str], *, first_step: int) -> list[Trace]:
    """`trace_documents`, bounded. Raises Problem 404 `unknown-document`; StoreError; ScheduleError; those of
    `check_traced`."""
    try:
        with reading_store():
            traces = trace_documents(lock, store, ids, first_step=first_step)
    except MixtureError as error:
        if error.code != "unknown-document":
            raise
        raise Problem(404, error.message, code=error.code, hint=error.hint) from error
    places = [(trace.domain, trace.tokens) for trace in traces]
    check_traced(lock.schedule(), places, name="document", first_step=first_step)
    return traces


class TraceRow(TracedPlace, TraceCounts):
    """A document at one place of the store, and how often it is read."""

    document: Annotated[str, Field(examples=["a/17"])]
    attributes: Annotated[dict[str, Attribute], Field(examples=[{"license": "MIT"}])]
    next: Annotated[TracedReadReport | None, Field(description="The first of them; null where it is not read.")]
    links: Annotated[
        dict[str, str],
        Field(examples=[{"reads": "/v1/mixtures/demo/reads?domain=c14q3&first_token=812&first_step=0&last_token=907"}]),
    ]


def trace_row(trace: Trace, reads: str) -> TraceRow:
    """What the trace of a document is of, how often it is read, and the first time. reads: the address of all reads"""
    document, first = trace.document, next(trace.reads(), None)
    assert document is not None, "ranges are not looked up by id"
    place = {"domain": trace.domain, "first_token": trace.first_token, "first_step": trace.first_step}
    query = urlencode({**place, "last_token": trace.first_token + trace.tokens - 1})
    return {
        "document": document.id,
        **traced_place(trace),
        "attributes": dict(document.attributes),
        **trace_counts(trace),
        "next": None if first is None else read_json(first),
        "links": {"reads": f"{reads}?{query}"},
    }


def traces_table(rows: Sequence[TraceRow], attributes: Sequence[str]) -> pa.Table:
    """A row a trace; the first read stands in `next_…`, attributes in `attribute_…`."""
    table = pa.Table.from_pylist(rows, TRACES)
    first = pa.Table.from_pylist([row["next"] or {} for row in rows], READS)
    for name in READS.names:
        table = table.append_column(f"next_{name}", first[name])
    for name in attributes:
        texts = [attribute_text(row["attributes"].get(name)) for row in rows]
        table = table.append_column(f"attribute_{name}", pa.array(texts, pa.string()))
    return table


def bounded_sums(lock: Lock, store: Store, step: int, by: str) -> ReadSoFar:
    """`read_so_far`, bounded. Raises Problem 422 `too-much-read`, `unknown-column`; StoreError; ScheduleError."""
    schedule = lock.schedule()
    read = [name for name, n in zip(schedule.names, schedule.counts(step).tolist(), strict=True) if n]
    domains = [store.domains[name] for name in read if name in store.domains]
    documents = sum(domain.documents for domain in domains)
    blocks = sum(domain.tokens for domain in domains) // schedule.data.block_tokens
    if documents > MOST_DOCUMENTS or blocks > MOST_BLOCKS:
        detail = f"{documents:,} documents in {blocks:,} blocks are more than are summed for one answer"
        hint = (
            f"at most {MOST_DOCUMENTS:,} documents and {MOST_BLOCKS:,} blocks are;"
            " `mixture trace read-so-far` has no such limit"
        )
        raise wrong_query("step", detail, "too-much-read", hint=hint, documents=documents, blocks=blocks)
    try:
        with reading_store():
            return read_so_far(lock, store, step, by=by)
    except MixtureError as error:
        if error.code != "unknown-column":
            raise
        raise wrong_query("by", error.message, error.code, hint=error.hint) from error


def sums_table(found: ReadSoFar, part: slice) -> pa.Table:
    """A row a value, those in a part of the order: the column's own type, or text where none has a value."""
    values = [one.value for one in found.values]
    column = pa.array(values) if any(value is not None for value in values) else pa.nulls(len(values), pa.string())
    sums = {name: pa.array([getattr(one, name) for one in found.values], pa.int64()) for name in READ_SUMS}
    return pa.table({"value": column} | sums).slice(part.start, part.stop - part.start)
