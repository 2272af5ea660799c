"""Files beside token files that say where documents end.

    STEM.csv.gz, STEM.csv   rows `start,end[,id,…]`, in tokens, with or without a line of names: OLMo-core's, Dolma's
    NAME.index              uint64 ends: nanotron's, as datatrove writes them beside NAME
    STEM.offsets.npy        integers: ends, or a 0 and ends

STEM is the token file's name without its last ending.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

from mixture.store.foreign.survey import CHUNK, FoundDocuments, refused

NONE = "none"
"""`documents: none`: a file beside is not read."""
_USUAL = ("{stem}.csv.gz", "{stem}.csv", "{name}.index", "{stem}.offsets.npy")


def file_of(path: Path, asked: str | None) -> Path | None:
    """The file beside a token file; asked: its name, where {stem} and {name} stand for the token file's.

    Errors: StoreError `documents-missing`, where one is asked for and is not there.
    """
    if asked == NONE:
        return None
    named = [path.with_name(_named(path, name)) for name in ([asked] if asked else _USUAL)]
    found = next((one for one in named if one.is_file()), None)
    if asked and found is None:
        raise refused(named[0], f"is missing, and {path.name} is there", "documents-missing")
    return found


def _named(path: Path, name: str) -> str:
    return name.replace("{stem}", path.stem).replace("{name}", path.name)


def reader(path: Path, tokens: int) -> Callable[[], Iterator[FoundDocuments]]:
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


def _ranges(path: Path) -> _Ranges:
    """First token, -1 where that is not said, and end of documents; ids where there are any."""
    if path.name.endswith((".csv", ".csv.gz")):
        yield from _table(path)
        return
    if path.suffix == ".npy":
        ends: NDArray[Any] = np.load(path, mmap_mode="r")
    else:
        size = path.stat().st_size
        if size % 8:
            raise refused(path, f"has {size:,} bytes, no whole number of 64-bit integers", "file-size")
        ends = np.memmap(path, "<u8", "r") if size else np.empty(0, np.uint64)
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise refused(path, f"is of type {ends.dtype} and shape {ends.shape}", "documents-unreadable")
    if len(ends) and ends[0] == 0:
        ends = ends[1:]
    for first in range(0, len(ends), CHUNK):
        part = ends[first : first + CHUNK].astype(np.int64)
        yield np.full(len(part), -1), part, None


def _table(path: Path) -> _Ranges:
    is_packed = path.suffix == ".gz"
    with gzip.open(path, "rt") if is_packed else path.open() as file:
        first = file.readline().strip().split(",")
    if first == [""]:
        return
    is_named = not str(first[0]).strip().isdigit()
    names = [str(name).strip() for name in first] if is_named else ["start", "end", "id"][: len(first)]
    names += [f"column {number}" for number in range(len(names), len(first))]
    if not {"start", "end"} <= set(names):
        raise refused(
            path, f"has the columns {', '.join(names)}", "documents-unreadable", "start,end,id are right here"
        )
    types = {"start": pa.int64(), "end": pa.int64(), "id": pa.string()}
    chosen = [name for name in types if name in names]
    try:
        with csv.open_csv(
            path,
            read_options=csv.ReadOptions(column_names=names, skip_rows=int(is_named), use_threads=False),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=chosen, strings_can_be_null=True, null_values=[""]
            ),
        ) as batches:
            for batch in batches:
                if batch.num_rows:
                    start, end = (batch[name].to_numpy(zero_copy_only=False) for name in ("start", "end"))
                    yield start, end, batch["id"] if "id" in chosen else None
    except (pa.ArrowException, OSError) as error:
        raise refused(path, f"can not be read: {error}", "documents-unreadable") from error
