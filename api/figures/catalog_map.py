"""A catalog's domains as a map: rows by one column, columns by another; sums of each cell, row and column.

Sums are exact integers; each figure is divided once, at the end. Held-out domains are not in it: nothing draws them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyarrow as pa

from mixture.api.answers import wrong_query
from mixture.errors import nearest
from mixture.planning.catalog import CATALOG_COLUMNS, Catalog, CatalogDomain, Cell, Overview, cell_text

TITLE_COLUMN = "title"
USUAL = ("cluster", "quality")
MOST_ROWS = 400
MOST_COLUMNS = 40
MOST_DOMAINS = 50_000
"""Larger maps are lists: nobody can look at them, and a page must be small."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The columns of a catalog whose values are the rows and the columns of a map."""

    rows: str
    columns: str


@dataclass(frozen=True, slots=True)
class Sums:
    """What domains hold together: how many they are, their tokens, their documents (None unless all of them say)."""

    domains: tuple[int, ...]
    tokens: int
    documents: int | None

    @property
    def mean_length(self) -> float | None:
        """Tokens of a document; None where that is not known."""
        return self.tokens / self.documents if self.documents else None


@dataclass(frozen=True)
class CatalogMap:
    """The map of a catalog.

    rows, columns: the values, as text, in order of them, empty last
    cells:         the sums of each that has a domain, by its row and column
    """

    axes: Axes
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], Sums]
    by_row: dict[str, Sums]
    by_column: dict[str, Sums]
    whole: Sums

    @cached_property
    def place_of(self) -> dict[int, tuple[str, str]]:
        """The row and the column of a domain, by its index in the catalog."""
        return {index: place for place, sums in self.cells.items() for index in sums.domains}

    def enrichment(self, row: str, column: str) -> float | None:
        """P(row, column) / (P(row) P(column)): above 1 where the two come together more often than each by itself."""
        cell = self.cells.get((row, column))
        expected = self.by_row[row].tokens * self.by_column[column].tokens
        return cell.tokens * self.whole.tokens / expected if cell is not None and expected else None


def axes_of(
    catalog: Catalog, overview: Overview | None, *, rows: str | None = None, columns: str | None = None
) -> Axes | None:
    """The columns that are asked for, else those of the overview, else `cluster` and `quality`; None: a list.

    Raises Problem 422 `unknown-column`.
    """
    names = catalog.table.column_names
    for parameter, name in (("rows", rows), ("columns", columns)):
        if name is not None and name not in names:
            hint = nearest(name, names) or f"its columns: {', '.join(names)}"
            raise wrong_query(parameter, f"the catalog has no column {name!r}", "unknown-column", hint=hint)
    usual = USUAL if overview is None else (overview.rows, overview.columns)
    found = (rows or usual[0], columns or usual[1])
    return Axes(*found) if set(found) <= set(names) and found[0] != found[1] else None


def kind_columns(catalog: Catalog) -> tuple[str, ...]:
    """The columns that say of which kind a domain is: text or integers, and none that the catalog itself reads."""
    return tuple(
        column.name
        for column in catalog.table.schema
        if (pa.types.is_string(column.type) or pa.types.is_integer(column.type))
        and column.name not in (*CATALOG_COLUMNS, TITLE_COLUMN)
    )


def catalog_map(catalog: Catalog, axes: Axes, *, phases: Sequence[str] = ()) -> CatalogMap | None:
    """The map by two columns; None where it would be too large. phases: the order of values that all name phases."""
    if len(catalog.domains) > MOST_DOMAINS:
        return None
    held = [index for index, domain in enumerate(catalog.domains) if not domain.held_out]
    rows, columns = ([_text(cell) for cell in catalog.table[name].to_pylist()] for name in (axes.rows, axes.columns))
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index in held:
        cells[rows[index], columns[index]].append(index)
    row_names = _ordered(catalog, axes.rows, {row for row, _ in cells}, phases)
    column_names = _ordered(catalog, axes.columns, {column for _, column in cells}, phases)
    if len(row_names) > MOST_ROWS or len(column_names) > MOST_COLUMNS:
        return None
    return CatalogMap(
        axes=axes,
        rows=row_names,
        columns=column_names,
        cells={place: sums(catalog, indices) for place, indices in cells.items()},
        by_row={
            row: sums(catalog, chain(*(cells.get((row, column_name), ()) for column_name in column_names)))
            for row in row_names
        },
        by_column={
            column_name: sums(catalog, chain(*(cells.get((row, column_name), ()) for row in row_names)))
            for column_name in column_names
        },
        whole=sums(catalog, held),
    )


def sums(catalog: Catalog, indices: Iterable[int]) -> Sums:
    """What these domains of a catalog hold together."""
    found = tuple(sorted(indices))
    domains = [catalog.domains[index] for index in found]
    return Sums(found, sum(domain.tokens for domain in domains), _documents(domains))


def _documents(domains: Sequence[CatalogDomain]) -> int | None:
    """The documents of domains. A sum of those that say alone would pass for all, and divide the tokens of all."""
    said = [domain.documents for domain in domains if domain.documents is not None]
    return sum(said) if said and len(said) == len(domains) else None


def _ordered(catalog: Catalog, column: str, there: set[str], phases: Sequence[str]) -> tuple[str, ...]:
    """The values of a column that are there, as text, in the order of the values: 9 before 10; phases in time."""
    if there <= {*phases, ""}:
        return tuple(text for text in [*phases, ""] if text in there)
    values = [cell for cell in catalog.table[column].unique().to_pylist() if cell is not None]
    return tuple(text for text in [*map(_text, sorted(values)), ""] if text in there)


def _text(cell: Cell) -> str:
    return cell_text(cell) or ""
