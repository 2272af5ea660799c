"""An object as a file that is read from front to end, or by those that seek."""

from __future__ import annotations

import io

from mixture.data.storage.facts import StoredObject
from mixture.data.storage.retries import Objects
from mixture.data.storage.spans import Span

PART_BYTES = 1 << 22


class ObjectFile(io.RawIOBase):
    """An object, read in parts of 4 MiB where one reads on, and else as asked for. Nothing is kept of it.

    Errors: StoreError, those of `Objects`.
    """

    def __init__(self, objects: Objects, found: StoredObject) -> None:
        super().__init__()
        self._objects, self._object = objects, found
        self._at = 0
        self._part = range(0)
        self._data = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where it stands."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte."""
        before = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._object.facts.size}[whence]
        self._at = before + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer only at the end."""
        end = self._object.facts.size
        stop = end if size is None or size < 0 else min(end, self._at + size)
        parts = []
        while self._at < stop:
            if self._at not in self._part:
                self._get(self._at, stop)
            part = self._data[self._at - self._part.start : stop - self._part.start]
            parts.append(part)
            self._at += len(part)
        return b"".join(parts)

    def readall(self) -> bytes:
        """All that is left."""
        return self.read()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """As many bytes as there is room for."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _get(self, start: int, stop: int) -> None:
        is_next = start == self._part.stop and start > 0
        last = min(self._object.facts.size, start + PART_BYTES if is_next else max(stop, start + 1))
        self._data = self._objects.read(Span(self._object, start, min(last, start + PART_BYTES)))
        self._part = range(start, start + len(self._data))
