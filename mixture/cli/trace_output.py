"""How traces are printed: for people, and as JSON, one object a line. Arrow files are `trace_arrow`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from mixture.cli.output import plain, print_columns, print_json, print_table, printable, table

if TYPE_CHECKING:
    from mixture.stream import DocumentPart, ReadSoFar, StoredDocument, Trace, TracedRead, TracedSequence

SEQUENCE = ("position", "slot", "domain", "draw", "epoch", "sequence", "first_token", "tokens")
READ = (
    "position", "step", "slot", "epoch", "draw", "sequence", "first_token", "tokens", "from_token", "to_token",
    "masked_tokens",
)  # fmt: skip
SHOWN_READ = ("position", "step", "slot", "epoch", "first_token", "from_token", "to_token")
SUMS = ("documents", "tokens", "tokens_with_repeats", "tokens_masked")
SHOWN_PARTS = 3
"""Documents of a sequence that stand on its line; the others are counted."""


# ---- forwards ---------------------------------------------------------------------------------------------------


def print_sequences_json(sequences: Iterator[TracedSequence]) -> None:
    """Print the sequences of a step with their documents, an object each."""
    for one in sequences:
        print_json({name: getattr(one, name) for name in SEQUENCE} | {"documents": [*map(_part, one.documents)]})


def print_sequences(sequences: Iterator[TracedSequence], step: int) -> None:
    """Print the sequences of a step, a line each, and how many tokens of how many documents there are."""
    count, tokens, documents = 0, 0, set[tuple[str, int]]()

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal count, tokens
        for one in sequences:
            count, tokens = count + 1, tokens + one.tokens
            documents.update((one.domain, part.document.first_token) for part in one.documents)
            shown = ", ".join(map(_part_text, one.documents[:SHOWN_PARTS]))
            more = len(one.documents) - SHOWN_PARTS
            yield (
                one.position, one.slot, printable(one.domain), one.epoch, one.draw, one.first_token,
                shown + (f", and {more} more" if more > 0 else ""),
            )  # fmt: skip

    names = ("position", "slot", "domain", "epoch", "draw", "first_token", "documents [from:to]")
    there = rows()
    first = list(islice(there, 1))  # what is refused is refused before the columns are named
    print_columns(names, chain(first, there), text={"domain": 12, "documents [from:to]": 0})
    print(f"step {step}: {_of(count, 'sequence')}, {_of(tokens, 'token')}, {_of(len(documents), 'document')}")


def _part(part: DocumentPart) -> dict[str, object]:
    return _document(part.document) | {"from_token": part.from_token, "to_token": part.to_token}


def _document(document: StoredDocument) -> dict[str, object]:
    return {
        "id": document.id,
        "first_token": document.first_token,
        "tokens": document.tokens,
        "attributes": dict(document.attributes),
    }


def _part_text(part: DocumentPart) -> str:
    whole = part.to_token - part.from_token == part.document.tokens
    return printable(part.document.id) + ("" if whole else f" [{part.from_token}:{part.to_token}]")


# ---- backwards --------------------------------------------------------------------------------------------------


def print_traces_json(traces: Iterable[Trace], most: int | None) -> None:
    """Print an object for each document or range: what it is, how often it is read, and at most so many reads."""
    for one in traces:
        attributes = {} if one.document is None else {"attributes": dict(one.document.attributes)}
        reads = [{name: getattr(read, name) for name in READ} for read in islice(one.reads(), most)]
        print_json(
            {"document": None if one.document is None else one.document.id, "domain": one.domain}
            | {"first_token": one.first_token, "tokens": one.tokens}
            | attributes
            | {"from_step": one.first_step, "times": one.times, "reads": reads}
        )


def print_traces(traces: Iterable[Trace], most: int | None) -> None:
    """Print where each document or range is read, a line a place, at most so many, and how many there are in all."""
    for i, one in enumerate(traces):
        if i:
            print()
        _print_trace(one, most)


def _print_trace(one: Trace, most: int | None) -> None:
    print(_heading(one))
    found = one.reads()
    first = next(found, None)
    if first is not None:
        rows = islice(chain([first], found), most)
        names = SHOWN_READ + (("masked_tokens",) if one.is_masked else ())
        print_columns(names, ([getattr(read, name) for name in names] for read in rows), text={})
    print(_summary(one, first))


def _heading(one: Trace) -> str:
    last = one.first_token + one.tokens - 1
    where = f"token {last:,}" if one.tokens == 1 else f"tokens {one.first_token:,} to {last:,}"
    if one.document is None:
        return f"{where} of domain {printable(one.domain)}"
    attributes = "".join(f"; {printable(f'{k}: {v}')}" for k, v in one.document.attributes.items() if v is not None)
    return f"document {printable(one.document.id)}: {where} of domain {printable(one.domain)}{attributes}"


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _summary(one: Trace, first: TracedRead | None) -> str:
    if first is None:
        return f"not read from step {one.first_step} on" if one.first_step else "not read in this run"
    times = "once" if one.times == 1 else f"{one.times:,} times"
    if one.first_step:
        return f"still to come {times} from step {one.first_step} on, next at step {first.step}"
    return f"read {times} in all, first at step {first.step}"


# ---- until a step -----------------------------------------------------------------------------------------------


def print_sums_json(found: ReadSoFar) -> None:
    """Print what was read before a step, an object a value."""
    for one in found.values:
        print_json({"value": one.value} | {n: getattr(one, n) for n in SUMS})


def print_sums(found: ReadSoFar) -> None:
    """Print what was read before a step, a line a value, and in all."""
    total = found.total
    shown = table(
        f"read before step {found.step:,}, by {plain(found.by)}",
        f"<{found.by}", "documents", "tokens", "with repeats", "share", *(["hidden"] if total.tokens_masked else []),
    )  # fmt: skip
    for i, one in enumerate((*found.values, total)):
        name = "in all" if one is total else "none" if one.value is None else str(one.value)
        share = one.tokens_with_repeats / max(1, total.tokens_with_repeats)
        figures = [f"{one.documents:,}", f"{one.tokens:,}", f"{one.tokens_with_repeats:,}", f"{share:.2%}"]
        hidden = [f"{one.tokens_masked:,}"] if total.tokens_masked else []
        shown.add_row(plain(printable(name)), *figures, *hidden, end_section=i + 1 == len(found.values))
    print_table(shown)
