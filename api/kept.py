"""Values that are made once by key, and kept while there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """The values asked for last, `most` of them. Safe from any number of threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[K, V] = OrderedDict()
        self._making: dict[K, Future[V]] = {}
        self._guard = threading.Lock()

    def peek(self, key: K) -> V | None:
        """The value if it is kept."""
        with self._guard:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value that is kept, or that `make` gives.

        Threads that ask for the same one make it once: all of them get the value, or what `make` raised. An error is
        not kept: whoever asks after it has it made again.
        """
        with self._guard:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            others = self._making.get(key)
            if others is None:
                mine = self._making[key] = Future()
        return self._make(key, make, mine) if others is None else others.result()

    def _make(self, key: K, make: Callable[[], V], mine: Future[V]) -> V:
        try:
            made = make()
        except BaseException as error:
            with self._guard:
                del self._making[key]
            mine.set_exception(error)
            raise
        with self._guard:
            del self._making[key]
            self._held[key] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        mine.set_result(made)
        return made
