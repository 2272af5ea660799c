"""CSV tables (RFC 4180): cells exactly as written, and integers only where a whole column is of them."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from mixture.catalog.table import Cell, Table, check_header, check_num_rows
from mixture.errors import CatalogError, Place

_PLAIN_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,400}")


def is_plain_decimal(text: str) -> bool:
    """True for an integer in the one way to write it: `8`, `-3`; not `08`, `+8`, `-0` or `8.0`."""
    return _PLAIN_DECIMAL.fullmatch(text) is not None


def read_csv(path: Path, text: str) -> Table:
    """The table in a CSV text. Empty lines are skipped. Raises CatalogError, with the line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    first_line = 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(first_line)
            first_line = reader.line_num + 1
    except csv.Error as error:
        place = Place(file=str(path), line=first_line)
        hint = "a quote that is not closed, or not doubled inside a cell?"
        raise CatalogError(f"not a CSV row: {error}", code="bad-csv", place=place, hint=hint) from error
    if not rows:
        raise CatalogError("the table has no header", code="no-rows", place=Place(file=str(path)))
    header = rows.pop(0)
    del lines[0]
    check_header(path, header)
    check_num_rows(path, len(rows))
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise CatalogError(
                f"{len(row)} cells, but the header has {len(header)}",
                code="ragged-row",
                place=Place(file=str(path), line=line),
                hint="a cell with a comma inside stands in quotes" if len(row) > len(header) else "is the file whole?",
            )
    columns = {name: _typed([row[index] for row in rows]) for index, name in enumerate(header)}
    return Table(path, columns, tuple(lines))


def _typed(cells: list[str]) -> list[Cell]:
    """Integers where every cell that holds something is a plain decimal, else the text as written."""
    if any(cells) and all(is_plain_decimal(cell) for cell in cells if cell):
        return [int(cell) if cell else None for cell in cells]
    return [cell or None for cell in cells]
