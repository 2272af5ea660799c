"""Memory for record batches: used again while it is warm, given back to the system where many were needed.

The heap keeps what it had: 250 MB of 100 slow clients stayed with a service when they had left. And a fresh mapping
for each record batch costs as much, for its page faults, as copying the tokens into it.
"""

from __future__ import annotations

import mmap
import sys
import threading

import numpy as np

from mixture.stream.batch import Tokens

KEPT = 8


class Buffers:
    """Arrays to read tokens into. Safe from any number of threads."""

    def __init__(self, size: int, kept: int = KEPT) -> None:
        self._size = size
        self._most = kept
        self._kept: list[mmap.mmap] = []
        self._guard = threading.Lock()

    def take(self, shape: tuple[int, int], dtype: np.dtype[np.unsignedinteger]) -> Tokens:
        """An array whose memory nobody else uses, of any content. It is free again when nothing refers to it."""
        count = shape[0] * shape[1]
        size = count * dtype.itemsize
        if not 0 < size <= self._size:
            return np.empty(shape, dtype)
        with self._guard:
            memory = self._free()
            if memory is None:
                memory = mmap.mmap(-1, self._size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                if len(self._kept) < self._most:
                    self._kept.append(memory)
            return np.frombuffer(memory, dtype, count).reshape(shape)

    def _free(self) -> mmap.mmap | None:
        # Whatever shows a part of a mapping (arrays, Arrow's buffers, views that a server has still to send) refers to
        # it, or its memory could go from under them: here only the list, the loop and the argument do.
        for memory in self._kept:
            if sys.getrefcount(memory) == 3:
                return memory
        return None
