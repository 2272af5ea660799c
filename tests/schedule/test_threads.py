"""Threads that share a schedule get what each would have got alone."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mixture.schedule import WHOLE, Batch, Domain, Schedule, ScheduleData, Segment
from mixture.schedule.cache import ENTRY_BYTES, ByteCache
from mixture.schedule.permute import Permutation

THREADS = 8
DATA = ScheduleData(
    seed=7,
    block_tokens=64,
    window_blocks=64,
    domains=tuple(Domain(f"d{i}", 64 * 3_000 + 8 * i) for i in range(12)),
    segments=(
        Segment(0, 900, 8, (WHOLE // 4,) * 4 + (0,) * 8),
        Segment(900, 2_000, 16, (0,) * 4 + (WHOLE // 8,) * 8),
    ),
    batches=(Batch(0, 96), Batch(1_500, 40)),
)


@pytest.fixture(autouse=True)
def threads_take_turns_at_once() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], object]) -> list[object]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, range(THREADS)))


def answers(schedule: Schedule, seed: int) -> list[object]:
    """Ranges, single positions, tokens and counts, at random places."""
    rng, found = random.Random(seed), []
    for _ in range(25):
        start = rng.randrange(schedule.num_sequences - 500)
        for rows in (schedule.rows(start, rng.randrange(500)), schedule.at([start, start + 77])):
            found.append([column.tolist() for column in (rows.position, rows.domain, rows.draw, rows.sequence)])
        found.append(schedule.find(f"d{rng.randrange(12)}", rng.randrange(64 * 3_000)))
        step = rng.randrange(schedule.steps)
        found += [schedule.counts(step).tolist(), schedule.tokens(step).tolist(), schedule.history(step)]
    return found


def test_a_shared_schedule_answers_as_one_of_its_own():
    shared = Schedule(DATA)
    assert at_once(lambda seed: answers(shared, seed)) == [answers(Schedule(DATA), seed) for seed in range(THREADS)]


def test_a_permutation_is_inverted_whole_before_another_thread_sees_it():
    for key in range(200):
        permutation = Permutation(5_000, key)
        j = permutation(17)
        assert set(at_once(lambda _, p=permutation, j=j: p.inverse(j))) == {17}


def test_a_shared_cache_keeps_to_its_bytes_and_its_values():
    cache: ByteCache[np.ndarray] = ByteCache(10 * (ENTRY_BYTES + 80))

    def work(thread: int) -> None:
        rng = random.Random(thread)
        for _ in range(3_000):
            key = rng.randrange(30)
            assert cache.get_or_make(key, lambda key=key: np.full(10, key))[0] == key

    at_once(work)
    kept = [key for key in range(30) if cache.get(key) is not None]
    assert len(kept) == 10
