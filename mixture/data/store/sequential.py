"""All of a domain in the order in which it is stored, each token once: how held-out documents are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mixture.data.store.store import Store
from mixture.errors import StoreError


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows that follow each other.

    input_ids:   [n, L] in the store's dtype, read-only; with the next token [n, L + 1], its last column the next row's
                 first
    first_token: int64 [n], where each begins within the domain; with it `Store.spans` gives the documents of rows
    """

    input_ids: NDArray[Any]
    first_token: NDArray[np.int64]


def rows_in_order(
    store: Store, name: str, *, sequence_length: int, rows: int = 64, next_token: bool = False
) -> Iterator[OrderedRows]:
    """A domain's rows of `sequence_length` tokens, at most `rows` at a time, nothing left out and nothing twice.

    Its last tokens, which fill no row, come last, as one shorter row. With the next token, every token but the very
    first of the domain stands once as the next one.

    Errors: StoreError `domain-not-in-store`, `length-outside`.
    """
    if sequence_length < 1 or rows < 1:
        message = f"{rows:,} rows of {sequence_length:,} tokens"
        raise StoreError(message, code="length-outside", hint="at least one of each is right here")
    ahead = int(next_token)
    tokens = store.domains[name].tokens if name in store.domains else store.read(name, 0, 0).size
    whole = max(0, tokens - ahead) // sequence_length
    for first in range(0, whole, rows):
        count = min(rows, whole - first)
        read = store.read(name, first * sequence_length, count * sequence_length + ahead)
        windows = sliding_window_view(read, sequence_length + ahead)[::sequence_length]
        yield OrderedRows(windows, (first + np.arange(count, dtype=np.int64)) * sequence_length)
    rest = tokens - whole * sequence_length
    if rest > ahead:
        start = whole * sequence_length
        yield OrderedRows(store.read(name, start, rest)[None, :], np.array([start], np.int64))
