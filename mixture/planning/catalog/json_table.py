"""JSON tables: an array of objects, or one object a line. Integers stay exact."""

from __future__ import annotations

import math
from pathlib import Path

from mixture.errors import CatalogError, Place
from mixture.planning.catalog.json_value import parse_value
from mixture.planning.catalog.table import Cell, Table, check_header, check_num_rows
from mixture.units import quote


def read_json(path: Path, text: str) -> Table:
    """The table in a JSON array of objects. Raises CatalogError, with the line or the row."""
    rows = parse_value(path, text)
    if not isinstance(rows, list):
        hint = "[{…}, {…}]; a file with one object a line is named .jsonl"
        raise CatalogError("not an array of objects", code="bad-json", place=Place(file=str(path), line=1), hint=hint)
    return _table(path, rows, None)


def read_json_lines(path: Path, text: str) -> Table:
    """The table in a file with one JSON object a line. Empty lines are skipped. Raises CatalogError, with the line."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    rows = [parse_value(path, line, line=number) for number, line in lines]
    return _table(path, rows, tuple(number for number, _ in lines))


def _table(path: Path, rows: list[object], lines: tuple[int, ...] | None) -> Table:
    check_num_rows(path, len(rows))
    names: dict[str, None] = {}
    places = Table(path, {}, lines)
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise places.error("not an object", row=index, code="bad-json", hint='{"domain": …, "tokens": …}')
        names.update(dict.fromkeys(row))
    check_header(path, list(names))
    columns: dict[str, list[Cell]] = {name: [] for name in names}
    for index, row in enumerate(rows):
        assert isinstance(row, dict)
        for name, cells in columns.items():
            value = row.get(name)
            if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
                found = "a number out of range" if isinstance(value, float) else f"a JSON {type(value).__name__}"
                message = f"column {quote(name)} holds {found}"
                raise places.error(message, row=index, code="bad-cell", hint="text, a number, true, false or null")
            cells.append(value)
    return Table(path, columns, lines)
