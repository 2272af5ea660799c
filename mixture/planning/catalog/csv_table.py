"""CSV tables (RFC 4180): cells exactly as written, and numbers only where a whole column is of them."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from mixture.errors import CatalogError, Place
from mixture.planning.catalog.table import CELL_HINT, Cell, Table, check_header, check_num_rows

_PLAIN_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,400}")
_NUMBER = re.compile(
    r"(?!-0$)-?(0|[1-9][0-9]{0,60})((\.[0-9]{1,60})?([eE][-+][0-9]{1,3})?|\.[0-9]{1,60}[eE][0-9]{1,3})"
)
_MOST_DIGITS = 38  # of a database's decimals


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
        if "field limit" in str(error):  # of the csv module: characters, and more of them than a cell may have bytes
            message = f"a cell of more than {csv.field_size_limit():,} characters"
            raise CatalogError(message, code="table-too-large", place=place, hint=CELL_HINT) from error
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
    texts: dict[str, list[Cell]] = {name: [row[index] or None for row in rows] for index, name in enumerate(header)}
    columns = {name: typed_cells([row[index] for row in rows]) for index, name in enumerate(header)}
    written = {name: texts[name] for name, cells in columns.items() if {float, Decimal} & set(map(type, cells))}
    return Table(path, columns, tuple(lines), written)


def typed_cells(cells: Sequence[str | None]) -> list[Cell]:
    """Numbers where every cell that holds something is one, else the text as written; an empty cell is None.

    All are integers, else all are floats, where each is the shortest decimal that reads back to its float, else all are
    decimals. An exponent has a sign, or a point before it, as programs write floats: `1e-05`, `1.5E+20`. `08` and `1e3`
    are labels: a column that has one is of text. So is one that has a number in two spellings, as versions `1.1` and
    `1.10` are, and one of which some number needs more than 38 digits.
    """
    texts = [cell or None for cell in cells]
    held = [text for text in texts if text is not None]
    if held and all(map(is_plain_decimal, held)):
        return [None if text is None else int(text) for text in texts]
    if not held or not all(map(_NUMBER.fullmatch, held)):
        return list(texts)
    if len(set(map(Decimal, held))) < len(set(held)):
        return list(texts)
    if all(map(_is_shortest, held)):
        return [None if text is None else float(text) for text in texts]
    decimals = [None if text is None else Decimal(text) for text in texts]
    return list(decimals if _fit(decimals) else texts)


def _fit(numbers: Sequence[Decimal | None]) -> bool:
    """Whether one type of decimals holds all of them."""
    exponents = [(number.adjusted(), number.as_tuple().exponent) for number in numbers if number is not None]
    places = max(max(0, -int(exponent)) for _, exponent in exponents)
    return max(0, *(adjusted + 1 for adjusted, _ in exponents)) + places <= _MOST_DIGITS


def _is_shortest(text: str) -> bool:
    number = float(text)
    return math.isfinite(number) and Fraction(repr(number)) == Fraction(text)
