"""Parquet tables: plain columns as Python values, floats as the numbers that their shortest decimals say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixture.catalog.table import Cell, Table, check_header, check_num_rows
from mixture.errors import CatalogError, Place
from mixture.units import quote


def read_parquet(path: Path) -> Table:
    """The table in a Parquet file. Raises CatalogError."""
    try:
        with pq.ParquetFile(path) as file:
            check_header(path, list(file.schema_arrow.names))
            check_num_rows(path, file.metadata.num_rows)
            data = file.read()
            data.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CatalogError(
            f"not a whole Parquet file: {reason[:200]}", code="bad-parquet", place=Place(file=str(path))
        ) from error
    return Table(path, {name: _read_cells(path, name, data.column(name)) for name in data.column_names})


def _read_cells(path: Path, name: str, column: pa.ChunkedArray[Any]) -> list[Cell]:
    try:
        return _cells(path, name, column)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        message = f"column {quote(name)} holds {column.type} that can not be read: {str(error).splitlines()[0][:200]}"
        raise CatalogError(message, code="bad-cell", place=Place(file=str(path)), column=name) from error


def _cells(path: Path, name: str, column: pa.ChunkedArray[Any]) -> list[Cell]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(path, name, column.cast(kind.value_type))
    if pa.types.is_floating(kind):
        cells = [None if value is None or math.isnan(value) else value for value in column.to_pylist()]
        narrow = {16: np.float16, 32: np.float32}.get(kind.bit_width)
        if narrow is not None:
            # 0.1 in 32 bits is said by "0.1", not by the longer decimal that it becomes in 64.
            cells = [None if value is None else float(str(narrow(value))) for value in cells]
        if any(value is not None and math.isinf(value) for value in cells):
            raise CatalogError(f"column {quote(name)} holds infinity", code="bad-cell", place=Place(file=str(path)))
        return cells
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _cells(path, name, column.cast(pa.string()))
    plain = (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_null(kind)
    )
    if not plain:
        raise CatalogError(
            f"column {quote(name)} holds {kind}",
            code="bad-cell",
            place=Place(file=str(path)),
            hint="text, numbers and booleans are right in a table of domains",
        )
    return list(column.to_pylist())
