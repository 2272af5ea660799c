"""A comparison as Markdown for a pull request: a sentence, what phases and domains moved, and the rest folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mixture.planning.compare.comparison import Diff, Move
from mixture.planning.compare.words import (
    MOVE_HEADS,
    PHASE_HEADS,
    digest_words,
    headline,
    move_cells,
    phase_cells,
    remarks,
    rounding_words,
    run_cells,
    shown_phases,
    unmoved_words,
    weight_cells,
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
    yield f"**{code(diff.a.name)} → {code(diff.b.name)}** {headline(diff.agreement)}"
    yield ""
    yield from [*(f"- {words}" for words in digest_words(diff, code)), ""]
    phases = [[code(name), *cells] for name, cells in phase_cells(diff, format_short)]
    yield from _table(("phase", *PHASE_HEADS), [*phases, ["**run**", *run_cells(diff, format_short)]])
    yield ""
    said = [f"- {remark}" for remark in remarks(diff, code)]
    yield from [*said, ""] if said else []
    what = "domains" if diff.by is None else f"groups by {code(diff.by)}"
    if not diff.moved and not diff.rounded:
        yield unmoved_words(diff, what)
        return
    count = f"Of {len(diff.moves):,} {what}, {len(diff.moved):,} moved"
    yield f"{count}. Shares are of tokens, changes B’s less A’s, in percentage points."
    beside = shown_phases(diff)
    heads = ("domain" if diff.by is None else code(diff.by), *MOVE_HEADS, *(code(pair.name) for pair in beside))

    def rows(moves: Sequence[Move]) -> Iterator[str]:
        yield ""
        yield from _table(heads, ([*_move(move), *weight_cells(beside, move)] for move in moves))

    if diff.moved:
        yield from rows(diff.moved[:SHOWN])
    rest = diff.moved[SHOWN:most]
    if rest:
        yield from _folded(f"{len(rest):,} more", rows(rest))
    left = len(diff.moved) - SHOWN - len(rest)
    if left > 0:
        yield ""
        yield f"{left:,} more that moved less are left out."
    rounded = diff.rounded if most is None else diff.rounded[: max(0, most - len(diff.moved))]
    if diff.rounded:
        yield from _folded(rounding_words(len(diff.rounded)), rows(rounded))


def _folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{summary}</summary>")
    yield from lines
    yield from ("", "</details>")


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
