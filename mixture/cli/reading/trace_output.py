"""How traces are printed: for people, and as JSON, one object a line. Arrow files are `trace_arrow`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice
from typing import TYPE_CHECKING

from mixture.cli.output import plain, print_columns, print_json, print_table, printable, table
from mixture.units import percent

if TYPE_CHECKING:
    from mixture.stream import DocumentPart, ReadSoFar, Trace, TracedRead, TracedSequence

SHOWN_SEQUENCE = ("position", "slot", "epoch", "draw", "first_token")
SHOWN_READ = ("position", "step", "slot", "epoch", "first_token")
DOCUMENTS, READS_OF_IT, TAKEN_DOWN = "documents (tokens of them)", "reads of it", "taken down"
SHOWN_PARTS = 3
"""Documents of a sequence that stand on its line; the others are counted."""
WIDTH = 14
"""Of a number in thousands: 13,450,000,000."""


# ---- forwards ---------------------------------------------------------------------------------------------------


def print_sequences_json(sequences: Iterator[TracedSequence]) -> None:
    """Print the sequences of a step with their documents, an object each."""
    from mixture.stream import sequence_json

    for sequence in sequences:
        print_json(sequence_json(sequence))


def print_sequences(sequences: Iterator[TracedSequence], step: int) -> None:
    """Print the sequences of a step, a line each, and how many tokens of how many documents there are.

    A part of a document is from its first to its last token; none is said where all of it is read.
    """
    count, tokens, down, documents = 0, 0, 0, set[tuple[str, int]]()

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal count, tokens, down
        for sequence in sequences:
            count, tokens, down = count + 1, tokens + sequence.tokens, down + sequence.masked_tokens
            documents.update((sequence.domain, part.document.first_token) for part in sequence.documents)
            shown = ", ".join(map(_part_text, sequence.documents[:SHOWN_PARTS]))
            more = len(sequence.documents) - SHOWN_PARTS
            shown += f", and {more} more" if more > 0 else ""
            shown += f"; {_of(sequence.masked_tokens, 'token')} {TAKEN_DOWN}" if sequence.masked_tokens else ""
            yield printable(sequence.domain), *(f"{getattr(sequence, name):,}" for name in SHOWN_SEQUENCE), shown

    names = ("domain", *SHOWN_SEQUENCE, DOCUMENTS)
    there = rows()
    first = list(islice(there, 1))  # what is refused is refused before the columns are named
    print_columns(names, chain(first, there), text={"domain": 12, DOCUMENTS: 0}, numbers=WIDTH)
    hidden = f"; {_of(down, 'token')} {TAKEN_DOWN}" if down else ""
    print(f"step {step:,}: {_of(count, 'sequence')}, {_of(tokens, 'token')}, {_of(len(documents), 'document')}{hidden}")


def _part_text(part: DocumentPart) -> str:
    whole = part.to_token - part.from_token == part.document.tokens
    said = [] if whole else [_range(part.from_token, part.to_token)]
    said += [TAKEN_DOWN] if part.is_down else []
    return printable(part.document.id) + (f" ({', '.join(said)})" if said else "")


def _range(from_token: int, to_token: int) -> str:
    return f"{from_token:,} to {to_token - 1:,}"


# ---- backwards --------------------------------------------------------------------------------------------------


def print_traces_json(traces: Iterable[Trace], limit: int | None) -> None:
    """Print an object for each document or range: what it is, how often it is read, and at most that many reads."""
    from mixture.stream import trace_json

    for trace in traces:
        print_json(trace_json(trace, limit))


def print_traces(traces: Iterable[Trace], limit: int | None) -> None:
    """Print where each document or range is read, a line a place, at most that many, and how many there are in all."""
    for i, trace in enumerate(traces):
        if i:
            print()
        _print_trace(trace, limit)


def _print_trace(trace: Trace, limit: int | None) -> None:
    print(_heading(trace))
    found = trace.reads()
    first = next(found, None)
    if first is not None:
        names = (*SHOWN_READ, *([READS_OF_IT] if trace.tokens > 1 else []), *([TAKEN_DOWN] if trace.is_masked else []))
        rows = (_read_text(read, trace, names) for read in islice(chain([first], found), limit))
        print_columns(names, rows, text={READS_OF_IT: 18}, numbers=WIDTH)
    print(_summary(trace, first))


def _read_text(read: TracedRead, of: Trace, names: Sequence[str]) -> list[str]:
    """The cells of a read; which tokens of what is traced it reads: from its first to its last one of them."""
    shown = {name: f"{getattr(read, name):,}" for name in SHOWN_READ}
    whole = read.to_token - read.from_token == of.tokens
    shown[READS_OF_IT] = "all" if whole else _range(read.from_token, read.to_token)
    shown[TAKEN_DOWN] = f"{read.masked_tokens:,}"
    return [shown[name] for name in names]


def _heading(trace: Trace) -> str:
    from mixture.data.layout import attribute_text

    last = trace.first_token + trace.tokens - 1
    where = f"token {last:,}" if trace.tokens == 1 else f"tokens {trace.first_token:,} to {last:,}"
    if trace.document is None:
        return f"{where} of domain {printable(trace.domain)}"
    said = ((name, attribute_text(value)) for name, value in trace.document.attributes.items())
    attributes = "".join(f"; {printable(f'{name}: {text}')}" for name, text in said if text is not None)
    return f"document {printable(trace.document.id)}: {where} of domain {printable(trace.domain)}{attributes}"


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _summary(trace: Trace, first: TracedRead | None) -> str:
    since = f" from step {trace.first_step:,} on" if trace.first_step else ""
    if first is None:
        return f"not read{since or ' in this run'}"
    down = trace.times_down
    if down == trace.times:
        return f"{_of(down, 'place')}{since}, {'' if down == 1 else 'all '}{TAKEN_DOWN}: none is read"
    times = "once" if trace.times == 1 else f"{trace.times:,} times"
    hidden = f", {down:,} of them {TAKEN_DOWN}" if down else ""
    begin = first if not down else next(read for read in trace.reads() if not read.is_down)
    if since:
        return f"still to come {times}{since}{hidden}, next at step {begin.step:,}"
    return f"{'' if down else 'read '}{times} in all{hidden}, first at step {begin.step:,}"


# ---- until a step -----------------------------------------------------------------------------------------------


def print_sums_json(found: ReadSoFar) -> None:
    """Print what was read before a step, an object a value."""
    from mixture.stream import value_json

    for value in found.values:
        print_json(value_json(value))


def print_sums(found: ReadSoFar) -> None:
    """Print what was read before a step, a line a value, and in all."""
    total = found.total
    shown = table(
        f"read before step {found.step:,}, by {plain(found.by)}",
        f"<{found.by}", "documents", "tokens", "with repeats", "share", *(["hidden"] if total.tokens_masked else []),
    )  # fmt: skip
    for i, one in enumerate((*found.values, total)):
        name = "in all" if one is total else "none" if one.value is None else str(one.value)
        share = percent(Fraction(one.tokens_with_repeats, max(1, total.tokens_with_repeats)), digits=4)
        figures = [f"{one.documents:,}", f"{one.tokens:,}", f"{one.tokens_with_repeats:,}", share]
        hidden = [f"{one.tokens_masked:,}"] if total.tokens_masked else []
        shown.add_row(plain(printable(name)), *figures, *hidden, end_section=i + 1 == len(found.values))
    print_table(shown)
