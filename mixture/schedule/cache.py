"""A cache that is bounded in bytes, least recently used first out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """What can say how many bytes it takes."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Sized)

ENTRY_BYTES = 400
"""What an entry takes beside its value: key, objects, links (measured: 350); most of it where values are tiny."""


class ByteCache(Generic[T]):
    """At most about `max_bytes` of memory, and always the newest value. Any number of threads may share it.

    Values must not change once they are put. Two threads may make the same one; the later takes its place.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._bytes = 0
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        with self._guard:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: Hashable, value: T) -> T:
        with self._guard:
            old = self._values.pop(key, None)
            if old is not None:
                self._bytes -= old.nbytes + ENTRY_BYTES
            self._values[key] = value
            self._bytes += value.nbytes + ENTRY_BYTES
            while self._bytes > self.max_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1].nbytes + ENTRY_BYTES
            return value

    def get_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        value = self.get(key)
        return self.put(key, make()) if value is None else value
