"""Tables as bytes: JSON, CSV, Parquet, an Arrow stream, piece by piece as the table is made.

pydantic writes JSON an order of magnitude faster than `json` does.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import to_json

from mixture.api.answers.formats import Format
from mixture.spreadsheet import APOSTROPHE, COMPUTED, NUMBER, defused

if TYPE_CHECKING:
    from typing_extensions import Buffer

JSON_ROWS = 1 << 12
"""Rows of a piece of JSON: while it is written, the interpreter is not let go (2 ms)."""
LAST_PAGE = b'"next":null,"next_url":null'


def table_pieces(
    form: Format, schema: pa.Schema, chunks: Iterable[pa.RecordBatch], *, ends: bytes = LAST_PAGE
) -> Iterator[bytes]:
    """A table as bytes: a piece for each chunk, more in JSON, with what stands before and behind them.

    ends: what a list in JSON says besides its items
    """
    sink = _Sink()
    writer = _writer(form, sink, schema, ends)
    for chunk in chunks:
        size = JSON_ROWS if form is Format.JSON else max(1, chunk.num_rows)
        for start in range(0, chunk.num_rows, size):
            writer.write_batch(chunk.slice(start, size))
            yield sink.taken()
    writer.close()
    yield sink.taken()


def table_bytes(form: Format, table: pa.Table, *, ends: bytes = LAST_PAGE) -> bytes:
    """A table as a file of a format, whole."""
    return b"".join(table_pieces(form, table.schema, table.to_batches(), ends=ends))


class _Writer(Protocol):
    """What writes a table to a sink, record batch by record batch."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def _writer(form: Format, sink: _Sink, schema: pa.Schema, ends: bytes) -> _Writer:
    made: _Writer
    match form:
        case Format.JSON:
            made = _JsonWriter(sink, schema, ends)
        case Format.CSV:
            made = _CsvWriter(sink, schema)
        case Format.PARQUET:
            import pyarrow.parquet as pq

            made = pq.ParquetWriter(sink, schema, compression="zstd")
        case Format.ARROW:
            made = pa.ipc.new_stream(sink, schema)
    return made


class _Sink(io.RawIOBase):
    """A file to write to; what was written is taken out of it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Buffer) -> int:
        self._parts.append(bytes(data))
        self._written += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _plain(column: pa.Array[Any]) -> pa.Array[Any]:
    """The column with its dictionary written out."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


class _JsonWriter:
    """`{items, next, next_url}`, as all lists are. Integers and decimals are exact, what is not a number is null."""

    def __init__(self, sink: _Sink, schema: pa.Schema, ends: bytes) -> None:
        self._sink, self._ends, self._between = sink, ends, b'{"items":['
        self._has_decimals = any(map(pa.types.is_decimal, schema.types))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        names = batch.schema.names
        columns = [_plain(column).to_pylist() for column in batch.columns]
        if self._has_decimals:  # pydantic, seven times as fast, writes them as text
            rows = _rows_with_decimals(names, columns)
        else:
            rows = to_json(
                [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)], inf_nan_mode="null"
            )[1:-1]
        if rows:
            self._sink.write(self._between + rows)
            self._between = b","

    def close(self) -> None:
        begin = self._between if self._between != b"," else b""
        self._sink.write(begin + b"]," + self._ends + b"}")


def _rows_with_decimals(names: list[str], columns: list[list[object]]) -> bytes:
    keys = [json.dumps(name, ensure_ascii=False) for name in names]
    cells = [map(_json_cell, column) for column in columns]
    rows = (",".join(f"{key}:{cell}" for key, cell in zip(keys, row, strict=True)) for row in zip(*cells, strict=True))
    return ",".join(f"{{{row}}}" for row in rows).encode()


def _json_cell(cell: object) -> str:
    if isinstance(cell, Decimal):
        return f"{cell:f}" if cell.is_finite() else "null"
    return to_json(cell, inf_nan_mode="null").decode()


def _defused(column: pa.Array[Any]) -> pa.Array[Any]:
    """A column whose texts no spreadsheet computes (`mixture.spreadsheet`); other columns are as they are."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    is_number = pc.match_substring_regex(column, NUMBER)
    is_computed = pc.and_(pc.match_substring_regex(column, COMPUTED), pc.invert(is_number))
    if not pc.any(is_computed).as_py():
        return column
    marked = pc.binary_join_element_wise(pa.scalar(APOSTROPHE, column.type), column, pa.scalar("", column.type))
    return pc.if_else(is_computed, marked, column)


class _CsvWriter:
    """CSV for spreadsheets as well as for programs. It has no dictionaries."""

    def __init__(self, sink: _Sink, schema: pa.Schema) -> None:
        from pyarrow import csv

        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
        names = map(defused, schema.names)
        self._schema = pa.schema(list(zip(names, kinds, strict=True)))
        self._writer = csv.CSVWriter(sink, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = [_defused(_plain(column)) for column in batch.columns]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()
