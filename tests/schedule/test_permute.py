"""Keyed permutations: bijective, with inverses, fair over small orders, and without pattern in large ones."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.schedule.permute import SORTED_LIMIT, FeistelKeys, Keys, Permutation, key64, sorted_tables

SIZES = [1, 2, 3, 7, 1_000, SORTED_LIMIT, SORTED_LIMIT + 1, 65_536, 65_537, (1 << 20) + 1]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("key", [0, 2**64 - 1, 0x0123456789ABCDEF])
def test_each_index_comes_once_and_the_inverse_leads_back(n, key):
    permutation = Permutation(n, key)
    out = permutation.many(np.arange(n))
    assert np.array_equal(np.sort(out), np.arange(n))
    some = np.unique(np.linspace(0, n - 1, 500).astype(np.int64)).tolist()
    for i in some:
        assert permutation(i) == out[i]
        assert permutation.inverse(int(out[i])) == i
        assert permutation(permutation.inverse(i)) == i


@given(n=st.integers(SORTED_LIMIT + 1, 2**62), key=st.integers(0, 2**64 - 1), data=st.data())
def test_far_larger_permutations_have_inverses_and_agree_in_arrays(n, key, data):
    indices = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=20, unique=True))
    permutation = Permutation(n, key)
    out = [permutation(i) for i in indices]
    assert all(0 <= j < n for j in out)
    assert len(set(out)) == len(out)
    assert [permutation.inverse(j) for j in out] == indices
    assert permutation.many(np.array(indices)).tolist() == out


def test_many_permutations_at_once_are_the_same_as_each_alone():
    keys = np.array([key64(0, "test", i) for i in range(5)], dtype=np.uint64)
    for n in (1, 2, 1_000, SORTED_LIMIT):
        for row, key in zip(sorted_tables(n, keys), keys.tolist(), strict=True):
            assert np.array_equal(row, Permutation(n, key).many(np.arange(n)))
    sizes = np.array([20_000, 65_536, 65_537, 10**6, 10**12])
    indices = np.arange(300)
    for row, n, key in zip(FeistelKeys(sizes, keys)(indices[None, :]), sizes.tolist(), keys.tolist(), strict=True):
        assert np.array_equal(row, Permutation(n, key).many(indices))


def test_permutations_are_the_oracles(oracle):
    for n in [*SIZES, 10**9 + 7, 2**45]:
        for key in (0, 2**64 - 1, 12345):
            ours, theirs = Permutation(n, key), oracle.Permutation(n, key)
            for i in {0, n // 3, n - 1}:
                assert ours(i) == theirs(i)
                assert ours.inverse(i) == theirs.inverse(i)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_orders_of_a_few_are_about_equally_likely(n):
    orders = list(permutations(range(n)))
    trials = 200 * len(orders)
    keys = Keys(7, "orders", n).many([str(i) for i in range(trials)])
    seen = Counter(tuple(row) for row in sorted_tables(n, keys).tolist())
    assert set(seen) == set(orders)
    chi_square = sum((count - 200) ** 2 / 200 for count in seen.values())
    free = len(orders) - 1
    assert chi_square < free + 5 * (2 * free) ** 0.5 + 5


@pytest.mark.parametrize("n", [1_000, SORTED_LIMIT, 16_385, 65_536, 1 << 20, (1 << 20) + 1, 1_000_000])
@pytest.mark.parametrize("key", [0, 99, 2**63])
def test_low_bits_of_a_permuted_index_do_not_follow_the_low_bits_of_the_index(n, key):
    i = np.arange(n)
    j = Permutation(n, key).many(i)
    for base in (2, 8, 11):
        table = np.zeros((base, base))
        np.add.at(table, (i % base, j % base), 1)
        due = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
        free = (base - 1) ** 2
        assert ((table - due) ** 2 / due).sum() < free + 5 * (2 * free) ** 0.5 + 3


@pytest.mark.parametrize("n", [1_000, 65_537, 1 << 20])
def test_neighbours_are_not_neighbours_afterwards(n):
    out = Permutation(n, 5).many(np.arange(n))
    away = np.diff(out)
    assert np.abs(away).mean() == pytest.approx(n / 3, rel=0.1)
    assert Counter(away.tolist()).most_common(1)[0][1] < 12  # no stride stands out


def test_nearby_keys_give_unrelated_orders():
    n = 100_000
    orders = [Permutation(n, key).many(np.arange(n)) for key in range(6)]
    for a in range(6):
        for b in range(a):
            assert (orders[a] == orders[b]).sum() < 10  # by chance: 1
