"""Threads that some kinds of work have to themselves: slow requests do not take them, and they take none of theirs."""

from __future__ import annotations

from enum import StrEnum

import anyio
from anyio.lowlevel import RunVar


class Work(StrEnum):
    """What has threads of its own."""

    BATCHES = "batches"
    TABLES = "tables"
    LOGS = "logs"
    BODIES = "bodies"
    FIRST = "first"


MOST = {Work.BATCHES: 4, Work.TABLES: 2, Work.LOGS: 2, Work.BODIES: 2, Work.FIRST: 4}
"""Record batches that are read at a time; more would take the interpreter from the loop for longer. Pieces of long
tables that are made at a time: each takes some 25 MB while it is made. Logs of runs that are read for streams.
Bodies that are decoded and checked. Answers that need what is not in memory yet: a published mixture, groups of its
domains. Those that wait for such a thread hold none."""

_limiters: RunVar[dict[Work, anyio.CapacityLimiter]] = RunVar("threads of kinds of work")


def threads_of(work: Work) -> anyio.CapacityLimiter:
    """The threads for a kind of work, for `anyio.to_thread.run_sync(…, limiter=…)`. Each event loop has its own."""
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {kind: anyio.CapacityLimiter(most) for kind, most in MOST.items()}
        _limiters.set(limiters)
    return limiters[work]
