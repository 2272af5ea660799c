"""Megatron's pairs of files: NAME.bin, all tokens one behind the other, and NAME.idx, which says where they end.

NAME.idx has 9 bytes "MMIDIDX", 0, 0; uint64 version, 1; uint8 code of the type; uint64 sequences; uint64 bounds; then
of each sequence the int32 number of its tokens, then of each the int64 first byte; int64 bounds of documents: the
first sequence of each, and one past the last; perhaps an int8 mode of each sequence. All little-endian.
Documented with Megatron Core's `IndexedDataset`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixture.store.foreign.survey import CHUNK, FoundDocuments, Survey, one_piece, refused, token_type, whole_documents

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
CODES = {
    1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float64, 7: np.float32, 8: np.uint16,
}  # fmt: skip
"""The code of each type of token."""


def index_of(path: Path) -> Path:
    """The NAME.idx of a NAME.bin. Errors: StoreError `index-missing`."""
    index = path.with_suffix(".idx")
    if path.suffix != ".bin":
        raise refused(path, "is no NAME.bin", "index-missing", "Megatron's tokens lie in NAME.bin, beside NAME.idx")
    if not index.is_file():
        raise refused(index, f"is missing, and {path.name} is there", "index-missing")
    return index


def survey(path: Path) -> Survey:
    """The documents of NAME.idx over the tokens of NAME.bin."""
    index = _Index(index_of(path))
    dtype = token_type(index.dtype, index.path)
    size, expected = path.stat().st_size, index.check_pointers(dtype.itemsize)
    if size != expected:
        message = f"has {size:,} bytes, and {index.path.name} places tokens up to {expected:,}"
        raise refused(path, message, "index-disagrees", found=size, expected=expected)
    return one_piece(dtype, 0, size // dtype.itemsize, index.found)


def header(dtype: np.dtype[Any], documents: int) -> bytes:
    """What an index of documents of one sequence each begins with."""
    (code,) = (code for code, known in CODES.items() if known == dtype)
    return HEADER.pack(MAGIC, VERSION, code, documents, documents + 1)


class _Index:
    """A NAME.idx, mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        size = path.stat().st_size
        if size < HEADER.size:
            raise refused(path, f"has {size:,} bytes, and its header alone {HEADER.size}", "index-damaged")
        with path.open("rb") as file:
            magic, version, code, self._sequences, bounds = HEADER.unpack(file.read(HEADER.size))
        if magic != MAGIC or version != VERSION:
            raise refused(path, "does not begin as an index of version 1 does", "index-damaged")
        if code not in CODES:
            known = ", ".join(map(str, CODES))
            raise refused(path, f"says that tokens are of type {code}", "index-damaged", f"known are {known}")
        self.dtype: np.dtype[Any] = np.dtype(CODES[code])
        plain = HEADER.size + 12 * self._sequences + 8 * bounds
        if size not in (plain, plain + self._sequences):
            message = f"has {size:,} bytes, and {self._sequences:,} sequences with {bounds:,} bounds take {plain:,}"
            raise refused(path, message, "index-damaged", found=size, expected=plain)
        self._lengths = self._array(np.int32, HEADER.size, self._sequences)
        self._pointers = self._array(np.int64, HEADER.size + 4 * self._sequences, self._sequences)
        self._bounds = self._array(np.int64, HEADER.size + 12 * self._sequences, bounds)

    def _array(self, dtype: type[np.integer[Any]], start: int, count: int) -> NDArray[Any]:
        if not count:
            return np.empty(0, dtype)
        return np.memmap(self.path, np.dtype(dtype).newbyteorder("<"), "r", start, (count,))

    def check_pointers(self, itemsize: int) -> int:
        """Whether sequences follow one another; where the last one ends, in bytes."""
        end = 0
        for first in range(0, self._sequences, CHUNK):
            lengths = self._lengths[first : first + CHUNK].astype(np.int64)
            ends = end + np.cumsum(lengths * itemsize)
            wrong = np.flatnonzero((self._pointers[first : first + CHUNK] != ends - lengths * itemsize) | (lengths < 0))
            if len(wrong):
                at = int(wrong[0])
                message = (
                    f"sequence {first + at:,} has {lengths[at]:,} tokens from byte {self._pointers[first + at]:,}, and "
                    f"the one before ends at {ends[at] - lengths[at] * itemsize:,}"
                )
                raise refused(self.path, message, "index-damaged", "sequences that follow one another are right here")
            end = int(ends[-1])
        self._check_bounds()
        return end

    def _check_bounds(self) -> None:
        bounds = self._bounds
        if not self._sequences and not len(bounds):
            return
        ends = (int(bounds[0]), int(bounds[-1])) if len(bounds) else (0, 0)
        falls = any((np.diff(bounds[i : i + CHUNK + 1]) < 0).any() for i in range(0, len(bounds), CHUNK))
        if ends != (0, self._sequences) or falls:
            message = f"its documents do not go from sequence 0 up to {self._sequences:,}"
            raise refused(self.path, message, "index-damaged", found=ends)

    def found(self) -> Iterator[FoundDocuments]:
        """Its documents. Each is one sequence or more."""
        for first in range(0, len(self._bounds) - 1, CHUNK):
            bounds = self._bounds[first : first + CHUNK + 1].astype(np.int64)
            low, high = int(bounds[0]), int(bounds[-1])
            sums = np.concatenate([[0], np.cumsum(self._lengths[low:high], dtype=np.int64)])
            yield whole_documents(np.diff(sums[bounds - low]), first)
