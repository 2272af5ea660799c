"""Padding in packed rows: where documents begin in a domain whose rows of N tokens may end in padding.

Padding belongs to no document. It needs no table: no row is empty, a row's documents follow each other from its
beginning, and none goes on in the next row. So a document begins where the one before it ends, or, where it ends in
another row than that one, at the beginning of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]

PADDING = -1
"""Stands for the number of a document where there is none."""


def begins(before: I64, end: I64, row_tokens: int) -> I64:
    """Where documents begin, int64 [n], of where those before them end, 0 for the first, and where they end, [n]."""
    begin: I64 = np.maximum(before, (end - 1) // row_tokens * row_tokens)
    return begin


def with_padding(offsets: I64, document: I64, begin: I64, end: I64, length: int) -> tuple[I64, I64, I64]:
    """The segments of n rows of `length`, with those between and behind documents, whose document is PADDING.

    offsets: int64 [n + 1], row i has the documents offsets[i] up to offsets[i + 1]; it may have none
    document, begin, end: int64 [documents], the number, and from where to where it stands in its row

    Gives offsets, document and end as `Spans` has them.
    """
    n = len(offsets) - 1
    row = np.repeat(np.arange(n), np.diff(offsets))
    # Before each document there is room for padding, and one more behind a row's last.
    place = 2 * np.arange(len(document)) + row
    ends = np.full(2 * len(document) + n, length, np.int64)
    ends[place], ends[place + 1] = begin, end
    documents = np.full(len(ends), PADDING, np.int64)
    documents[place + 1] = document
    first = 2 * offsets[:-1] + np.arange(n)
    before = np.roll(ends, 1)
    before[first] = 0
    is_there = ends > before
    counted = np.concatenate([[0], np.cumsum(is_there)])
    return counted[np.append(first, len(ends))], documents[is_there], ends[is_there]
