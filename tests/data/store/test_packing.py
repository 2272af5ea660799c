"""Which documents share a row: whole documents, best fit, in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.data.derived.packing import WINDOW_DOCUMENTS, WINDOW_TOKENS, Parts, pack_rows, window_size

lengths_of = st.lists(st.one_of(st.integers(1, 40), st.integers(1, 400)), max_size=80)


def rows_of(parts: Parts, row_tokens: int) -> dict[int, list[tuple[int, int, int]]]:
    """By row the parts in it: document, begin and tokens."""
    rows: dict[int, list[tuple[int, int, int]]] = {}
    columns = (parts.document, parts.begin, parts.tokens, parts.first_token)
    for document, begin, tokens, first in zip(*(column.tolist() for column in columns), strict=True):
        rows.setdefault(first // row_tokens, []).append((document, begin, tokens))
    return rows


def naive_best_fit(lengths: list[int], row_tokens: int) -> list[list[int]]:
    """Documents by row, from the rule's words, every row looked at for every document."""
    rows: list[list[int]] = []
    filled: list[int] = []  # rows in the order in which they were filled last
    for document in sorted(range(len(lengths)), key=lambda d: (-lengths[d], d)):
        spaces = {row: row_tokens - sum(lengths[d] for d in rows[row]) for row in filled}
        fitting = [row for row in filled if spaces[row] >= lengths[document]]
        least = min((spaces[row] for row in fitting), default=None)
        if least is None:
            rows.append([])
            chosen = len(rows) - 1
        else:
            chosen = [row for row in fitting if spaces[row] == least][-1]
            filled.remove(chosen)
        rows[chosen].append(document)
        filled.append(chosen)
    return rows


@given(lengths_of, st.integers(1, 100))
def test_every_token_of_every_document_is_in_a_row_once_and_a_documents_parts_are_in_order(lengths, row_tokens):
    parts = pack_rows(np.array(lengths, np.int64), row_tokens)
    found: dict[int, list[tuple[int, int]]] = {}
    for document, begin, tokens in zip(
        parts.document.tolist(), parts.begin.tolist(), parts.tokens.tolist(), strict=True
    ):
        found.setdefault(document, []).append((begin, tokens))
    assert sorted(found) == list(range(len(lengths)))
    for document, held in found.items():
        *whole, rest = held
        assert [begin for begin, _ in held] == [row_tokens * i for i in range(len(held))]
        assert all(tokens == row_tokens for _, tokens in whole)
        assert row_tokens * len(whole) + rest[1] == lengths[document]
        assert 0 < rest[1] <= row_tokens


@given(lengths_of, st.integers(1, 100))
def test_a_rows_parts_follow_each_other_from_its_beginning_and_no_row_is_empty(lengths, row_tokens):
    parts = pack_rows(np.array(lengths, np.int64), row_tokens)
    ends = (parts.first_token + parts.tokens).tolist()
    expected = 0
    for first, end in zip(parts.first_token.tolist(), ends, strict=True):
        if first != expected:  # what is left of the row before is padding
            assert first == -(-expected // row_tokens) * row_tokens
        assert (end - 1) // row_tokens == first // row_tokens
        expected = end
    assert -(-expected // row_tokens) == parts.rows
    assert sorted(rows_of(parts, row_tokens)) == list(range(parts.rows))


@given(lengths_of, st.integers(1, 100))
def test_parts_are_in_order_of_storage_within_rows_and_rows_in_order_of_their_last(lengths, row_tokens):
    rows = rows_of(pack_rows(np.array(lengths, np.int64), row_tokens), row_tokens)
    assert all(held == sorted(held) for held in rows.values())
    last = [rows[row][-1] for row in sorted(rows)]
    assert last == sorted(last)


@given(st.lists(st.integers(1, 60), max_size=60), st.integers(60, 2000))
def test_documents_go_where_the_least_space_is_left(lengths, row_tokens):
    rows = rows_of(pack_rows(np.array(lengths, np.int64), row_tokens), row_tokens)
    expected = sorted(sorted(row) for row in naive_best_fit(lengths, row_tokens))
    assert sorted([document for document, _, _ in row] for row in rows.values()) == expected


def test_spaces_beyond_the_first_thousand_are_found_too():
    lengths = [3000, 5000, 1001, 3095, 2000]
    rows = rows_of(pack_rows(np.array(lengths, np.int64), 6096), 6096)
    # 5000 leaves 1096, which 1001 fits into; 3095 leaves 3001, which 3000 fits into; 2000 fits into nothing.
    assert sorted([document for document, _, _ in row] for row in rows.values()) == [[0, 3], [1, 2], [4]]


@given(lengths_of, st.integers(1, 100))
def test_at_most_one_row_is_filled_by_half_or_less(lengths, row_tokens):
    rows = rows_of(pack_rows(np.array(lengths, np.int64), row_tokens), row_tokens)
    filled = [sum(tokens for _, _, tokens in row) for row in rows.values()]
    assert sum(2 * tokens <= row_tokens for tokens in filled) <= 1


def test_a_hundred_thousand_documents_leave_next_to_nothing_empty():
    lengths = np.random.default_rng(7).geometric(1 / 700, 100_000).astype(np.int64)
    parts = pack_rows(lengths, 4096)
    assert parts.rows <= -(-int(lengths.sum()) // 4096) * 1.001


@pytest.mark.parametrize(
    ("lengths", "size"),
    [
        ([], 0),
        ([5], 1),
        ([1] * (WINDOW_DOCUMENTS + 3), WINDOW_DOCUMENTS),
        ([WINDOW_TOKENS], 1),
        ([1, WINDOW_TOKENS, 1], 2),
        ([WINDOW_TOKENS - 1, 1, 1], 2),
        ([WINDOW_TOKENS - 2, 1], 2),
    ],
)
def test_a_window_ends_with_its_documents_or_with_the_one_that_brings_it_to_its_tokens(lengths, size):
    assert window_size(np.array(lengths, np.int64)) == size
