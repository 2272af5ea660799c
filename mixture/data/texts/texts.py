"""Documents out of source files, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from mixture.data.texts.batch import Batch, Columns, Piece
from mixture.data.texts.csv_rows import read_csv, split_csv
from mixture.data.texts.lines import line_number, read_lines, split_lines
from mixture.data.texts.matching import FileFormat, SourceFile
from mixture.data.texts.quarantine import LeftOut, start_of
from mixture.data.texts.report import Reason, Unreadable
from mixture.data.texts.rows import check_columns, read_arrow, read_parquet, split_arrow, split_parquet
from mixture.data.texts.unpacking import LARGEST_DOCUMENT, unpacked
from mixture.errors import IngestError, Place

_TEXT_COLUMNS = ("text", "path")  # what a file that is one document has


def split(file: SourceFile, columns: Columns) -> list[Piece]:
    """The pieces of a file. Looks at no more than its footer, or where record batches begin.

    Errors: IngestError `source-unreadable`, `missing-column`, `column-type`, `attribute-nested`.
    """
    with _naming(file):
        if file.problem is not None:
            raise OSError(file.problem)
        if file.size == 0 and file.format in (FileFormat.PARQUET, FileFormat.ARROW):
            raise EOFError
        match file.format:
            case FileFormat.PARQUET:
                return split_parquet(file, columns)
            case FileFormat.ARROW:
                return split_arrow(file, columns)
            case FileFormat.JSONL:
                return split_lines(file)
            case FileFormat.CSV:
                return split_csv(file, columns)
            case FileFormat.TEXT:
                check_columns(file, columns, _TEXT_COLUMNS)
                return [Piece(file, 0, file.size, file.size)]


UNREADABLE = frozenset({"source-unreadable", "not-json-lines"})
"""Codes of the errors of a file that cannot be read, whatever is asked of it."""


MOST_SHOWN = 5
"""Errors of files that are shown where there are more of them."""


class UnreadableError(IngestError):
    """All files that cannot be read, or not as the sources file has it.

    It has the code, place, hint and facts of the first; `errors` has all. Its text has their number and the first five.
    """

    def __init__(self, errors: Sequence[IngestError]) -> None:
        self.errors = tuple(errors)
        first = errors[0]
        super().__init__(first.message, code=first.code, place=first.place, hint=first.hint, **first.facts)

    def __str__(self) -> str:
        shown = [str(error) for error in self.errors[:MOST_SHOWN]]
        if len(shown) < len(self.errors):
            shown.insert(
                0, f"{len(self.errors):,} files cannot be read as asked; the first {MOST_SHOWN} (`errors` has all):"
            )
        return "\n".join(shown)


def split_all(files: Iterable[SourceFile], columns: Columns, errors: list[IngestError]) -> list[Piece]:
    """The pieces of files. What `split` raises is added to `errors`, and the file is a piece that says so."""
    pieces: list[Piece] = []
    for file in files:
        try:
            pieces += split(file, columns)
        except IngestError as error:
            errors.append(error)
            pieces.append(Piece(file, 0, file.size, file.size, problem=error.message))
    return pieces


def check_errors(errors: Sequence[IngestError], unreadable: Unreadable) -> None:
    """Raise the errors of all files; where files that cannot be read are left out, those of the others."""
    left = [error for error in errors if unreadable is Unreadable.REFUSE or error.code not in UNREADABLE]
    if left:
        raise left[0] if len(left) == 1 else UnreadableError(left)


def read(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of a piece. Errors: IngestError `source-unreadable`, `column-type`, `attribute-nested`."""
    if piece.problem is not None:
        yield Batch(dropped=[LeftOut(Reason.UNREADABLE_FILE, None, piece.first, detail=piece.problem)], size=piece.size)
        return
    with _naming(piece.file):
        match piece.file.format:
            case FileFormat.PARQUET:
                yield from read_parquet(piece, columns)
            case FileFormat.ARROW:
                yield from read_arrow(piece, columns)
            case FileFormat.JSONL:
                yield from read_lines(piece, columns)
            case FileFormat.CSV:
                yield from read_csv(piece, columns)
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
    batch.add(piece.file.folder_values | {"text": data, "path": path}, columns, 0)
    return batch
