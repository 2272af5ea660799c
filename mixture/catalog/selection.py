"""Which rows of a catalog a condition is true for."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial

import pyarrow as pa

from mixture.catalog.allowed import Column, Kind, write_condition
from mixture.catalog.condition import parse_condition
from mixture.catalog.csv_table import typed_cells
from mixture.catalog.sealed import sealed_duckdb
from mixture.errors import CatalogError, Place
from mixture.units import quote

_LIKE_A_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")


def select_rows(
    table: pa.Table, where: str, *, place: Place | None = None, seconds: float | None = None
) -> tuple[int, ...]:
    """The indices, ascending, of the rows for which `where` is true. Raises CatalogError at this place.

    seconds: how long it may take the database; `condition-too-slow` where it takes longer
    """
    import duckdb

    columns = {name: _column(table, index) for index, name in enumerate(table.column_names)}
    # Columns get names of ours: a user's could be any text, and DuckDB's do not tell `A` from `a`.
    cells = pa.table([*table.columns, pa.array(range(table.num_rows))], [*_names(table), "row"])
    with sealed_duckdb(seconds=seconds) as connection:
        try:
            tree = parse_condition(connection, where, place=place)
            condition = write_condition(tree, columns, place=place)
            connection.register("cells", cells)
            rows = connection.execute(f"SELECT row FROM cells WHERE {condition} ORDER BY row").fetchall()
        except duckdb.InterruptException as error:
            message = f"the condition takes more than {seconds:g} seconds, which is as long as one may take"
            hint = "fewer comparisons with patterns (like), or shorter ones"
            raise CatalogError(
                message, code="condition-too-slow", place=place, hint=hint, where=where, seconds=seconds
            ) from error
        except duckdb.Error as error:
            message = f"the condition can not be worked out: {str(error).splitlines()[0]}"
            raise CatalogError(message, code="condition-fails", place=place, where=where) from error
    return tuple(row for (row,) in rows)


def _names(table: pa.Table) -> list[str]:
    return [f"c{index}" for index in range(table.num_columns)]


def _column(table: pa.Table, index: int) -> Column:
    kind = table.schema.field(index).type
    sql = _names(table)[index]
    if pa.types.is_integer(kind):
        return Column(f"{sql}::HUGEINT", Kind.NUMBER)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Column(sql, Kind.NUMBER)
    if pa.types.is_boolean(kind):
        return Column(sql, Kind.BOOLEAN)
    if pa.types.is_null(kind):
        return Column("NULL", Kind.NULL)
    return Column(sql, Kind.TEXT, partial(_why_text, table, index))


def _why_text(table: pa.Table, index: int) -> str | None:
    """Why a column with numbers in it is one of text, said where someone takes it for one of numbers."""
    texts = [text for text in table.column(index).to_pylist() if text is not None]
    if not any(map(_LIKE_A_NUMBER.fullmatch, texts)):
        return None
    odd = next((text for text in texts if isinstance(typed_cells([text])[0], str)), None)
    if odd is None:
        spellings: dict[Decimal, str] = {}
        for text in texts:
            other = spellings.setdefault(Decimal(text), text)
            if other != text:
                return f"{quote(other)} and {quote(text)} are one number in two spellings, which CSV keeps as text"
        return "its numbers are texts: write them in single quotes"
    return f"{quote(odd)} makes it text: only numbers in plain digits make a column of numbers in CSV"
