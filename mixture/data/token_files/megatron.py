"""Megatron's pairs of files: NAME.bin, all tokens one behind the other, and NAME.idx, which says where they end.

NAME.idx has 9 bytes "MMIDIDX", 0, 0; uint64 version, 1; uint8 code of the type; uint64 sequences; uint64 bounds; then
of each sequence the int32 number of its tokens, then of each the int64 first byte; int64 bounds of documents: the
first sequence of each, and one past the last; perhaps an int8 mode of each sequence. All little-endian.
Documented with Megatron Core's `IndexedDataset`.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixture.data.token_files.files import SourceFile, array, is_there, looks, opened
from mixture.data.token_files.survey import (
    CHUNK,
    FoundDocuments,
    Survey,
    one_piece,
    refused,
    token_type,
    whole_documents,
)

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
CODES = {
    1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float64, 7: np.float32, 8: np.uint16,
}  # fmt: skip
"""The code of each type of token."""


def index_of(path: str) -> str:
    """The NAME.idx of a NAME.bin. Errors: StoreError `index-missing`."""
    if not path.endswith(".bin"):
        raise refused(path, "is no NAME.bin", "index-missing", "Megatron's tokens lie in NAME.bin, beside NAME.idx")
    index = f"{path.removesuffix('.bin')}.idx"
    if not is_there(index):
        raise refused(index, f"is missing, and {path} is there", "index-missing")
    return index


def survey(path: str) -> Survey:
    """The documents of NAME.idx over the tokens of NAME.bin."""
    index = index_of(path)
    size = looks(path).size
    with opened(index) as file:
        read = _Index(file)
        dtype = token_type(read.dtype, index)
        expected = read.check_pointers(dtype.itemsize)
        read.check_bounds()
    if size != expected:
        message = f"has {size:,} bytes, and {posixpath.basename(index)} places tokens up to {expected:,}"
        raise refused(path, message, "index-disagrees", found=size, expected=expected)

    def found() -> Iterator[FoundDocuments]:
        with opened(index) as file:
            yield from _Index(file).found()

    return one_piece(dtype, 0, size // dtype.itemsize, found)


def header(dtype: np.dtype[Any], documents: int) -> bytes:
    """What an index of documents of one sequence each begins with."""
    (code,) = (code for code, known in CODES.items() if known == dtype)
    return HEADER.pack(MAGIC, VERSION, code, documents, documents + 1)


class _Index:
    """A NAME.idx that is open."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        if file.size < HEADER.size:
            raise refused(file.path, f"has {file.size:,} bytes, and its header alone {HEADER.size}", "index-damaged")
        magic, version, code, self._sequences, self._num_bounds = HEADER.unpack(file.read(0, HEADER.size))
        if magic != MAGIC or version != VERSION:
            raise refused(file.path, "does not begin as an index of version 1 does", "index-damaged")
        if code not in CODES:
            known = ", ".join(map(str, CODES))
            raise refused(file.path, f"says that tokens are of type {code}", "index-damaged", f"known are {known}")
        self.dtype: np.dtype[Any] = np.dtype(CODES[code])
        plain = HEADER.size + 12 * self._sequences + 8 * self._num_bounds
        if file.size not in (plain, plain + self._sequences):
            bounds = self._num_bounds
            message = (
                f"has {file.size:,} bytes, and {self._sequences:,} sequences with {bounds:,} bounds take {plain:,}"
            )
            raise refused(file.path, message, "index-damaged", found=file.size, expected=plain)

    def _lengths(self, first: int, last: int) -> NDArray[np.int64]:
        read = array(self._file, np.dtype("<i4"), HEADER.size + 4 * first, last - first)
        return read.astype(np.int64)

    def _pointers(self, first: int, last: int) -> NDArray[np.int64]:
        return array(self._file, np.dtype("<i8"), HEADER.size + 4 * self._sequences + 8 * first, last - first)

    def _bounds(self, first: int, last: int) -> NDArray[np.int64]:
        return array(self._file, np.dtype("<i8"), HEADER.size + 12 * self._sequences + 8 * first, last - first)

    def check_pointers(self, itemsize: int) -> int:
        """Whether sequences follow one another; where the last one ends, in bytes."""
        end = 0
        for first in range(0, self._sequences, CHUNK):
            last = min(first + CHUNK, self._sequences)
            lengths, pointers = self._lengths(first, last), self._pointers(first, last)
            starts = end + np.cumsum(lengths * itemsize) - lengths * itemsize
            wrong = np.flatnonzero((pointers != starts) | (lengths < 0))
            if len(wrong):
                at = int(wrong[0])
                message = (
                    f"sequence {first + at:,} has {lengths[at]:,} tokens from byte {pointers[at]:,}, and the one "
                    f"before ends at {starts[at]:,}"
                )
                hint = "sequences that follow one another are right here"
                raise refused(self._file.path, message, "index-damaged", hint)
            end = int(starts[-1] + lengths[-1] * itemsize)
        return end

    def check_bounds(self) -> None:
        """Whether documents go from the first sequence up to the last."""
        if not self._sequences and not self._num_bounds:
            return
        before = 0
        is_right = self._num_bounds > 0
        for first in range(0, self._num_bounds, CHUNK):
            bounds = self._bounds(first, min(first + CHUNK, self._num_bounds))
            is_right = is_right and bounds[0] >= before and (np.diff(bounds) >= 0).all() and (first or bounds[0] == 0)
            before = int(bounds[-1])
        if not is_right or before != self._sequences:
            message = f"its documents do not go from sequence 0 up to {self._sequences:,}"
            raise refused(self._file.path, message, "index-damaged", found=before)

    def found(self) -> Iterator[FoundDocuments]:
        """Its documents. Each is one sequence or more."""
        for first in range(0, self._num_bounds - 1, CHUNK):
            bounds = self._bounds(first, min(first + CHUNK + 1, self._num_bounds))
            low, high = int(bounds[0]), int(bounds[-1])
            sums = np.concatenate([[0], np.cumsum(self._lengths(low, high))])
            yield whole_documents(np.diff(sums[bounds - low]), first)
