"""Documents out of source files, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from mixture.errors import IngestError, Place
from mixture.store.intake.batch import Batch, Columns, Piece
from mixture.store.intake.lines import line_number, read_lines, split_lines
from mixture.store.intake.matching import FileFormat, SourceFile
from mixture.store.intake.quarantine import LeftOut, start_of
from mixture.store.intake.report import Reason
from mixture.store.intake.rows import check_columns, read_arrow, read_parquet, split_arrow, split_parquet
from mixture.store.intake.unpacking import LARGEST_DOCUMENT, unpacked

_TEXT_COLUMNS = ("text", "path")  # what a file that is one document has


def split(file: SourceFile, columns: Columns) -> list[Piece]:
    """The pieces of a file. Looks at no more than its footer, or where record batches begin.

    Errors: IngestError `source-unreadable`, `column-missing`, `column-type`, `attribute-nested`.
    """
    with _naming(file):
        if file.size == 0 and file.format is not FileFormat.TEXT:
            raise EOFError
        match file.format:
            case FileFormat.PARQUET:
                return split_parquet(file, columns)
            case FileFormat.ARROW:
                return split_arrow(file, columns)
            case FileFormat.JSONL:
                return split_lines(file)
            case FileFormat.TEXT:
                check_columns(file, columns, _TEXT_COLUMNS)
                return [Piece(file, 0, file.size, file.size)]


def read(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of a piece. Errors: IngestError `source-unreadable`, `column-type`, `attribute-nested`."""
    with _naming(piece.file):
        match piece.file.format:
            case FileFormat.PARQUET:
                yield from read_parquet(piece, columns)
            case FileFormat.ARROW:
                yield from read_arrow(piece, columns)
            case FileFormat.JSONL:
                yield from read_lines(piece, columns)
            case FileFormat.TEXT:
                yield _read_text(piece, columns)


def place_of(file: SourceFile, byte: int | None) -> Place:
    """Where something stands in a file: of lines, on which that begins at this byte. Errors: IngestError."""
    with _naming(file):
        return Place(file=str(file.path), line=None if byte is None else line_number(file, byte))


@contextmanager
def _naming(file: SourceFile) -> Iterator[None]:
    """Name the file in whatever its libraries raise."""
    try:
        yield
    except (OSError, EOFError, pa.ArrowException) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "it ends too early"
        message = f"can not be read: {reason}" if file.size else "can not be read: it has no bytes"
        raise IngestError(message, code="source-unreadable", place=Place(file=str(file.path))) from error


def _read_text(piece: Piece, columns: Columns) -> Batch:
    batch = Batch(seen=set(columns.names), size=piece.size)
    with piece.file.path.open("rb") as raw, unpacked(raw, piece.file) as file:
        data = file.read(LARGEST_DOCUMENT + 1)
    if len(data) > LARGEST_DOCUMENT:
        batch.dropped.append(LeftOut(Reason.TOO_LARGE, None, 0, start=start_of(data[:1000])))
        return batch
    path = piece.file.shown.encode(errors="backslashreplace").decode()
    batch.add({"text": data, "path": path}, columns, 0)
    return batch
