"""Parquet tables: plain columns as Python values, floats as the numbers that their shortest decimals say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mixture.errors import CatalogError, Place
from mixture.planning.catalog.table import (
    CELL_HINT,
    MOST_CELL_BYTES,
    MOST_TEXT_BYTES,
    Cell,
    Table,
    check_header,
    check_num_rows,
)
from mixture.units import quote

BATCH_ROWS = 8192
"""Rows that are decoded at a time: a small file may say much, and what is too much is seen before the rest is read."""
BATCH_BYTES = 2**28
"""Of text, where it is not read as dictionaries, in which a text that many rows have is held once: none is longer than
its row group, so that few enough rows fit."""
_NO_DICTIONARY = "Not yet implemented: DecodeArrow of DictAccumulator"
"""What pyarrow says of texts that are kept as what differs from the one before."""


def read_parquet(path: Path, data: bytes) -> Table:
    """The table in the bytes of a Parquet file. Raises CatalogError."""
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            check_header(path, list(file.schema_arrow.names))
            check_num_rows(path, file.metadata.num_rows)
            for field in file.schema_arrow:
                _check_type(path, field)
            # Not what column chunks say of themselves: pyarrow ends the process where that is damaged.
            sizes = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
            _check_size(path, sum(sizes))
            texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        try:
            with pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts) as file:
                return Table(path, _read_columns(path, file, BATCH_ROWS))
        except OSError as error:
            if _NO_DICTIONARY not in str(error):
                raise
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            return Table(path, _read_columns(path, file, max(1, min(BATCH_ROWS, BATCH_BYTES // max([1, *sizes])))))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CatalogError(
            f"not a whole Parquet file: {reason[:200]}", code="bad-parquet", place=Place(file=str(path))
        ) from error


def _read_columns(path: Path, file: pq.ParquetFile, rows: int) -> dict[str, list[Cell]]:
    columns: dict[str, list[Cell]] = {name: [] for name in file.schema_arrow.names}
    size = 0
    for batch in file.iter_batches(rows):
        batch.validate(full=True)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            size += _text_bytes(path, name, column)
            _check_size(path, size)
            columns[name] += _read_cells(path, name, column)
    return columns


def _check_size(path: Path, size: int) -> None:
    if size > MOST_TEXT_BYTES:
        raise CatalogError(
            "its cells take more room than those of a table of domains",
            code="table-too-large",
            place=Place(file=str(path)),
            hint=f"up to {MOST_TEXT_BYTES:,} bytes",
        )


def _text_bytes(path: Path, name: str, column: pa.Array[Any]) -> int:
    """The bytes of a column's text, each cell counted."""
    if _is_text(column.type):
        lengths = pc.binary_length(column.cast(pa.large_string()))
    elif pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
    else:
        return 0
    longest = pc.max(lengths).as_py() or 0
    if longest > MOST_CELL_BYTES:
        raise CatalogError(
            f"column {quote(name)} holds a text of {longest:,} bytes",
            code="table-too-large",
            place=Place(file=str(path)),
            hint=CELL_HINT,
            column=name,
        )
    return int(pc.sum(lengths).as_py() or 0)


def _read_cells(path: Path, name: str, column: pa.Array[Any]) -> list[Cell]:
    try:
        return _cells(path, name, column)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        message = f"column {quote(name)} holds {column.type} that can not be read: {str(error).splitlines()[0][:200]}"
        raise CatalogError(message, code="bad-cell", place=Place(file=str(path)), column=name) from error


def _cells(path: Path, name: str, column: pa.Array[Any]) -> list[Cell]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        # A dictionary may be a whole file's: only the values that these rows have become Python's, each once.
        used = pc.unique(column.indices)
        values = dict(zip(used.to_pylist(), _cells(path, name, column.dictionary.take(used)), strict=True))
        return [values[index] for index in column.indices.to_pylist()]
    if pa.types.is_floating(kind):
        cells: list[float | None] = [
            None if value is None or math.isnan(value) else value for value in column.to_pylist()
        ]
        narrow = {16: np.float16, 32: np.float32}.get(kind.bit_width)
        if narrow is not None:
            # 0.1 in 32 bits is said by "0.1", not by the longer decimal that it becomes in 64.
            cells = [None if value is None else float(str(narrow(value))) for value in cells]
        if any(value is not None and math.isinf(value) for value in cells):
            raise CatalogError(f"column {quote(name)} holds infinity", code="bad-cell", place=Place(file=str(path)))
        return list(cells)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _cells(path, name, column.cast(pa.string()))
    return list(column.to_pylist())


def _check_type(path: Path, field: pa.Field[Any]) -> None:
    """Refuse a column of what no table of domains holds, before it is read."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    plain = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
        or pa.types.is_null(kind)
        or _is_text(kind)
    )
    if not plain:
        raise CatalogError(
            f"column {quote(field.name)} holds {kind}",
            code="bad-cell",
            place=Place(file=str(path)),
            hint="text, numbers and booleans are right in a table of domains",
        )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
