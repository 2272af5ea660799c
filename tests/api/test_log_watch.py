"""Waiting for logs to grow: one question for everybody, and none where nobody waits."""

from __future__ import annotations

import asyncio

import pytest

from mixture.api.database import RepositoryError
from mixture.api.registry.log_watch import LogWatch


class Logs:
    """The last numbers of logs; away as often as it is told to be."""

    def __init__(self, **last_seqs: int) -> None:
        self.last_seqs = last_seqs
        self.asked: list[set[str]] = []
        self.times_away = 0

    def __call__(self, run_ids):
        self.asked.append(set(run_ids))
        if self.times_away:
            self.times_away -= 1
            raise RepositoryError("away", code="database-unreachable")
        return {run_id: self.last_seqs[run_id] for run_id in run_ids if run_id in self.last_seqs}


def test_those_who_wait_are_told_by_one_question_and_only_of_what_is_behind_them():
    logs = Logs(a=3, b=1)

    async def wait():
        watch = LogWatch(logs, asyncio.Event())
        behind = [asyncio.create_task(watch.grown(run, after)) for run, after in [("a", 0), ("a", 2), ("b", 0)]]
        level = asyncio.create_task(watch.grown("a", 3))
        assert await asyncio.gather(*behind) == [True, True, True]
        assert logs.asked == [{"a", "b"}]
        assert not level.done()
        logs.last_seqs["a"] = 4
        assert await level
        assert logs.asked == [{"a", "b"}, {"a"}]

    asyncio.run(wait())


def test_a_database_that_is_away_for_a_moment_only_delays():
    logs = Logs(a=1)
    logs.times_away = 1

    async def wait():
        return await LogWatch(logs, asyncio.Event()).grown("a", 0)

    assert asyncio.run(wait())
    assert len(logs.asked) == 2


def test_who_leaves_is_waited_for_no_longer():
    logs = Logs(a=0, b=1)

    async def wait():
        watch = LogWatch(logs, asyncio.Event())
        leaving = asyncio.create_task(watch.grown("a", 0))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await watch.grown("b", 0)

    asyncio.run(wait())
    assert logs.asked == [{"b"}]


def test_the_end_of_the_process_ends_the_waiting_and_lets_nobody_begin():
    logs = Logs(a=0)

    async def wait():
        stopping = asyncio.Event()
        watch = LogWatch(logs, stopping)
        waiting = [asyncio.create_task(watch.grown("a", 0)) for _ in range(3)]
        await asyncio.sleep(0)
        stopping.set()
        assert await asyncio.gather(*waiting) == [False, False, False]
        assert not await watch.grown("a", 0)

    asyncio.run(wait())
    assert logs.asked == []
