"""Documents out of tables: Parquet, and Arrow files and streams."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixture.data.layout import arrow_file
from mixture.data.texts.arrow_values import TEXTS, as_bytes, class_names, field_type, field_values, python_values
from mixture.data.texts.batch import Batch, Columns, Piece
from mixture.data.texts.matching import SourceFile
from mixture.errors import IngestError, Place, nearest
from mixture.units import quote

_TOGETHER = 1 << 22  # characters of text that are handed on together
_PARQUET_ROWS = 4  # read at once: 3 us a row more than 256, but a file of 4 KB can hold rows of 4 MB
_ROWS_TOGETHER = 256
_ARROW_PIECE = 1 << 24
_INDICES = 1 << 20  # read at once
_FILE_MAGIC = b"ARROW1"
_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream


def split_parquet(file: SourceFile, columns: Columns) -> list[Piece]:
    """Its row groups. Errors: IngestError `missing-column`, `column-type`, `attribute-nested`."""
    with arrow_file(file.path) as source, pq.ParquetFile(source) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
        if metadata.num_rows == 0:
            return []
        _check_schema(file, columns, schema, lambda name: _has_values(parquet.iter_batches(columns=[name]), name))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    ends = _shares(file.size, [group.total_byte_size for group in groups])
    rows = accumulate((group.num_rows for group in groups), initial=0)
    return [Piece(file, n, n + 1, size, first) for n, (size, first) in enumerate(zip(ends, rows, strict=False))]


def read_parquet(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of a row group."""
    with arrow_file(piece.file.path) as source, pq.ParquetFile(source) as parquet:
        groups = range(piece.start, piece.stop)
        rows = max(1, sum(parquet.metadata.row_group(group).num_rows for group in groups))
        average = sum(parquet.metadata.row_group(group).total_byte_size for group in groups) // rows
        together = max(1, min(_PARQUET_ROWS, _TOGETHER // max(1, average)))
        schema = parquet.schema_arrow
        names = [name for name in columns.names if field_type(schema, name) is not None]
        tables = parquet.iter_batches(together, row_groups=groups, columns=names, use_threads=False)
        yield from _documents(piece, columns, tables, rows, schema)


def split_arrow(file: SourceFile, columns: Columns) -> list[Piece]:
    """Its record batches, some together. Errors: as `split_parquet`."""
    arrow = _ArrowFile(file.path)
    _check_schema(file, columns, arrow.schema, lambda name: _has_values(arrow.batches(), name))
    sizes = [(batch.num_rows, batch.get_total_buffer_size()) for batch in arrow.batches()]
    pieces: list[Piece] = []
    shares = _shares(file.size, [size for _, size in sizes])
    start = rows = first = size = 0
    for number, ((count, _), share) in enumerate(zip(sizes, shares, strict=True)):
        rows, size = rows + count, size + share
        if size >= _ARROW_PIECE or number == len(sizes) - 1:
            if rows > first:
                pieces.append(Piece(file, start, number + 1, size, first))
            start, first, size = number + 1, rows, 0
    return pieces


def read_arrow(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of record batches. They are mapped: memory is that of a few rows, or packed, of a record batch."""
    arrow = _ArrowFile(piece.file.path)
    count = _row_count(piece)
    tables = (
        batch.slice(first, _PARQUET_ROWS)
        for batch in (_checked(one, _roots(arrow.schema, columns)) for one in arrow.batches(piece.start, piece.stop))
        for first in range(0, batch.num_rows, _PARQUET_ROWS)
    )
    for some in _documents(piece, columns, tables, count, arrow.schema, _times(piece, count)):
        yield some
        arrow.let_go()


def _documents(
    piece: Piece,
    columns: Columns,
    tables: Iterator[pa.RecordBatch],
    rows: int,
    schema: pa.Schema,
    times: np.ndarray[Any, np.dtype[np.int64]] | None = None,
) -> Iterator[Batch]:
    """times: [rows], how often each row is read; None: once."""
    done = 0
    batch = Batch(seen=set(columns.names))
    names, folder = class_names(schema), piece.file.folder_values
    own = set(schema.names)  # looked up once: for every few rows it takes as long as reading them
    in_file = {name for name in columns.names if field_type(schema, name) is not None}
    for table in tables:
        values = [
            _values(table.column(name) if name in own else field_values(table, name), name, piece.file, names.get(name))
            if name in in_file
            else [folder[name]] * table.num_rows
            for name in columns.names
        ]
        for number, row in enumerate(zip(*values, strict=True), done):
            for _ in range(1 if times is None else int(times[number])):
                batch.add(dict(zip(columns.names, row, strict=True)), columns, piece.first + number)
        batch.size += piece.size * (done + table.num_rows) // rows - piece.size * done // rows
        done += table.num_rows
        del table, values  # it may be a large document, and the caller is about to copy it
        if batch.weight >= _TOGETHER or len(batch.documents) + len(batch.dropped) >= _ROWS_TOGETHER:
            yield batch
            batch = Batch(seen=set(columns.names))
    yield batch


def _values(column: pa.Array[Any], name: str, file: SourceFile, names: Sequence[str] | None) -> list[Any]:
    """A column's values. names: of a ClassLabel."""
    try:
        return python_values(column, names)
    except (OverflowError, ValueError, KeyError) as error:
        raise IngestError(
            f"its column {quote(name)}, of type {column.type}, has a value that cannot be written as text: {error}",
            code="column-type",
            place=Place(file=str(file.path)),
        ) from error


def _roots(schema: pa.Schema, columns: Columns) -> list[str]:
    """The columns that the names are, or are fields of."""
    known = [name for name in columns.names if field_type(schema, name) is not None]
    return list(dict.fromkeys(name if name in schema.names else name.split(".")[0] for name in known))


def _checked(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """Columns of a record batch, which hold together: Arrow ends the process where damaged ones are read unasked."""
    columns = []
    for name in names:
        batch.column(name).validate()
        columns.append(as_bytes(batch.column(name)))
        columns[-1].validate(full=True)
    return pa.RecordBatch.from_arrays(columns, names=names) if names else batch.select([])


def _shares(size: int, parts: list[int]) -> list[int]:
    """A file's bytes divided among its parts."""
    whole = max(1, sum(parts))
    return [b - a for a, b in pairwise(size * part // whole for part in accumulate(parts, initial=0))]


def _check_schema(file: SourceFile, columns: Columns, schema: pa.Schema, has_values: Callable[[str], bool]) -> None:
    """has_values: whether a column has one that is not null: one without is as good as one of text."""
    check_columns(file, columns, tuple(schema.names), schema)
    for name in columns.text:
        type_ = _value_type(schema, name)
        if not (type_ is None or type_ in TEXTS or pa.types.is_null(type_)) and has_values(name):
            raise IngestError(
                f"its column {quote(name)} is of type {field_type(schema, name)}",
                code="column-type",
                place=Place(file=str(file.path)),
                hint="a text is a string, or bytes of UTF-8",
            )
    for name in columns.attributes:
        type_ = _value_type(schema, name)
        if type_ is not None and pa.types.is_nested(type_):
            raise IngestError(
                f"its attribute {quote(name)} is of type {field_type(schema, name)}",
                code="attribute-nested",
                place=Place(file=str(file.path)),
                hint="an attribute is a single value: a text, a number, true or false",
            )


def _has_values(batches: Iterable[pa.RecordBatch], name: str) -> bool:
    return any(values.null_count < len(values) for values in (field_values(batch, name) for batch in batches))


def _value_type(schema: pa.Schema, name: str) -> pa.DataType | None:
    """The type of a column's values; None: a folder's name has them."""
    type_ = field_type(schema, name)
    return type_.value_type if type_ is not None and pa.types.is_dictionary(type_) else type_


def check_columns(file: SourceFile, columns: Columns, known: tuple[str, ...], schema: pa.Schema | None = None) -> None:
    """Errors: IngestError `missing-column`."""
    folder = file.folder_values
    for name in columns.names:
        if known.count(name) > 1:
            message = f"has {known.count(name)} columns {quote(name)}"
            raise IngestError(message, code="missing-column", place=Place(file=str(file.path)), hint="names are unique")
        is_field = schema is not None and field_type(schema, name) is not None
        if name not in known and name not in folder and not is_field:
            raise IngestError(
                f"has no column {quote(name)}",
                code="missing-column",
                place=Place(file=str(file.path)),
                hint=nearest(name, known) or f"it has {', '.join(known[:20])}",
            )


class _ArrowFile:
    """An Arrow file or stream, mapped: a record batch takes memory only where it is packed."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._whole = pa.py_buffer(self._map)
        self._is_file = self._map[: len(_FILE_MAGIC)] == _FILE_MAGIC
        if not self._is_file and self._map[-len(_END) :] != _END:
            raise EOFError("it is no Arrow file, and no stream that has an end")
        self.schema = pa.ipc.open_file(self._whole).schema if self._is_file else pa.ipc.open_stream(self._whole).schema

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """The record batches [start, stop).

        All columns: asked for some, Arrow copies them, 256 MB of a record batch that was not packed.
        """
        options = pa.ipc.IpcReadOptions(use_threads=False)
        if self._is_file:
            file = pa.ipc.open_file(self._whole, options=options)
            for number in range(start, file.num_record_batches if stop is None else stop):
                yield file.get_batch(number)
                self.let_go()
            return
        for number, batch in enumerate(pa.ipc.open_stream(self._whole, options=options)):
            if stop is not None and number >= stop:
                return
            if number >= start:
                yield batch
                self.let_go()

    def let_go(self) -> None:
        """Have no page of the file in memory: what was read would count as this process's, however large the file."""
        self._map.madvise(mmap.MADV_DONTNEED)


def _row_count(piece: Piece) -> int:
    batches = _ArrowFile(piece.file.path).batches(piece.start, piece.stop)
    count: int = sum(batch.num_rows for batch in batches)
    return max(1, count)


@cache
def _rows_of(path: Path, size: int, modified: int) -> int:  # noqa: ARG001 a file that was written since is another
    count: int = sum(batch.num_rows for batch in _ArrowFile(path).batches())
    return count


def _times(piece: Piece, rows: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """How often an index has each row of a piece: int64 [rows]; None: there is no index, and each is read once."""
    chosen = piece.file.chosen
    if chosen is None:
        return None
    folder = piece.file.path.parent
    before = [(folder / name, (folder / name).stat()) for name in chosen.before]
    first = piece.first + sum(_rows_of(path, status.st_size, status.st_mtime_ns) for path, status in before)
    times = np.zeros(rows, np.int64)
    for name in chosen.indices:
        for batch in _ArrowFile(folder / name).batches():
            for start in range(0, batch.num_rows, _INDICES):
                numbers = batch.column(0).slice(start, _INDICES).to_numpy().astype(np.int64) - first
                times += np.bincount(numbers[(numbers >= 0) & (numbers < rows)], minlength=rows)
    return times
