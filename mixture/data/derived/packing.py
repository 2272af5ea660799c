"""Which documents share a row: best-fit decreasing over windows of documents, in integers alone.

A window's documents are placed from the longest to the shortest, equal ones in order of storage, each into the row in
which the least space is left that it fits into (of several, the one that was filled last), or into a new row. That is
at most 11/9 of the fewest rows possible and four more (D. S. Johnson, "Near-optimal bin packing algorithms", 1973); on
text, next to nothing is lost. Documents are stored in a keyed random order, so that windows are alike, and large ones
gain nothing over the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]

WINDOW_DOCUMENTS = 1 << 16
"""Documents that are packed together: 0.2 s, and some 30 MB."""
WINDOW_TOKENS = 1 << 31
"""A window ends with the document that brings it to so many tokens."""
RULE = f"best-fit-decreasing, {WINDOW_DOCUMENTS} documents or {WINDOW_TOKENS} tokens"
_WORD = 10  # two to this many spaces are the bits of one integer


@dataclass(frozen=True, slots=True)
class Parts:
    """Documents, or parts of long ones, in rows: in order of row, then of storage.

    document:    int64 [parts], the number of the document, counted from 0 in the order that was given
    begin:       int64 [parts], from which of its tokens on
    tokens:      int64 [parts], how many of them; no part is empty, or longer than a row
    first_token: int64 [parts], where the part begins, rows laid one behind the other; a row has no gap before its last
                 part's end
    rows:        how many there are, none of them empty
    """

    document: I64
    begin: I64
    tokens: I64
    first_token: I64
    rows: int


def window_size(lengths: I64) -> int:
    """How many of the documents that follow are packed together; lengths [documents] in tokens."""
    first = lengths[:WINDOW_DOCUMENTS]
    reached = int(np.searchsorted(np.cumsum(first), WINDOW_TOKENS, side="left"))
    return min(reached + 1, len(first))


def pack_rows(lengths: I64, row_tokens: int) -> Parts:
    """Put documents of these lengths [documents], above 0, into rows of row_tokens.

    One that is longer than a row fills rows of its own, one after the other, and what is left of it is packed like a
    document. Rows are in order of the last part in them, so that a document's parts are in order, too. The time grows
    as n log n with the documents.
    """
    document, begin, tokens = _cut(np.asarray(lengths, np.int64), row_tokens)
    row = _best_fit(tokens, row_tokens)
    rows = int(row.max(initial=-1)) + 1
    last = np.zeros(rows, np.int64)
    np.maximum.at(last, row, np.arange(len(row)))
    rank = np.empty(rows, np.int64)
    rank[np.argsort(last)] = np.arange(rows)
    order = np.argsort(rank[row], kind="stable")
    row, tokens = rank[row][order], tokens[order]
    ahead = np.cumsum(tokens) - tokens
    inside = ahead - ahead[np.searchsorted(row, row, side="left")]
    return Parts(document[order], begin[order], tokens, row * row_tokens + inside, rows)


def _cut(lengths: I64, row_tokens: int) -> tuple[I64, I64, I64]:
    """Documents cut into whole rows and a rest: document, begin and tokens of each part, in order of storage."""
    counts = -(-lengths // row_tokens)
    document = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
    begin = number * row_tokens
    return document, begin, np.minimum(lengths[document] - begin, row_tokens)


def _best_fit(tokens: I64, row_tokens: int) -> I64:
    """The row of each part, numbered as they are begun: int64 [parts]."""
    row = np.empty(len(tokens), np.int64)
    whole = tokens == row_tokens
    rows = int(np.count_nonzero(whole))
    row[whole] = np.arange(rows)
    rest = np.flatnonzero(~whole)
    falling = rest[np.argsort(-tokens[rest], kind="stable")]
    spaces = _Spaces(row_tokens)
    chosen = []
    for size in tokens[falling].tolist():
        at, space = spaces.take(size) or (rows, row_tokens)
        rows += at == rows
        if space > size:
            spaces.add(space - size, at)
        chosen.append(at)
    row[falling] = np.array(chosen, np.int64)
    return row


class _Spaces:
    """Rows by the space that is left in them. The spaces that some row has are bits of integers, in two levels, so
    that the smallest of at least a size is found by looking at the lowest bit of two of them."""

    def __init__(self, most: int) -> None:
        self._rows: dict[int, list[int]] = {}
        self._words = [0] * ((most >> _WORD) + 1)
        self._filled = 0  # a bit for each of the words that is not 0

    def add(self, space: int, row: int) -> None:
        held = self._rows.setdefault(space, [])
        if not held:
            word, bit = divmod(space, 1 << _WORD)
            self._words[word] |= 1 << bit
            self._filled |= 1 << word
        held.append(row)

    def take(self, size: int) -> tuple[int, int] | None:
        """A row with the least space of at least `size`, and that space; the row is taken out. None: there is none."""
        word, bit = divmod(size, 1 << _WORD)
        bits = self._words[word] >> bit << bit
        if not bits:
            words = self._filled >> (word + 1) << (word + 1)
            if not words:
                return None
            word = _lowest(words)
            bits = self._words[word]
        space = (word << _WORD) + _lowest(bits)
        held = self._rows[space]
        row = held.pop()
        if not held:
            self._words[word] &= ~(1 << space - (word << _WORD))
            if not self._words[word]:
                self._filled &= ~(1 << word)
        return row, space


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
