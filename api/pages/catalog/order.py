"""What a catalog's cells show, and the order of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from mixture.api.answers import wrong_query
from mixture.api.figures import Figures
from mixture.errors import nearest

if TYPE_CHECKING:
    from mixture.api.pages.catalog.page import RowView


class Measure(StrEnum):
    """A figure of cells: a field of `Figures`."""

    SHARE = "share"
    ENRICHMENT = "enrichment"
    TOKENS = "tokens"
    WEIGHT = "weight"
    EPOCHS = "epochs"


def figure_of(figures: Figures, measure: Measure) -> float | None:
    """The figure of a measure."""
    figure: float | None = getattr(figures, measure.value)
    return figure


DESCENDING = "-"
NAME, TITLE, TOTAL, COLUMN = "name", "title", "total", "column:"
FIELDS = ("share", "tokens", "documents", "mean_length", "weight", "planned_tokens", "epochs", "cap")
"""Fields of `Figures` that a list can be sorted by; a map is sorted by the measure that it shows."""


def sorted_rows(rows: Sequence[RowView], columns: Sequence[str], measure: Measure, sort: str) -> list[RowView]:
    """The rows by `name`, `title`, `total`, `column:VALUE` or a field; `-` before it: the largest first.

    Rows that have no figure come last either way. Raises Problem 422 `unknown-sort`.
    """
    key = sort.removeprefix(DESCENDING)
    known = (NAME, TITLE, TOTAL, *FIELDS, *(f"{COLUMN}{value}" for value in columns))
    if key not in known:
        hint = nearest(key, known) or f"right here: {', '.join(known[:20])}"
        raise wrong_query("sort", f"rows cannot be sorted by {key!r}", "unknown-sort", hint=hint)
    place = columns.index(key.removeprefix(COLUMN)) if key.startswith(COLUMN) else 0

    def figure(row: RowView) -> float | str | None:
        if key == TITLE:
            return (row.title or "").casefold() or None
        of: Figures | None = row.cells[place] if key.startswith(COLUMN) else row.total
        if of is None:
            return None
        field = key if key in FIELDS else measure.value
        found: float | None = getattr(of, field)
        return found

    if key == NAME:  # the order of the catalog's values, which is not that of their text
        return list(reversed(rows)) if sort.startswith(DESCENDING) else list(rows)
    there = [(figure(row), row) for row in rows]
    known_rows = sorted(
        ((value, row) for value, row in there if value is not None),
        key=lambda pair: pair[0],
        reverse=sort.startswith(DESCENDING),
    )
    return [row for _, row in known_rows] + [row for value, row in there if value is None]
