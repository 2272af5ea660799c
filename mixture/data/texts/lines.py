"""Documents out of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import IO, Any

from mixture.data.texts.batch import Batch, Columns, Piece
from mixture.data.texts.matching import Compression, SourceFile
from mixture.data.texts.quarantine import LeftOut, start_of
from mixture.data.texts.report import Reason
from mixture.data.texts.unpacking import LARGEST_DOCUMENT, unpacked
from mixture.errors import IngestError, Place
from mixture.json_text import unique_object

_TOGETHER = 1 << 22  # bytes of source that are handed on together
_PIECE = 1 << 26
_BLOCK = 1 << 20


def split_lines(file: SourceFile) -> list[Piece]:
    """Ranges of bytes; what is packed is one piece, and so is a file without a byte."""
    if file.compression is not Compression.NONE or not file.size:
        return [Piece(file, 0, file.size, file.size)]
    starts = range(0, file.size, _PIECE)
    return [Piece(file, start, min(start + _PIECE, file.size), min(_PIECE, file.size - start)) for start in starts]


def read_lines(piece: Piece, columns: Columns) -> Iterator[Batch]:
    """One JSON object a line. A line belongs to the piece that it begins in. Empty lines are no documents.

    A bad line is left out. Where a file begins with several and nothing but them, it is of another format, such as
    JSON that is printed to be read. Errors: IngestError `not-json-lines`.
    """
    if not piece.file.size:
        yield Batch(dropped=[LeftOut(Reason.EMPTY_FILE, None, 0)])
        return
    folder = piece.file.folder_values
    at, weight, done = piece.start, 0, 0
    objects = False
    bad: list[LeftOut] = []
    batch = Batch()
    with piece.file.path.open("rb") as raw, unpacked(raw, piece.file) as file:
        if piece.start:
            file.seek(piece.start - 1)
            at += _pass_line(file) - 1
        while at < piece.stop or piece.file.compression is not Compression.NONE:
            line = file.readline(LARGEST_DOCUMENT + 1)
            if not line:
                break
            size = len(line)
            if size > LARGEST_DOCUMENT:
                batch.dropped.append(LeftOut(Reason.TOO_LARGE, None, at, start=start_of(line[:1000])))
                del line
                size += _pass_line(file)
            else:
                data = line.removeprefix(b"\xef\xbb\xbf") if at == 0 else line
                del line
                if data.strip():
                    _add_line(batch, data, columns, folder, at)
                del data
            at += size
            weight += size
            objects = objects or bool(batch.seen or batch.documents)
            if weight >= _TOGETHER:
                bad += batch.dropped[:2] if len(bad) < 2 else []
                batch.size = min(piece.size, raw.tell() - piece.start) - done
                done += batch.size
                yield batch
                batch, weight = Batch(), 0
    bad += batch.dropped
    if piece.start == 0 and not objects and len(bad) > 1 and all(left.reason is Reason.NOT_JSON for left in bad):
        raise not_json(piece.file, bad[0])
    batch.size = piece.size - done
    yield batch


def not_json(file: SourceFile, left: LeftOut) -> IngestError:
    """The error for a file that holds no lines of JSON. left: its first line."""
    return IngestError(
        f"no line of it is a JSON object: {left.detail}",
        code="not-json-lines",
        place=Place(file=str(file.path), line=line_number(file, left.at)),
        hint="`format: text` reads a file as one document",
    )


def _pass_line(file: IO[bytes]) -> int:
    """Read on to the end of a line, however long it is. Gives how many bytes that were."""
    passed = 0
    while block := file.readline(_BLOCK):
        passed += len(block)
        if block.endswith(b"\n"):
            break
    return passed


def line_number(file: SourceFile, at: int) -> int:
    """The number, from 1, of the line that begins at this byte of what the file holds."""
    number = 1
    with file.path.open("rb") as raw, unpacked(raw, file) as source:
        while at > 0 and (block := source.read(min(_BLOCK, at))):
            at -= len(block)
            number += block.count(b"\n")
    return number


def first_keys(file: SourceFile) -> tuple[str, ...]:
    """The keys of the first line that is an object, of those in the first megabyte."""
    with file.path.open("rb") as raw, unpacked(raw, file) as source:
        for line in source.read(_BLOCK).splitlines():
            with suppress(ValueError, RecursionError):
                if isinstance(row := _JSON.decode(line.decode("utf-8-sig")), dict) and row:
                    return tuple(row)
    return ()


_JSON = json.JSONDecoder(object_pairs_hook=unique_object)  # made once it costs 0.3 us a line more than json.loads


def _add_line(batch: Batch, data: bytes, columns: Columns, folder: Mapping[str, str | None], at: int) -> None:
    try:
        text = data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        batch.dropped.append(LeftOut(Reason.INVALID_UTF8, None, at, start=start_of(data.rstrip(b"\r\n"))))
        return
    try:
        row = _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        batch.dropped.append(LeftOut(Reason.NOT_JSON, None, at, start=start_of(text), detail=str(error)))
        return
    if not isinstance(row, dict):
        batch.dropped.append(LeftOut(Reason.NOT_JSON, None, at, start=start_of(text), detail="it is not an object"))
        return
    del text
    batch.seen.update(row.keys() & set(columns.names))
    missing = [name for name in columns.names if name not in row]
    for name in missing:  # a field of an object, or what a folder is called
        first, *rest = name.split(".")
        value: Any = row.get(first)
        for part in rest:
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
        if rest and value is not _ABSENT:
            row[name] = value
            batch.seen.add(name)
        elif name in folder:
            row[name] = folder[name]
            batch.seen.add(name)
    batch.add(row, columns, at)


_ABSENT = object()
