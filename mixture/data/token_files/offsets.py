"""Files beside token files that say where documents end.

    STEM.csv.gz, STEM.csv   rows `start,end[,id,…]`, in tokens, with or without a line of names: OLMo-core's, Dolma's
    NAME.index              uint64 ends: nanotron's, as datatrove writes them beside NAME
    STEM.offsets.npy        integers: ends, or a 0 and ends

STEM is the token file's name without its last ending.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from csv import reader as csv_rows
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

from mixture.data.layout import SEARCHED
from mixture.data.token_files.files import SourceFile, array, beside, is_there, opened
from mixture.data.token_files.numpy_header import numpy_header
from mixture.data.token_files.survey import CHUNK, FoundDocuments, refused

NONE = "none"
"""`documents: none`: a file beside is not read."""
_LINE_BYTES = 1 << 16
_USUAL = ("{stem}.csv.gz", "{stem}.csv", "{name}.index", "{stem}.offsets.npy")


def file_of(path: str, asked: str | None) -> str | None:
    """The file beside a token file; asked: its name, where {stem} and {name} stand for the token file's.

    Errors: StoreError `documents-missing`, where one is asked for and is not there.
    """
    if asked in (NONE, SEARCHED):
        return None
    own = posixpath.basename(path)
    stem = posixpath.splitext(own)[0]
    patterns = [asked] if asked else _USUAL
    named = [beside(path, pattern.replace("{stem}", stem).replace("{name}", own)) for pattern in patterns]
    found = next((one for one in named if is_there(one)), None)
    if asked and found is None:
        raise refused(named[0], f"is missing, and {own} is there", "documents-missing")
    return found


def reader(path: str, tokens: int) -> Callable[[], Iterator[FoundDocuments]]:
    """What reads the documents of a file that has so many tokens.

    Errors, as they are read: StoreError `documents-differ`, where they do not follow one another up to its end.
    """

    def found() -> Iterator[FoundDocuments]:
        last = 0
        number = 0
        for start, end, ids in _ranges(path):
            before = np.concatenate([[last], end[:-1]])
            wrong = np.flatnonzero(((start >= 0) & (start != before)) | (end <= before))
            if len(wrong):
                at = int(wrong[0])
                message = f"document {number + at:,} ends at token {end[at]:,}, and the one before at {before[at]:,}"
                raise refused(path, message, "documents-differ")
            yield FoundDocuments(end - before, number + np.arange(len(end)), ids)
            last, number = int(end[-1]), number + len(end)
        if last != tokens:
            message = f"its documents end at token {last:,}, and there are {tokens:,} tokens"
            raise refused(path, message, "documents-differ", found=last, expected=tokens)

    return found


_Ranges = Iterator[tuple[NDArray[np.int64], NDArray[np.int64], "pa.Array[Any] | None"]]


def _ranges(path: str) -> _Ranges:
    """First token, -1 where that is not said, and end of documents; ids where there are any."""
    with opened(path) as file:
        if path.endswith((".csv", ".csv.gz")):
            yield from _table(file)
        else:
            yield from _numbers(file)


def _numbers(file: SourceFile) -> _Ranges:
    dtype, place, shape = numpy_header(file) or (np.dtype("<u8"), 0, (file.size // 8,))
    if len(shape) != 1 or dtype.kind not in "iu":
        raise refused(file.path, f"is of type {dtype} and shape {shape}", "documents-unreadable")
    if place + shape[0] * dtype.itemsize != file.size:
        message = f"has {file.size:,} bytes, and {shape[0]:,} numbers end at {place + shape[0] * dtype.itemsize:,}"
        raise refused(file.path, message, "file-size")
    for first in range(0, shape[0], CHUNK):
        part = array(file, dtype, place + first * dtype.itemsize, min(CHUNK, shape[0] - first)).astype(np.int64)
        if not first and len(part) and part[0] == 0:
            part = part[1:]
        if len(part):
            yield np.full(len(part), -1), part, None


def _table(file: SourceFile) -> _Ranges:
    names, is_named = _columns(file)
    types = {"start": pa.int64(), "end": pa.int64(), "id": pa.string()}
    chosen = [name for name in types if name in names]
    if not chosen:
        return
    try:
        with csv.open_csv(
            _unpacked(file),
            read_options=csv.ReadOptions(column_names=names, skip_rows=int(is_named), use_threads=False),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=chosen,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        ) as batches:
            for batch in batches:
                if batch.num_rows:
                    start, end = (batch[name].to_numpy(zero_copy_only=False) for name in ("start", "end"))
                    yield start, end, batch["id"] if "id" in chosen else None
    except (pa.ArrowException, OSError) as error:
        raise refused(file.path, f"can not be read: {error}", "documents-unreadable") from error


def _unpacked(file: SourceFile) -> pa.NativeFile:
    source = file.for_arrow()
    return pa.CompressedInputStream(source, "gzip") if file.path.endswith(".gz") else source


def _columns(file: SourceFile) -> tuple[list[str], bool]:
    """The names of columns, none where the file is empty, and whether they stand in it."""
    try:
        start = bytes(_unpacked(file).read(_LINE_BYTES)) if file.size else b""
    except OSError as error:
        raise refused(file.path, f"can not be read: {error}", "documents-unreadable") from error
    line = start.split(b"\n")[0].decode("utf-8-sig", errors="replace")
    first = [name.strip() for name in next(csv_rows([line]), [])]
    if first in ([], [""]):
        return [], False
    is_named = not first[0].isdigit()
    names = first if is_named else ["start", "end", "id"][: len(first)]
    names = names + [f"column {number}" for number in range(len(names), len(first))]
    if not {"start", "end"} <= set(names):
        hint = "start,end,id are right here"
        raise refused(file.path, f"has the columns {', '.join(names)}", "documents-unreadable", hint)
    return names, is_named
