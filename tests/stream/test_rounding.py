"""Controlled rounding: every entry and every sum of a table is off by less than one."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.stream.table_rounding import round_table


@settings(max_examples=examples(400))
@given(rows=st.integers(1, 7), columns=st.integers(1, 14), seed=st.integers(0, 10**6), share=st.integers(1, 1000))
def test_entries_rows_and_columns_are_off_by_less_than_one(rows, columns, seed, share):
    rng = random.Random(seed)
    kinds = (0, 1, rng.randrange(9), rng.randrange(10**15))
    table = [[rng.choice(kinds) for _ in range(columns)] for _ in range(rows)]
    whole = sum(map(sum, table))
    if not whole:
        return
    count = max(1, whole * share // 1000)
    entries = [[entry * count for entry in row] for row in table]
    got = round_table(entries, whole)

    def near(rounded: int, exact: int) -> bool:
        return abs(rounded * whole - exact) < whole

    assert sum(map(sum, got)) == count
    for row, exact, most in zip(got, entries, table, strict=True):
        assert near(sum(row), sum(exact))
        assert all(0 <= n <= m and near(n, e) for n, e, m in zip(row, exact, most, strict=True))
    for c in range(columns):
        assert near(sum(row[c] for row in got), sum(row[c] for row in entries))
    assert round_table(entries, whole) == got


def test_what_is_whole_stays_and_what_is_not_goes_either_way():
    assert round_table([[4, 8], [12, 0]], 4) == [[1, 2], [3, 0]]
    assert round_table([[1, 1], [1, 1]], 2) in ([[1, 0], [0, 1]], [[0, 1], [1, 0]])


def test_many_rows_and_many_columns_are_settled():
    rng = random.Random(3)
    for rows, columns in ((60, 40), (2, 4000)):
        table = [[rng.randrange(10**9) for _ in range(columns)] for _ in range(rows)]
        whole = sum(map(sum, table))
        got = round_table([[entry * 777 for entry in row] for row in table], whole)
        assert sum(map(sum, got)) == 777
