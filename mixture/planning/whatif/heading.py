"""The name of a changed spec, and comments on its first lines: what was changed, and in which spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mixture.names import LONGEST_NAME
from mixture.planning.whatif.changes import Changes
from mixture.planning.whatif.shares import Share, format_share
from mixture.units import quote

ENDING = "-what-if"
MOST_NAMED = 8
"""Shares of a phase that are listed; the others are counted."""


def changed_name(name: str) -> str:
    """The name of a changed mixture, which is never the name of the original."""
    return name if name.endswith(ENDING) else name[: LONGEST_NAME - len(ENDING)] + ENDING


def heading(source: str, changes: Changes, tables: Sequence[str]) -> str:
    """Comment lines for the top of a changed spec.

    source: what the original is called, without control characters
    tables: names of its tables, if the changed spec belongs beside them
    """
    lines = [f"What if: {'; '.join(_changed(changes))}.", f"Made of {source}, whose own comments follow."]
    if tables:
        lines.append(f"It belongs beside that mixture's tables: {', '.join(map(quote, tables))}.")
    return "".join(f"# {line}\n" for line in lines)


def _changed(changes: Changes) -> Iterator[str]:
    if changes.budget is not None:
        yield f"budget {_plain(changes.budget)}"
    for name, change in changes.phases:
        if change.extent is not None:
            form, value = change.extent
            yield f"phase {quote(name)} {form.value} {_plain(value)}"
        for shares in (change.weights, change.groups):
            if shares:
                yield f"in phase {quote(name)} {', '.join(_named(shares))}"


def _named(shares: Sequence[tuple[str, Share]]) -> Iterable[str]:
    # In quotes, control characters and ends of lines are escaped: a value of a table cannot end the comment.
    named = [f"{quote(name)} {format_share(share)}" for name, share in shares[:MOST_NAMED]]
    return named if len(shares) <= MOST_NAMED else [*named, f"and {len(shares) - MOST_NAMED} more"]


def _plain(text: str) -> str:
    return quote(text)[1:-1]
