"""Documents out of CSV (RFC 4180), and of the same with tabs: the first row has the names of columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from mixture.data.texts.batch import Batch, Columns, Piece
from mixture.data.texts.matching import SourceFile
from mixture.data.texts.quarantine import LeftOut, start_of
from mixture.data.texts.report import Reason
from mixture.data.texts.rows import check_columns
from mixture.data.texts.unpacking import unpacked
from mixture.errors import IngestError, Place

_TOGETHER = 1 << 22  # characters of text that are handed on together
_ROWS_TOGETHER = 256
_LONGEST_CELL = (1 << 31) - 1


def split_csv(file: SourceFile, columns: Columns) -> list[Piece]:
    """One piece: where a row begins is only known from the rows before. Errors: IngestError `missing-column`."""
    if file.size:
        with _rows(file) as (rows, _):
            check_columns(file, columns, tuple(_text(name) for name in next(rows, [])))
    return [Piece(file, 0, file.size, file.size)]


def read_csv(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of a file; an empty cell is none. A row with more or fewer cells than the first is left out.

    Errors: IngestError `source-unreadable`, where quotes do not fit.
    """
    if not piece.file.size:
        yield Batch(dropped=[LeftOut(Reason.EMPTY_FILE, None, 0)])
        return
    folder = piece.file.folder_values
    batch, done = Batch(seen=set(columns.names)), 0
    with _rows(piece.file) as (rows, raw):
        names = [_text(name) for name in next(rows, [])]
        for number, cells in enumerate(row for row in rows if row):
            if len(cells) != len(names):
                detail = f"{len(cells)} cells of {len(names)}"
                batch.dropped.append(LeftOut(Reason.RAGGED_CSV, None, number, start=start_of(cells[0]), detail=detail))
            else:
                batch.add(folder | dict(zip(names, map(_value, cells), strict=True)), columns, number)
            if batch.weight >= _TOGETHER or len(batch.documents) + len(batch.dropped) >= _ROWS_TOGETHER:
                batch.size = min(piece.size, raw.tell()) - done
                done += batch.size
                yield batch
                batch = Batch(seen=set(columns.names))
    batch.size = piece.size - done
    yield batch


def _value(cell: str) -> str | bytes | None:
    """A cell's text, None where it is empty; bytes where it is not UTF-8, as tables have them."""
    if cell.isascii():
        return cell or None
    return cell.encode(errors="surrogateescape")


def _text(name: str) -> str:
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


@contextmanager
def _rows(file: SourceFile) -> Iterator[tuple[Iterator[list[str]], IO[bytes]]]:
    """The rows of a file, and the file as it lies. Errors: IngestError."""
    csv.field_size_limit(_LONGEST_CELL)
    tabs = ".tsv" in [ending.lower() for ending in file.path.suffixes]
    with file.path.open("rb") as raw, unpacked(raw, file) as data:
        text = io.TextIOWrapper(cast(Any, data), "utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(text, delimiter="\t" if tabs else ",", strict=True)
        try:
            yield rows, raw
        except csv.Error as error:
            raise IngestError(
                f"can not be read: not a row of CSV: {error}",
                code="source-unreadable",
                place=Place(file=str(file.path), line=rows.line_num),
                hint="a cell with quotes stands in quotes, and its own are doubled",
            ) from error
        finally:
            text.detach()
