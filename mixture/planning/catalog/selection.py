"""Which rows of a catalog conditions are true for."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mixture.errors import CatalogError, Place
from mixture.planning.catalog.allowed import Column, Kind, write_condition
from mixture.planning.catalog.condition import parse_condition
from mixture.planning.catalog.csv_table import typed_cells
from mixture.planning.catalog.sandbox import interrupted, sealed_duckdb
from mixture.units import quote

PIECE_BYTES = 2**16
"""Of text that is compared at once. The slowest pattern that is allowed takes a second for it."""
_LIKE_A_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")


def select_rows(
    table: pa.Table, conditions: Mapping[str, Place | None], *, seconds: float | None = None
) -> dict[str, tuple[int, ...]]:
    """The indices, ascending, of the rows for which each condition is true. Raises CatalogError at its place.

    seconds: how long they may take together; `condition-too-slow` where they take longer
    """
    import duckdb

    columns = {name: _column(table, index) for index, name in enumerate(table.column_names)}
    # Columns get names of ours: a user's could be any text, and DuckDB's do not tell `A` from `a`.
    cells = _in_pieces(pa.table([*table.columns, pa.array(range(table.num_rows))], [*_names(table), "row"]))
    selected: dict[str, tuple[int, ...]] = {}
    end = None if seconds is None else time.monotonic() + seconds
    with sealed_duckdb() as connection:
        connection.register("cells", cells)
        with interrupted(connection, seconds):
            for where, place in conditions.items():
                try:
                    if end is not None and time.monotonic() >= end:
                        raise duckdb.InterruptException  # an interrupt between two conditions is lost
                    tree = parse_condition(connection, where, place=place)
                    condition = write_condition(tree, columns, place=place)
                    rows = connection.execute(f"SELECT row FROM cells WHERE {condition} ORDER BY row").fetchall()
                except duckdb.InterruptException as error:
                    message = f"{_which(conditions)} more than {seconds:g} seconds, which is the limit"
                    hint = "fewer conditions, fewer comparisons with patterns (like), or shorter ones"
                    raise CatalogError(
                        message, code="condition-too-slow", place=place, hint=hint, where=where, seconds=seconds
                    ) from error
                except duckdb.Error as error:
                    message = f"the condition cannot be computed: {str(error).splitlines()[0]}"
                    raise CatalogError(message, code="condition-fails", place=place, where=where) from error
                selected[where] = tuple(row for (row,) in rows)
    return selected


def _which(conditions: Mapping[str, Place | None]) -> str:
    return "the condition takes" if len(conditions) == 1 else f"{len(conditions):,} conditions take together"


def _in_pieces(table: pa.Table) -> pa.Table:
    """The same table in pieces of few texts: between two of them, and only there, the database can be interrupted."""
    size = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        if pa.types.is_string(column.type):
            size += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    bounds = [0, *(1 + np.flatnonzero(np.diff(np.cumsum(size) // PIECE_BYTES))).tolist(), table.num_rows]
    return pa.concat_tables([table.slice(first, end - first) for first, end in pairwise(bounds)])


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
    return f"{quote(odd)} makes it text: in CSV a column of numbers has only plain decimals and such as 1e-05"
