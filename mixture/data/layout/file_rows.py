"""Rows of bytes out of files that are open, many of them at a time."""

from __future__ import annotations

import mmap
import resource
import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mixture.data.layout.gather import Bytes, gather, longest
from mixture.data.layout.mapping import Memory, OpenFile, Standing
from mixture.errors import Place, StoreError

I64 = NDArray[np.int64]
ReadAcross = Callable[[int, memoryview], None]
"""Reads a row that goes on in another file: its number among the rows, and where its bytes go."""


class Files(dict[int, OpenFile]):
    """The files of tokens by number, each opened when first asked for.

    With its map a file holds two descriptors, so no more are kept than a quarter of the files a process may open; the
    oldest goes first. A view of its map stays good. Safe from any number of threads: what is open is found without a
    lock, and opened under one.
    """

    def __init__(self, paths: Sequence[str], sizes: Sequence[int], standing: Standing) -> None:
        """sizes: their bytes, as far as they are read."""
        super().__init__()
        self._standing = standing
        self._paths = paths
        self._sizes = np.array(sizes, np.int64)
        self._most = max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
        self._most_mapped = self._most // 8
        """Files whose maps one call may hold, kept here or not: a map has a descriptor, and many threads call."""
        self._guard = threading.Lock()

    def __missing__(self, number: int) -> OpenFile:
        with self._guard:
            # Another thread may have opened it while this one waited.
            found = self.get(number)
            return self._open(number) if found is None else found

    def _open(self, number: int) -> OpenFile:
        # Reading ahead around a row costs 2 ms where it lies in a hole. Who wants rows sooner calls prefetch.
        opened = OpenFile(self._paths[number], int(self._sizes[number]), self._standing, advice=mmap.MADV_RANDOM)
        while len(self) >= self._most:
            self.pop(next(iter(self)))
        self[number] = opened
        return opened

    def checked(self, number: int) -> OpenFile:
        """A file that was not written to since the store was opened."""
        file = self[number]
        file.check()
        return file

    def rows(self, file: I64, place: I64, size: int, across: I64, read_across: ReadAcross) -> Bytes:
        """Rows of bytes [n, size], each from byte place[i] of file number file[i] on; of files not written to since.

        across:      the rows that go on in another file
        read_across: reads one of them

        Errors: StoreError `file-size`, `store-changed`.
        """
        within: I64 | slice = np.delete(np.arange(len(file)), across) if len(across) else slice(None)
        outside = place[within] + size > self._sizes[file[within]]
        if outside.any():
            path = self._paths[int(file[within][outside.argmax()])]
            raise StoreError("ends before tokens that stand in it", code="file-size", place=Place(file=path))
        found = self._gathered(file[within], place[within], size)
        if found is not None and not len(across):
            return found
        made = np.empty((len(file), size), np.uint8)
        if found is None:
            self.fill(made, file, place, across, read_across)
            return made
        made[within] = found
        for row in across.tolist():
            read_across(row, made[row].data)
        return made

    def _gathered(self, file: I64, place: I64, size: int) -> Bytes | None:
        """Rows within files in one copy, where so many files may be mapped and rows of this size be gathered."""
        numbers = set(file.tolist())
        if not numbers or not size or len(numbers) > self._most_mapped:
            return None
        begins = np.empty(max(numbers) + 1, np.int64)
        memories: list[Memory] = []
        for number in numbers:
            memory = self.checked(number).memory
            begins[number] = memory.start
            memories.append(memory)
        if size > longest(max(memory.start + len(memory.bytes) for memory in memories)):
            return None
        return gather(begins[file] + place, size)

    def fill(self, out: Bytes, file: I64, place: I64, across: I64, read_across: ReadAcross) -> None:
        """The same into out [n, size], contiguous, row by row. Files of which one call may not map so many are read."""
        numbers, goes_on = set(file.tolist()), set(across.tolist())
        is_mapped = len(numbers) <= self._most_mapped
        maps = {number: memoryview(self.checked(number).mapped) for number in numbers} if is_mapped else {}
        size, target = out.shape[1], out.reshape(-1).data
        for row, (number, at) in enumerate(zip(file.tolist(), place.tolist(), strict=True)):
            here = target[row * size : (row + 1) * size]
            if row in goes_on:
                read_across(row, here)
            elif is_mapped:
                here[:] = maps[number][at : at + size]
            else:
                self.checked(number).read(at, here)

    def prefetch(self, number: int, start: int, size: int) -> None:
        """Ask the system to read bytes [start, start + size) of a file."""
        first = start // mmap.PAGESIZE * mmap.PAGESIZE
        self[number].mapped.madvise(mmap.MADV_WILLNEED, first, start + size - first)
