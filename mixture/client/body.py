"""The body of an answer as Arrow reads it: straight into memory that is used again."""

from __future__ import annotations

from http.client import HTTPResponse

import numpy as np

from mixture.stream import Buffers

LARGE_BYTES = 1 << 16
BUFFER_BYTES = 17 << 20
"""Of a record batch: at most 16 MiB of tokens, and what stands beside them."""


class Body:
    """A file to read. `HTTPResponse.read` would copy what came in chunks once more, into new memory."""

    closed = False

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self._buffers = Buffers(BUFFER_BYTES, 2)

    def read(self, size: int) -> bytes | memoryview:
        """As many bytes, fewer only where the body ends."""
        if size < LARGE_BYTES:
            return self._response.read(size)
        view = self._buffers.take((1, size), np.dtype(np.uint8)).data.cast("B")
        got = 0
        while got < size:
            more = self._response.readinto(view[got:])
            if not more:
                break
            got += more
        return view[:got]

    def close(self) -> None:
        """Whoever opened the answer closes it."""
