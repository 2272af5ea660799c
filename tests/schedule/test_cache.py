"""The cache keeps what was used last, within its bytes, however small the values are."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from mixture.schedule.cache import ByteCache


@pytest.mark.parametrize("elements", [0, 3, 1_000])
def test_a_full_cache_takes_about_the_memory_it_is_allowed(elements):
    allowed = 2 << 20
    cache: ByteCache[np.ndarray] = ByteCache(allowed)
    tracemalloc.start()
    try:
        for i in range(20_000):
            cache.put(("name", i, 0), np.zeros(elements, dtype=np.int64))
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.6 * allowed < taken < 1.4 * allowed


def test_what_was_used_last_stays_and_what_was_used_first_goes():
    cache: ByteCache[np.ndarray] = ByteCache(3_000)
    for key in "abc":
        cache.put(key, np.full(64, ord(key)))
    assert cache.get("a") is not None
    cache.put("d", np.zeros(64))
    assert cache.get("b") is None
    assert all(cache.get(key) is not None for key in "acd")


def test_the_newest_value_stays_even_where_it_is_too_large():
    cache: ByteCache[np.ndarray] = ByteCache(100)
    cache.put("small", np.zeros(1))
    cache.put("large", np.zeros(10_000))
    assert cache.get("small") is None
    assert cache.get("large") is not None


def test_a_value_put_twice_counts_once():
    cache: ByteCache[np.ndarray] = ByteCache(2_500)
    cache.put("kept", np.zeros(64))
    for _ in range(50):
        cache.put("again", np.zeros(64))
    assert cache.get("kept") is not None


def test_a_value_is_made_once():
    cache: ByteCache[np.ndarray] = ByteCache(10_000)
    first = cache.get_or_make("key", lambda: np.arange(5))
    assert cache.get_or_make("key", lambda: np.arange(9)) is first
