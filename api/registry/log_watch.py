"""Who waits for the logs of runs to grow: the database is asked once a moment, for all of them together.

The log itself is the only channel, so a report that came in through another copy of the service is seen here as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import anyio.to_thread

from mixture.api.middleware import Work, threads_of
from mixture.errors import MixtureError

POLL_SECONDS = 0.5

logger = logging.getLogger("mixture.service")


class LogWatch:
    """The waiting streams of one copy. Used from one event loop."""

    def __init__(self, last_seqs: Callable[[Collection[str]], Mapping[str, int]], stopping: asyncio.Event) -> None:
        self._last_seqs = last_seqs
        self._stopping = stopping
        self._waiting: dict[str, dict[asyncio.Future[bool], int]] = defaultdict(dict)
        self._polling: asyncio.Task[None] | None = None

    async def grown(self, run_id: str, after: int) -> bool:
        """Wait until a run's log has an entry behind number `after`; False where the process is ending instead."""
        if self._stopping.is_set():
            return False
        news: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[run_id][news] = after
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            return await news
        finally:
            self._waiting[run_id].pop(news)
            if not self._waiting[run_id]:
                del self._waiting[run_id]

    async def _poll(self) -> None:
        """Ask, as long as somebody waits."""
        try:
            while self._waiting and not await self._ends_within(POLL_SECONDS):
                try:
                    run_ids = list(self._waiting)
                    found = await anyio.to_thread.run_sync(self._last_seqs, run_ids, limiter=threads_of(Work.LOGS))
                except MixtureError as error:
                    logger.warning("logs of runs can not be read now: %s", error)
                    continue
                for run_id, last_seq in found.items():
                    self._tell(run_id, last_seq)
        finally:
            self._polling = None
            for waiting in self._waiting.values():
                for news in waiting:
                    if not news.done():
                        news.set_result(False)

    def _tell(self, run_id: str, last_seq: int) -> None:
        for news, after in self._waiting.get(run_id, {}).items():
            if last_seq > after and not news.done():
                news.set_result(True)

    async def _ends_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True
