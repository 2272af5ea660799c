"""Text followed through a run: every step and slot that reads a document or token, and what was read before a step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.figures import READ_SUMS, READS, bounded_sums, check_traced, document_traces
from mixture.api.middleware import Problem
from mixture.api.pages.catalog.facts import pinned
from mixture.api.pages.step.sequences import Attribute, StoreState
from mixture.api.registry import LoadedMixture
from mixture.data.layout import attribute_text
from mixture.data.store import Store
from mixture.errors import MixtureError
from mixture.stream import Trace, TracedRead, read_json, trace_range

SHOWN_READS = 50
SHOWN_VALUES = 100
FIRST_COLUMNS = ("license", "licence", "source")
"""What sums are by where nothing is said."""
MOST_NAMES = 1000
"""Domains that the page offers by name."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Asked(_Frozen):
    """What the page is asked for. `step` and `by`: of the sums; the others: of the trace."""

    document: str | None = None
    domain: str | None = None
    token: int | None = None
    first_step: int = 0
    step: int | None = None
    by: str | None = None

    @property
    def is_backwards(self) -> bool:
        """Whether a document or a token is to be traced."""
        return self.document is not None or self.domain is not None or self.token is not None


class ReadLine(_Frozen):
    """A sequence that reads of what is traced; from_token, to_token: which part of it, counted from its first."""

    position: int
    step: int
    slot: int
    epoch: int
    draw: int
    sequence: int
    first_token: int
    tokens: int
    from_token: int
    to_token: int
    masked_tokens: int
    is_down: bool


class TraceLines(_Frozen):
    """A document at one place of the store, or a token; times: how often it is read; reads: the first of them.

    times_down: how many of these read nothing of its text; next_read: the first that does, None: there is none
    """

    document: str | None
    domain: str
    first_token: int
    tokens: int
    attributes: tuple[Attribute, ...]
    times: int
    times_down: int
    next_read: ReadLine | None
    reads: tuple[ReadLine, ...]

    @property
    def is_masked(self) -> bool:
        """Whether any of it is hidden in the reads that are shown."""
        return any(read.masked_tokens for read in self.reads)


class SumLine(_Frozen):
    """What was read of the documents with one value; share: of all tokens read, repeats counted."""

    value: str | int | float | bool | None
    documents: int
    tokens: int
    tokens_with_repeats: int
    tokens_masked: int
    share: float


class TraceView(_Frozen):
    """A trace, sums, both, or what is wrong with what was asked.

    ref:     how the page names the mixture; pinned: the reference that never changes
    domains: the names that are offered, none where there are very many
    columns: what sums can be by
    store:   whether documents can be looked up
    said, hint: why there is no answer, and what would be right
    """

    name: str
    ref: str
    pinned: str
    steps: int
    domains: tuple[str, ...]
    columns: tuple[str, ...]
    store: StoreState
    asked: Asked
    traces: tuple[TraceLines, ...] = ()
    sums: tuple[SumLine, ...] | None = None
    total: SumLine | None = None
    said: str | None = None
    hint: str | None = None

    def table(self) -> pa.Table:
        """The values of the sums where they are asked for; else a row a read, as shown."""
        if self.sums is not None:
            made: dict[str, Any] = {"value": pa.array([_text(one.value) for one in self.sums], pa.string())}
            for name in READ_SUMS:
                made[name] = pa.array([getattr(one, name) for one in self.sums], pa.int64())
            return pa.table(made)
        rows = [(trace, read) for trace in self.traces for read in trace.reads]
        made = {
            "document": pa.array([one.document for one, _ in rows], pa.string()),
            "domain": pa.array([one.domain for one, _ in rows], pa.string()),
        }
        for name in READS.names:
            made[name] = pa.array([getattr(read, name) for _, read in rows], pa.int64())
        return pa.table(made)

    @property
    def listed(self) -> tuple[SumLine, ...]:
        """The values that the page lists."""
        return (self.sums or ())[:SHOWN_VALUES]


