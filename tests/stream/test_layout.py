"""Positions, boundaries and loss masks of documents in rows, against rows written out by hand and one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.data.layout import Spans
from mixture.errors import StreamError
from mixture.stream import layout


def spans_of(rows: list[list[int]], closed: list[bool]) -> Spans:
    """Rows of the lengths of their segments."""
    offsets = np.cumsum([0, *map(len, rows)])
    ends = [np.cumsum(row) for row in rows]
    end = np.concatenate(ends) if ends else np.empty(0, np.int64)
    return Spans(offsets, np.arange(len(end)), end, np.array(closed, np.bool_))


# Two rows of eight tokens: documents of 3 and 5, of which the second goes on; then its rest of 4, one of 1, one of 3
# that ends with the row.
ROWS = spans_of([[3, 5], [4, 1, 3]], [False, True])


def test_positions_begin_anew_at_each_document_and_each_row() -> None:
    found = layout.position_ids(ROWS, 8)
    assert found.dtype == np.int64
    assert found.tolist() == [[0, 1, 2, 0, 1, 2, 3, 4], [0, 1, 2, 3, 0, 0, 1, 2]]


def test_document_ids_count_the_documents_of_a_row() -> None:
    found = layout.document_ids(ROWS, 8)
    assert found.dtype == np.int32
    assert found.tolist() == [[0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 2, 2, 2]]


def test_boundaries_are_those_of_the_batch_as_one_row_with_no_empty_segment_where_a_row_ends_with_a_document() -> None:
    bounds, longest = layout.cu_seqlens(ROWS, 8)
    assert bounds.dtype == np.int32
    assert (bounds.tolist(), longest) == ([0, 3, 8, 12, 13, 16], 5)


def test_a_loss_is_taken_of_every_label_the_end_of_documents_too_but_not_of_what_is_masked() -> None:
    masked = np.zeros((2, 9), np.bool_)
    masked[0, 4:6] = masked[1, 8] = True
    with_next = layout.loss_mask(2, 8, masked, None, next_token=True)
    assert with_next.tolist() == [[True] * 3 + [False] * 2 + [True] * 3, [True] * 7 + [False]]
    without = layout.loss_mask(2, 8, masked[:, :8], None, next_token=False)
    assert without.tolist() == [[False] + [True] * 3 + [False] * 2 + [True] * 2, [False] + [True] * 7]


def test_across_documents_no_loss_is_taken_of_a_documents_first_token() -> None:
    with_next = layout.loss_mask(2, 8, None, ROWS, next_token=True)
    # Token 3 of the first row begins a document, and the next row goes on with it; in the second tokens 4 and 5 begin
    # one, and the token behind the row.
    assert np.flatnonzero(~with_next[0]).tolist() == [2]
    assert np.flatnonzero(~with_next[1]).tolist() == [3, 4, 7]
    without = layout.loss_mask(2, 8, None, ROWS, next_token=False)
    assert np.flatnonzero(~without[0]).tolist() == [0, 3]
    assert np.flatnonzero(~without[1]).tolist() == [0, 4, 5]


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[list[int]], int, list[bool]]:
    length = draw(st.integers(1, 12))
    made = []
    for _ in range(draw(st.integers(0, 6))):
        cuts = sorted(draw(st.sets(st.integers(1, length - 1)))) if length > 1 else []
        made.append([b - a for a, b in zip([0, *cuts], [*cuts, length], strict=True)])
    return made, length, draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made)))


@given(rows())
def test_any_rows_are_laid_out_as_one_by_one(made: tuple[list[list[int]], int, list[bool]]) -> None:
    segments, length, closed = made
    spans = spans_of(segments, closed)
    positions = [[i for size in row for i in range(size)] for row in segments]
    documents = [[d for d, size in enumerate(row) for _ in range(size)] for row in segments]
    sizes = [size for row in segments for size in row]
    assert layout.position_ids(spans, length).tolist() == positions
    assert layout.document_ids(spans, length).tolist() == documents
    bounds, longest = layout.cu_seqlens(spans, length)
    assert (np.diff(bounds).tolist(), longest) == (sizes, max(sizes, default=0))
    taken = layout.loss_mask(len(segments), length, None, spans, next_token=True)
    for i, row in enumerate(documents):
        first_of_next = [a != b for a, b in pairwise(row)] + [closed[i]]
        assert taken[i].tolist() == [not is_first for is_first in first_of_next]


def test_a_batch_of_more_tokens_than_int32_counts_is_refused() -> None:
    n, length = 1 << 11, 1 << 20
    spans = Spans(np.arange(n + 1), np.zeros(n, np.int64), np.full(n, length), np.zeros(n, np.bool_))
    with pytest.raises(StreamError) as caught:
        layout.cu_seqlens(spans, length)
    assert caught.value.code == "batch-too-long"
