"""Documents out of source files, some at a time."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from mixture.errors import IngestError, Place, nearest
from mixture.store.intake.batch import Batch, Columns, Piece
from mixture.store.intake.matching import Compression, FileFormat, SourceFile
from mixture.store.intake.report import Reason
from mixture.store.mapping import arrow_file
from mixture.units import quote

_TOGETHER = 1 << 22  # bytes of source, or characters of text, that are handed on together
_PARQUET_ROWS = 4  # read at once: 3 us a row more than 256, but a file of 4 KB can hold rows of 4 MB
_ROWS_TOGETHER = 256
_LARGEST_DOCUMENT = 1 << 31
_LINES_PIECE = 1 << 26
_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
_TEXT_COLUMNS = ("text", "path")  # what a file that is one document has


def split(file: SourceFile, columns: Columns) -> list[Piece]:
    """The pieces of a file. Looks at no more than its footer.

    Errors: IngestError `source-unreadable`, `column-missing`, `column-type`.
    """
    with _naming(file):
        if file.format is FileFormat.PARQUET:
            return _split_parquet(file, columns)
        if file.size == 0 and file.format is not FileFormat.TEXT:
            raise EOFError
        if file.format is FileFormat.TEXT:
            _check_columns(file, columns, _TEXT_COLUMNS)
        if file.format is FileFormat.JSONL and file.compression is Compression.NONE:
            starts = range(0, file.size, _LINES_PIECE)
            stops = [min(start + _LINES_PIECE, file.size) for start in starts]
            return [Piece(file, a, b, b - a) for a, b in zip(starts, stops, strict=True)]
        return [Piece(file, 0, file.size, file.size)]


def read(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of a piece. Errors: IngestError `source-unreadable`, `not-json-lines`, `document-too-large`."""
    with _naming(piece.file):
        match piece.file.format:
            case FileFormat.PARQUET:
                yield from _read_parquet(piece, columns)
            case FileFormat.JSONL:
                yield from _read_lines(piece, columns)
            case FileFormat.TEXT:
                yield _read_text(piece, columns)


@contextmanager
def _naming(file: SourceFile) -> Iterator[None]:
    """Name the file in whatever its libraries raise."""
    try:
        yield
    except (OSError, EOFError, pa.ArrowException) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "it ends too early"
        message = f"can not be read: {reason}" if file.size else "can not be read: it has no bytes"
        raise IngestError(message, code="source-unreadable", place=Place(file=str(file.path))) from error


def _check_columns(file: SourceFile, columns: Columns, known: tuple[str, ...]) -> None:
    for name in columns.names:
        if known.count(name) > 1:
            message = f"has {known.count(name)} columns {quote(name)}"
            raise IngestError(message, code="column-missing", place=Place(file=str(file.path)), hint="names are unique")
        if name not in known:
            raise IngestError(
                f"has no column {quote(name)}",
                code="column-missing",
                place=Place(file=str(file.path)),
                hint=nearest(name, known) or f"it has {', '.join(known[:20])}",
            )


