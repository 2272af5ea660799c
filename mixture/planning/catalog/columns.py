"""Columns with one type each, for conditions: integers, other numbers, text or booleans."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from mixture.errors import CatalogError, Place
from mixture.planning.catalog.cells import LARGEST_EXACT_DOUBLE
from mixture.planning.catalog.table import Cell, Table
from mixture.units import LARGEST_COUNT, format_exact, quote

_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
_MOST_DIGITS = 38


def arrow_column(table: Table, name: str, rows: Sequence[int]) -> pa.Array[Any]:
    """A column's cells in this order of rows, as int64, double, decimal128, string or bool; null where all are None.

    Raises CatalogError where its cells are of several types, or a number does not fit.
    """
    cells = table.columns[name]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        _check_integers(table, name, most=LARGEST_EXACT_DOUBLE, why="is not exact as a float, which others are")
        cells = [None if cell is None else float(cell) for cell in cells]
        kinds = {float}
    if kinds == {Decimal}:
        # Zeros at the end, which a wide column's scale adds, need no digits.
        cells = [Decimal(format_exact(Fraction(cell))) if isinstance(cell, Decimal) else None for cell in cells]
    if len(kinds) > 1:
        raise _mixed(table, name)
    if kinds == {int}:
        _check_integers(table, name, most=LARGEST_COUNT, why="is above 2^63 - 1")
    try:
        kind = next(iter(kinds)) if kinds else None
        column = pa.array([cells[row] for row in rows], pa.null() if kind is None else _TYPES.get(kind))
    except (pa.ArrowException, UnicodeEncodeError) as error:
        message = f"column {quote(name)}: {error}"
        raise CatalogError(message, code="bad-cell", place=Place(file=str(table.path)), column=name) from error
    if pa.types.is_decimal256(column.type):
        # Wider than any database's decimals: a condition could not be worked out on it.
        message = f"column {quote(name)} needs more than {_MOST_DIGITS} digits to hold its decimals"
        place = Place(file=str(table.path))
        raise CatalogError(message, code="bad-cell", place=place, hint="round them", column=name)
    return column


def _check_integers(table: Table, name: str, *, most: int, why: str) -> None:
    for row, cell in enumerate(table.columns[name]):
        if isinstance(cell, int) and abs(cell) > most:
            message = f"column {quote(name)}: {cell} {why}"
            hint = "a number that is only a label needs a letter"
            raise table.error(message, row=row, code="integer-too-large", hint=hint, column=name)


def _mixed(table: Table, name: str) -> CatalogError:
    """The error for a column of several types, at the first cell that differs from the first."""
    present = [(row, cell) for row, cell in enumerate(table.columns[name]) if cell is not None]
    first = present[0][1]
    row, cell = next((row, cell) for row, cell in present if type(cell) is not type(first))
    message = f"column {quote(name)} holds {_kind(cell)} here and {_kind(first)} before"
    return table.error(message, row=row, code="mixed-column", hint="one type a column", column=name)


def _kind(cell: Cell) -> str:
    return {bool: "a boolean", str: "text"}.get(type(cell), "a number")
