"""A table as it was read: columns of plain values, and where each row stands in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from mixture.errors import CatalogError, Place, nearest
from mixture.names import odd_character
from mixture.units import quote

Cell = None | bool | int | float | Decimal | str
"""One value. None is a value that is not there: an empty cell of a CSV file, null, or not a number."""

MOST_ROWS = 1_000_000
MOST_COLUMNS = 1_000
MOST_BYTES = 2**28
MOST_TEXT_BYTES = 2**26
"""Of the cells of a Parquet table, whose file may be much smaller than what it says."""
MOST_CELL_BYTES = 2**16
"""Of a text, in every format. It also bounds what a condition does before it can be interrupted."""
CELL_HINT = f"a cell has up to {MOST_CELL_BYTES:,} bytes"


@dataclass(frozen=True)
class Table:
    """Columns by name, in the file's order, all of one length; the line of each row where the file has lines.

    written: the texts of columns of CSV whose numbers are not integers: the digest is of what is written
    """

    path: Path
    columns: dict[str, list[Cell]]
    lines: tuple[int, ...] | None = None
    written: Mapping[str, list[Cell]] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def row(self, row: int) -> str:
        """How a message names a row: by its line, or counted from 1."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def place(self, row: int) -> Place:
        """Where a row stands."""
        line = None if self.lines is None else self.lines[row]
        return Place(file=str(self.path), line=line, path=self.row(row))

    def column(self, name: str, *, place: Place | None = None) -> list[Cell]:
        """The values of a column. Raises CatalogError `missing-column`, at the place that asks for it."""
        if name not in self.columns:
            known = ", ".join(quote(column) for column in list(self.columns)[:12])
            raise CatalogError(
                f"{self.path.name} has no column {quote(name)}",
                code="missing-column",
                place=place or Place(file=str(self.path), line=None if self.lines is None else 1),
                hint=nearest(name, self.columns) or f"its columns: {known}",
                column=name,
                columns=tuple(self.columns),
            )
        return self.columns[name]

    def error(self, message: str, *, row: int, code: str, hint: str | None = None, **facts: object) -> CatalogError:
        """An error about one row."""
        text = message if self.lines is not None else f"{self.row(row)}: {message}"
        return CatalogError(text, code=code, place=self.place(row), hint=hint, **facts)


def check_cells(table: Table) -> None:
    """Raise CatalogError, `table-too-large`, at a text that is longer than one of a table of domains."""
    for name, cells in table.columns.items():
        for row, cell in enumerate(cells):
            if isinstance(cell, str) and len(cell) * 4 > MOST_CELL_BYTES:
                size = len(cell.encode("utf-8", "replace"))
                if size > MOST_CELL_BYTES:
                    message = f"column {quote(name)} holds a text of {size:,} bytes"
                    raise table.error(message, row=row, code="table-too-large", hint=CELL_HINT, column=name)


def check_header(path: Path, names: list[str]) -> None:
    """Columns need names of visible characters, each its own. Raises CatalogError."""
    place = Place(file=str(path), line=1)
    if len(names) > MOST_COLUMNS:
        raise CatalogError(
            f"{len(names):,} columns", code="table-too-large", place=place, hint=f"up to {MOST_COLUMNS:,}"
        )
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if not name:
            hint = "a data frame's index is left out with index=False" if number == 1 else None
            raise CatalogError(f"column {number} has no name", code="nameless-column", place=place, hint=hint)
        if name in seen:
            raise CatalogError(
                f"two columns are named {quote(name)}", code="duplicate-column", place=place, column=name
            )
        odd = odd_character(name)
        if odd is not None:
            message = f"column {number}, {quote(name)}, holds the control character {quote(odd)} in its name"
            hint = "names are of visible characters"
            raise CatalogError(message, code="control-character", place=place, hint=hint, column=name)
        seen.add(name)


def check_num_rows(path: Path, num_rows: int) -> None:
    """A table has rows, and not more than a table of domains can have. Raises CatalogError."""
    place = Place(file=str(path))
    if num_rows == 0:
        raise CatalogError("the table has no rows", code="no-rows", place=place, hint="one row a domain")
    if num_rows > MOST_ROWS:
        hint = f"a table of domains has up to {MOST_ROWS:,}"
        raise CatalogError(f"{num_rows:,} rows", code="table-too-large", place=place, hint=hint)
