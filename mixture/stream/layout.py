"""What attention and losses ask of the documents in rows: positions, boundaries, and where no loss is taken.

Functions of spans and a length alone. For 4 Mi tokens of documents of some 700 the position ids take 10 to 20 ms, most
of it for new memory, document ids 1 to 5, the loss mask 0.5, `cu_seqlens` 0.1 (`python -m benchmarks.loaders`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mixture.data.layout import PADDING, Spans
from mixture.errors import StreamError

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def position_ids(spans: Spans, length: int) -> I64:
    """int64 [n, length]: each token's place in its segment, from 0."""
    bounds = _bounds(spans, length)
    starts = bounds[:-1] % length if length else bounds[:-1]
    places = np.repeat(starts, np.diff(bounds)).reshape(-1, length)
    return np.subtract(np.arange(length), places, out=places)


def document_ids(spans: Spans, length: int) -> npt.NDArray[np.int32]:
    """int32 [n, length]: which segment of its row each token is in, from 0."""
    counts = np.diff(spans.offsets)
    number = (np.arange(spans.offsets[-1]) - np.repeat(spans.offsets[:-1], counts)).astype(np.int32)
    return np.repeat(number, np.diff(_bounds(spans, length))).reshape(-1, length)


def cu_seqlens(spans: Spans, length: int) -> tuple[npt.NDArray[np.int32], int]:
    """Where segments begin and end in the rows laid one behind the other: int32 [segments + 1]; the longest's tokens.

    Raises StreamError, `batch-too-long`, where that is more than int32 counts.
    """
    bounds = _bounds(spans, length)
    if bounds[-1] > np.iinfo(np.int32).max:
        raise StreamError(
            f"a batch of {bounds[-1]:,} tokens is more than int32 counts",
            code="batch-too-long",
            hint="use more ranks, or split the batch",
        )
    return bounds.astype(np.int32), int(np.diff(bounds).max(initial=0))


def padding(spans: Spans, length: int) -> Bools:
    """bool [n, length]: which tokens fill up a packed row, and are of no document."""
    return np.repeat(spans.document == PADDING, np.diff(_bounds(spans, length))).reshape(-1, length)


def loss_mask(
    rows: int, length: int, masked: Bools | None, spans: Spans | None, *, next_token: bool, filled: Bools | None = None
) -> Bools:
    """bool [rows, length]: where a loss is taken.

    masked: [rows, length], or [rows, length + 1] with the next token: tokens of which none is taken
    spans:  where given, none is taken of a document's first token
    filled: [rows, length], padding: none is taken of it, nor of a token that follows it
    """
    taken = np.ones((rows, length + 1), np.bool_)  # of each token, and the one behind the row
    taken[:, 0] = False  # nothing precedes it
    if filled is not None:
        taken[:, :length] &= ~filled
        taken[:, 1:] &= ~filled
    if spans is not None:
        taken.reshape(-1)[_firsts(spans, length)] = False
        taken[spans.closed, length] = False
    if masked is not None:
        taken[:, : masked.shape[1]] &= ~masked
    return taken[:, 1:] if next_token else taken[:, :length]


def _bounds(spans: Spans, length: int) -> I64:
    """Where segments end in the rows laid one behind the other, behind a 0: int64 [segments + 1]."""
    counts = np.diff(spans.offsets)
    bounds = np.zeros(len(spans.end) + 1, np.int64)
    bounds[1:] = spans.end + np.repeat(np.arange(len(counts)) * length, counts)
    return bounds


def _firsts(spans: Spans, length: int) -> I64:
    """Where a document begins within a row, in rows of length + 1 laid one behind the other; not at a row's start."""
    counts = np.diff(spans.offsets)
    row = np.repeat(np.arange(len(counts)), counts)
    inside = spans.end < length
    return (row * (length + 1) + spans.end)[inside]