def _split_parquet(file: SourceFile, columns: Columns) -> list[Piece]:
    with arrow_file(file.path) as source, pq.ParquetFile(source) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
    if metadata.num_rows == 0:
        return []
    _check_columns(file, columns, tuple(schema.names))
    type_ = schema.field(columns.text).type
    value_type = type_.value_type if pa.types.is_dictionary(type_) else type_
    if not (_is_text(value_type) or pa.types.is_null(value_type)):
        raise IngestError(
            f"its column {quote(columns.text)} is of type {type_}",
            code="column-type",
            place=Place(file=str(file.path)),
            hint="a text is a string, or bytes of UTF-8",
        )
    groups = [metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)]
    whole = max(1, sum(groups))
    ends = [file.size * size // whole for size in accumulate(groups, initial=0)]
    return [Piece(file, n, n + 1, end - start) for n, (start, end) in enumerate(pairwise(ends))]


def _is_text(type_: pa.DataType) -> bool:
    return type_ in (pa.string(), pa.large_string(), pa.string_view(), *_BYTES)


def _read_parquet(piece: Piece, columns: Columns) -> Iterator[Batch]:
    with arrow_file(piece.file.path) as source, pq.ParquetFile(source) as parquet:
        groups = range(piece.start, piece.stop)
        rows = max(1, sum(parquet.metadata.row_group(group).num_rows for group in groups))
        average = sum(parquet.metadata.row_group(group).total_byte_size for group in groups) // rows
        together = max(1, min(_PARQUET_ROWS, _TOGETHER // max(1, average)))
        done = 0
        batch = Batch(seen=set(columns.names))
        for table in parquet.iter_batches(together, row_groups=groups, columns=columns.names, use_threads=False):
            _add_rows(batch, table, columns, piece.file)
            batch.size += piece.size * (done + table.num_rows) // rows - piece.size * done // rows
            done += table.num_rows
            del table  # it may be a large document, and the caller is about to copy it
            if batch.weight >= _TOGETHER or len(batch.documents) + len(batch.dropped) >= _ROWS_TOGETHER:
                yield batch
                batch = Batch(seen=set(columns.names))
        yield batch


def _add_rows(batch: Batch, table: pa.RecordBatch, columns: Columns, file: SourceFile) -> None:
    values = [_values(table.column(name), name, file) for name in columns.names]
    for row in zip(*values, strict=True):
        batch.add(dict(zip(columns.names, row, strict=True)), columns)


def _values(column: pa.Array[Any], name: str, file: SourceFile) -> list[Any]:
    """A column's values; text as bytes, for Arrow does not promise that it is UTF-8."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    type_ = column.type
    if _is_text(type_) and type_ not in _BYTES:
        column = column.cast(pa.large_binary())
    elif pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        # Arrow writes times of any year; Python has those of the years 1 to 9999, and no nanoseconds.
        if pa.types.is_timestamp(type_) and type_.tz:
            column = column.cast(pa.timestamp(type_.unit, "UTC"))  # what a zone is differs between machines
        column = column.cast(pa.string())
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError, KeyError) as error:
        raise IngestError(
            f"its column {quote(name)}, of type {type_}, has a value that can not be written as text: {error}",
            code="column-type",
            place=Place(file=str(file.path)),
        ) from error
    return values


def _read_text(piece: Piece, columns: Columns) -> Batch:
    batch = Batch(seen=set(columns.names), size=piece.size)
    with piece.file.path.open("rb") as raw, _unpacked(raw, piece.file) as file:
        data = file.read(_LARGEST_DOCUMENT + 1)
    _check_size(piece.file, len(data))
    path = piece.file.shown.encode(errors="backslashreplace").decode()
    batch.add({"text": data, "path": path}, columns)
    return batch


def _read_lines(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """One JSON object a line. A line belongs to the piece that it begins in. Empty lines are no documents."""
    at, number, weight, done = piece.start, 0, 0, 0
    batch = Batch()
    with piece.file.path.open("rb") as raw, _unpacked(raw, piece.file) as file:
        if piece.start:
            file.seek(piece.start - 1)
            at += len(file.readline(_LARGEST_DOCUMENT)) - 1
        while at < piece.stop or piece.file.compression is not Compression.NONE:
            line = file.readline(_LARGEST_DOCUMENT + 1)
            if not line:
                break
            _check_size(piece.file, len(line))
            data = line.removeprefix(b"\xef\xbb\xbf") if at == 0 else line
            at += len(line)
            number += 1
            weight += len(line)
            del line
            if data.strip():
                _add_line(batch, data, columns, piece, number)
            del data
            if weight >= _TOGETHER:
                batch.size = min(piece.size, raw.tell() - piece.start) - done
                done += batch.size
                yield batch
                batch, weight = Batch(), 0
    batch.size = piece.size - done
    yield batch


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once: of two values, which is meant is anybody's guess."""
    row = dict(pairs)
    if len(row) != len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {quote(key)} is in it twice")
    return row


_JSON = json.JSONDecoder(object_pairs_hook=_object)  # made once it costs 0.3 us a line more than json.loads


def _add_line(batch: Batch, data: bytes, columns: Columns, piece: Piece, number: int) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        batch.dropped.append(Reason.INVALID_UTF8)
        return
    try:
        row = _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(piece, number, str(error)) from error
    del text
    if not isinstance(row, dict):
        raise _not_json(piece, number, "it is not an object")
    batch.seen.update(row.keys() & set(columns.names))
    batch.add(row, columns)


def _not_json(piece: Piece, number: int, reason: str) -> IngestError:
    if piece.start:
        with piece.file.path.open("rb") as file:
            before = file.read(piece.start)
        number += before.count(b"\n") + (not before.endswith(b"\n"))
    return IngestError(
        f"this line is not a JSON object: {reason}",
        code="not-json-lines",
        place=Place(file=str(piece.file.path), line=number),
        hint="`format: text` reads a file as one document",
    )


def _check_size(file: SourceFile, size: int) -> None:
    if size > _LARGEST_DOCUMENT:
        message = f"has a document of more than {_LARGEST_DOCUMENT:,} bytes"
        raise IngestError(message, code="document-too-large", place=Place(file=str(file.path)))


@contextmanager
def _unpacked(raw: IO[bytes], file: SourceFile) -> Iterator[IO[bytes]]:
    """The bytes of an open file, unpacked."""
    if file.compression is Compression.NONE:
        yield raw
        return
    if file.size == 0:
        raise EOFError
    # Arrow's streams say when packed data ends too early; that of the package zstandard does not.
    packing = "gzip" if file.compression is Compression.GZIP else "zstd"
    with pa.CompressedInputStream(raw, packing) as stream:
        yield io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)
