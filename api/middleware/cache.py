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
    """The values asked for last, up to `most`: so many, or what `weigh` makes of them. Safe from any number of threads.

    A value that weighs more than `most` by itself is not kept.
    """

    def __init__(self, most: int, *, weigh: Callable[[V], int] = lambda _: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._weights: dict[K, int] = {}
        self._weight = 0
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
            weight = self._weigh(made)
        except BaseException as error:
            with self._guard:
                del self._making[key]
            mine.set_exception(error)
            raise
        with self._guard:
            del self._making[key]
            self._held[key] = made
            self._weights[key] = weight
            self._weight += weight
            while self._weight > self._most:
                oldest, _ = self._held.popitem(last=False)
                self._weight -= self._weights.pop(oldest)
        mine.set_result(made)
        return made
