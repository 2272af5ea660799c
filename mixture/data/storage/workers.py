"""Threads that work while others wait, or do not wait yet: who waits goes first."""

from __future__ import annotations

import itertools
import queue
import threading
import weakref
from collections.abc import Callable
from enum import IntEnum

Work = Callable[[], None]


class Need(IntEnum):
    """How soon work is to be done; smaller is sooner."""

    STOP = 0
    AWAITED = 1
    AHEAD = 2


_Queue = queue.PriorityQueue[tuple[Need, int, Work | None]]


class Workers:
    """Up to so many threads, begun as they are needed. They end with this, and with the process, whatever they do:
    nobody waits for what was to be there ahead.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._queue: _Queue = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._threads: list[threading.Thread] = []
        self._guard = threading.Lock()
        weakref.finalize(self, _stop, self._queue, self._threads)

    def submit(self, work: Work, need: Need) -> None:
        """Have something done, which must not raise."""
        self._queue.put((need, next(self._numbers), work))
        with self._guard:
            if len(self._threads) < self._most:
                thread = threading.Thread(target=_work, args=(self._queue,), name="mixture-objects", daemon=True)
                self._threads.append(thread)
                thread.start()


def _work(waiting: _Queue) -> None:
    while True:
        _, _, work = waiting.get()
        if work is None:
            return
        work()
        del work  # else the thread would hold what the work holds until there is more of it


def _stop(waiting: _Queue, threads: list[threading.Thread]) -> None:
    for number in range(len(threads)):
        waiting.put((Need.STOP, number, None))