def trace_view(
    mixture: LoadedMixture,
    asked: Asked,
    *,
    ref: str | None = None,
    store: Store | None = None,
    refused: Problem | None = None,
) -> TraceView:
    """The view of what is asked.

    ref:     how the page names the mixture; None: by its name
    store:   where documents are looked up
    refused: why there is no answer, which the page says beside its form; None: the answer is looked for

    Raises Problem, MixtureError where what is asked can not be answered.
    """
    schedule, columns = mixture.lock.schedule(), _columns(store)
    by = asked.by or _first_column(columns)
    made = TraceView(
        name=mixture.name,
        ref=ref or mixture.name,
        pinned=pinned(mixture),
        steps=schedule.steps,
        domains=schedule.names if len(schedule.names) <= MOST_NAMES else (),
        columns=columns,
        store=StoreState.NONE if store is None else StoreState.THERE,
        asked=asked.model_copy(update={"by": by}),
    )
    if refused is not None:
        return made.model_copy(update={"said": refused.detail, "hint": refused.hint})
    if asked.is_backwards:
        made = made.model_copy(update={"traces": tuple(map(_lines, _traces(mixture, asked, store)))})
    if asked.step is not None:
        made = made.model_copy(update=_sums(mixture, asked.step, by, store))
    return made


def _columns(store: Store | None) -> tuple[str, ...]:
    if store is None:
        return ()
    try:
        return tuple(dict.fromkeys(["domain", *store.attributes, *store.labels.column_names[2:]]))
    except MixtureError:
        return ("domain",)


def _traces(mixture: LoadedMixture, asked: Asked, store: Store | None) -> Sequence[Trace]:
    if asked.document is not None:
        if asked.domain is not None or asked.token is not None:
            hint = "give either the document, or the domain and the token"
            raise Problem(422, "a document and a token of a domain are both given", hint=hint)
        return document_traces(mixture.lock, _there(store), [asked.document], first_step=asked.first_step)
    if asked.domain is None or asked.token is None:
        raise Problem(422, "a domain and a token in it go together", hint="give both")
    check_traced(mixture.lock.schedule(), [(asked.domain, 1)], name="token", first_step=asked.first_step)
    return [trace_range(mixture.lock, asked.domain, asked.token, 1, first_step=asked.first_step)]


def _there(store: Store | None) -> Store:
    if store is None:
        hint = "a domain and a token in it can be traced without one"
        raise Problem(404, "this service has no store of this mixture's text", code="store-missing", hint=hint)
    return store


def _lines(trace: Trace) -> TraceLines:
    attributes = {} if trace.document is None else trace.document.attributes
    texts = ((name, attribute_text(value)) for name, value in attributes.items())
    times, down = trace.times, trace.times_down
    first = next(read for read in trace.reads() if not read.is_down) if down < times else None
    return TraceLines(
        document=None if trace.document is None else trace.document.id,
        domain=trace.domain,
        first_token=trace.first_token,
        tokens=trace.tokens,
        attributes=tuple(Attribute(name=name, value=text) for name, text in texts if text),
        times=times,
        times_down=down,
        next_read=None if first is None else _read_line(first),
        reads=tuple(map(_read_line, islice(trace.reads(), SHOWN_READS))),
    )


def _read_line(read: TracedRead) -> ReadLine:
    return ReadLine(**read_json(read), is_down=read.is_down)


def _first_column(columns: Sequence[str]) -> str:
    return next((name for name in columns if name in FIRST_COLUMNS), "domain")


def _sums(mixture: LoadedMixture, step: int, by: str, store: Store | None) -> dict[str, object]:
    found = bounded_sums(mixture.lock, _there(store), step, by)
    whole = found.total.tokens_with_repeats or 1
    lines = [
        SumLine(
            value=one.value,
            share=one.tokens_with_repeats / whole,
            **{name: getattr(one, name) for name in READ_SUMS},
        )
        for one in (*found.values, found.total)
    ]
    return {"sums": tuple(lines[:-1]), "total": lines[-1]}


def _text(value: object) -> str | None:
    return None if value is None else str(value)
