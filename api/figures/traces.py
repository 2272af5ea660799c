"""Traces as answers: where documents and ranges of tokens are read, and what was read before a step. Bounded work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from mixture.api.answers import wrong_query
from mixture.api.middleware import Problem
from mixture.api.texts import reading_store
from mixture.data.layout import attribute_text
from mixture.data.store import Store
from mixture.errors import MixtureError
from mixture.lock import Lock
from mixture.schedule import Schedule
from mixture.stream import ReadSoFar, Trace, TracedRead, read_so_far, trace_documents

READ = (
    "position", "step", "slot", "epoch", "draw", "sequence", "first_token", "tokens", "from_token", "to_token",
    "masked_tokens",
)  # fmt: skip
READS = pa.schema([pa.field(name, pa.int64()) for name in READ])
READ_SUMS = ("documents", "tokens", "tokens_with_repeats", "tokens_masked")
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
            raise wrong_query(name, detail, "range-too-long", hint="`mixture trace` has no such limit", most=most)
        for draws in schedule.draws(schedule.domain_index(domain), first_step):
            looked_up += sequences * sum(1 for _ in islice(draws.epochs(), MOST_LOOKED_UP))
            if looked_up > MOST_LOOKED_UP:
                detail = f"more than {MOST_LOOKED_UP:,} sequences and epochs of them would be looked through"
                hint = "ask for fewer documents, or from a later step on; `mixture trace` has no such limit"
                raise wrong_query(name, detail, "too-many-epochs", hint=hint, most=MOST_LOOKED_UP)


def read_row(read: TracedRead) -> dict[str, int]:
    """A read as a row."""
    return {name: getattr(read, name) for name in READ}


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


def trace_row(trace: Trace) -> dict[str, Any]:
    """What a trace is of, how often it is read, and the first time."""
    document = trace.document
    first = next(trace.reads(), None)
    return {
        "document": None if document is None else document.id,
        "domain": trace.domain,
        "first_token": trace.first_token,
        "tokens": trace.tokens,
        "attributes": {} if document is None else dict(document.attributes),
        "first_step": trace.first_step,
        "times": trace.times,
        "times_down": trace.times_down,
        "next": None if first is None else read_row(first),
    }


def traces_table(rows: Sequence[Mapping[str, Any]], attributes: Sequence[str]) -> pa.Table:
    """A row a trace; the first read stands in `next_…`, attributes in `attribute_…`."""
    own = [("document", pa.string()), ("domain", pa.string())]
    own += [(name, pa.int64()) for name in ("first_token", "tokens", "first_step", "times", "times_down")]
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in own}
    for name in READ:
        columns[f"next_{name}"] = pa.array([row["next"] and row["next"][name] for row in rows], pa.int64())
    for name in attributes:
        columns[f"attribute_{name}"] = pa.array(
            [attribute_text(row["attributes"].get(name)) for row in rows], pa.string()
        )
    return pa.table(columns)


def bounded_sums(lock: Lock, store: Store, step: int, by: str) -> ReadSoFar:
    """`read_so_far`, bounded. Raises Problem 422 `too-much-read`, `unknown-column`; StoreError; ScheduleError."""
    schedule = lock.schedule()
    read = [name for name, n in zip(schedule.names, schedule.counts(step).tolist(), strict=True) if n]
    held = [store.domains[name] for name in read if name in store.domains]
    documents = sum(domain.documents for domain in held)
    blocks = sum(domain.tokens for domain in held) // schedule.data.block_tokens
    if documents > MOST_DOCUMENTS or blocks > MOST_BLOCKS:
        detail = f"{documents:,} documents in {blocks:,} blocks are more than are summed for one answer"
        hint = f"up to {MOST_DOCUMENTS:,} documents and {MOST_BLOCKS:,} blocks are; `mixture trace` has no such limit"
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
