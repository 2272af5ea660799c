"""Single cells as exact numbers, as names and as text."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from mixture.errors import CatalogError, UnitError
from mixture.names import is_blank, odd_character
from mixture.planning.catalog.table import Cell, Table
from mixture.units import LARGEST_COUNT, Unit, format_exact, parse_quantity, quote, whole_number

LARGEST_EXACT_DOUBLE = 2**53
"""Above, neighbouring integers are the same double, so a double does not say which one is meant."""


def cell_text(cell: Cell) -> str | None:
    """What a cell says, whatever type its file gives it: a number in plain decimals, `true`, `false`, or the text."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return format_exact(Fraction(str(cell)))


def number(table: Table, row: int, column: str, *, unit: Unit | None) -> Fraction:
    """The number in a cell, at least 0, exact: text as written, a float by its shortest decimal, 30% as 0.3.

    unit is what a number without one counts; None for one that has none. Raises CatalogError.
    """
    cell = table.columns[column][row]
    if cell is None or isinstance(cell, bool):
        found = "no value" if cell is None else f"{cell_text(cell)}, which is not a number"
        raise table.error(f"column {quote(column)} has {found}", row=row, code="not-a-number", column=column)
    written = table.written.get(column)
    text = str(written[row]) if written else f"{cell:f}" if isinstance(cell, Decimal) else str(cell)
    try:
        return parse_quantity(text, units=(unit,) if unit else (), bare=unit or Unit.TOKENS).value
    except UnitError as error:
        raise _at(table, row, column, error) from error


def count(table: Table, row: int, column: str, *, unit: Unit | None) -> int:
    """A whole number from 0 up to 2^63 - 1. Raises CatalogError."""
    value = number(table, row, column, unit=unit)
    cell = table.columns[column][row]
    if isinstance(cell, float) and column not in table.written and value > LARGEST_EXACT_DOUBLE:
        message = f"column {quote(column)}: {cell!r} is a float above 2^53, which does not say one exact integer"
        raise table.error(message, row=row, code="not-whole", hint="write it as an integer", column=column)
    try:
        return whole_number(str(cell), value, least=0, most=LARGEST_COUNT)
    except UnitError as error:
        raise _at(table, row, column, error) from error


def _at(table: Table, row: int, column: str, error: UnitError) -> CatalogError:
    """An error about a number, with the cell that holds it."""
    message = f"column {quote(column)}: {error.message}"
    return table.error(message, row=row, code=error.code, hint=error.hint, column=column)


def domain_name(table: Table, row: int, column: str) -> str:
    """A domain's name as written. Raises CatalogError where it is empty, no text, or holds what is not seen."""
    cell = table.written.get(column, table.columns[column])[row]
    if isinstance(cell, Decimal) and cell.is_finite() and Fraction(cell).denominator == 1:
        cell = int(cell)
    whole = isinstance(cell, int) and not isinstance(cell, bool)
    if cell is None or not (isinstance(cell, str) or whole) or is_blank(str(cell)):
        found = "is empty" if cell is None or is_blank(str(cell)) else f"is {cell_text(cell)}, not a text"
        raise table.error(f"the name in column {quote(column)} {found}", row=row, code="name-invalid", column=column)
    text = str(cell)
    odd = odd_character(text)
    if odd is not None:
        message = f"the name {quote(text)} holds the control character {quote(odd)}"
        raise table.error(message, row=row, code="control-character", hint="names are of visible characters", name=text)
    return text


def domain_names(table: Table, column: str) -> dict[str, int]:
    """The row of each domain, in order of name (code points). Raises CatalogError where one stands twice."""
    rows: dict[str, int] = {}
    for row in range(table.num_rows):
        text = domain_name(table, row, column)
        if text in rows:
            message = f"the domain {quote(text)} stands here and in {table.row(rows[text])}"
            places = (table.place(rows[text]), table.place(row))
            raise table.error(message, row=row, code="duplicate-domain", name=text, places=places)
        rows[text] = row
    return dict(sorted(rows.items()))
