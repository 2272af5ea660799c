"""A comparison as Markdown for a pull request: a sentence, what phases and domains moved, and the rest folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mixture.plan.diff import Diff, Move
from mixture.plan.diff_words import (
    MOVE_HEADS,
    PHASE_HEADS,
    agreement_words,
    move_cells,
    phase_cells,
    remarks,
    run_cells,
    unmoved_words,
)
from mixture.units import format_short

SHOWN, MOST = 10, 300
"""Moves that are seen at once, and those that are there at all: a comment has 65,536 characters."""
_PLAIN = re.compile(r"[^`|\\<\x00-\x1f\x7f]+")


def diff_markdown(diff: Diff, *, most: int | None = MOST) -> str:
    """The comparison as GitHub's Markdown. most: how many moves it has at most, None: all."""
    return "".join(f"{line}\n" for line in _lines(diff, most))


def code(text: str) -> str:
    """A name as code that no name can leave: one with marks of Markdown in it stands in character references."""
    if _PLAIN.fullmatch(text) and text == text.strip():
        return f"`{text}`"
    return f"<code>{''.join(c if c.isalnum() else f'&#{ord(c)};' for c in text)}</code>"


def _lines(diff: Diff, most: int | None) -> Iterator[str]:
    yield f"**{code(diff.a.name)} → {code(diff.b.name)}** {agreement_words(diff.agreement)}"
    yield ""
    phases = [[code(name), *cells] for name, cells in phase_cells(diff, format_short)]
    yield from _table(("phase", *PHASE_HEADS), [*phases, ["**run**", *run_cells(diff, format_short)]])
    yield ""
    said = [f"- {remark}" for remark in remarks(diff, code)]
    yield from [*said, ""] if said else []
    changed = [move for move in diff.moves if move.is_change]
    what = "domains" if diff.by is None else f"groups by {code(diff.by)}"
    if not changed:
        yield unmoved_words(diff, what)
        return
    yield f"Of {len(diff.moves):,} {what}, {len(changed):,} moved. Shares are of tokens, changes in percentage points."
    yield ""
    heads = ("domain" if diff.by is None else code(diff.by), *MOVE_HEADS)
    yield from _table(heads, map(_move, changed[:SHOWN]))
    rest = changed[SHOWN:most]
    if rest:
        yield ""
        yield f"<details><summary>{len(rest):,} more</summary>"
        yield ""
        yield from _table(heads, map(_move, rest))
        yield ""
        yield "</details>"
    left = len(changed) - SHOWN - len(rest)
    if left > 0:
        yield ""
        yield f"{left:,} more that moved less are left out."


def _move(move: Move) -> list[str]:
    share, change, *cells = move_cells(move, format_short)
    if move.weight_change:
        change = f"{'▲' if move.weight_change > 0 else '▼'} {change.lstrip('+-')}"
    return ["none" if move.name is None else code(move.name), share, change, *cells]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table whose first column is text and whose others are numbers."""
    yield _row(heads)
    yield _row([":--", *["--:"] * (len(heads) - 1)])
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
