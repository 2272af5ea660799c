"""What is found in a file of tokens when it is counted: how many, where they lie, and where its documents end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.texts import text_column
from mixture.errors import Place, StoreError

CHUNK = 1 << 20
"""Documents that are looked at together."""


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """Some documents of a file, in order; none is empty.

    tokens: int64 [n]
    number: int64 [n], the number of each in its file, from 0, empty ones counted: it names those without an id
    ids:    their ids, texts, null where one has none; None: none has
    """

    tokens: NDArray[np.int64]
    number: NDArray[np.int64]
    ids: pa.Array[Any] | None = None

    def named(self, file: str) -> pa.Array[Any]:
        """The id of each: its own, or the file's name with its number."""
        made = pa.array([f"{file}#{number}" for number in self.number.tolist()], pa.string())
        return made if self.ids is None else self.ids.fill_null(made)


DocumentReader = Callable[[], Iterator[FoundDocuments]]


@dataclass(frozen=True, slots=True)
class Survey:
    """A file of tokens.

    dtype:        of its tokens as they are stored
    places:       int64 [pieces], the first byte of each piece, or the number of its row group
    piece_tokens: int64 [pieces], above 0
    documents:    its documents; None: it does not say where they end, and counts as one
    """

    dtype: np.dtype[Any]
    places: NDArray[np.int64]
    piece_tokens: NDArray[np.int64]
    documents: DocumentReader | None

    @property
    def tokens(self) -> int:
        return int(self.piece_tokens.sum())

    def found(self) -> Iterator[FoundDocuments]:
        """Its documents, the file itself where it does not say."""
        if self.documents is not None:
            yield from self.documents()
        elif self.tokens:
            yield FoundDocuments(np.array([self.tokens]), np.zeros(1, np.int64))


def one_piece(dtype: np.dtype[Any], place: int, tokens: int, documents: DocumentReader | None) -> Survey:
    """A file whose tokens lie one behind the other."""
    pieces = ([place], [tokens]) if tokens else ([], [])
    places, counts = (np.array(part, np.int64) for part in pieces)
    return Survey(dtype, places, counts, documents)


def whole_documents(lengths: NDArray[np.int64], first: int, ids: pa.Array[Any] | None = None) -> FoundDocuments:
    """Documents of these lengths, of which the first has this number; empty ones are left out.

    Errors: ArrowInvalid where an id is not UTF-8.
    """
    kept = np.flatnonzero(lengths)
    if ids is not None:
        ids = text_column(ids).take(pa.array(kept))
    return FoundDocuments(lengths[kept], first + kept, ids)


def token_type(dtype: np.dtype[Any], path: str) -> np.dtype[Any]:
    """A type that tokens can have. Errors: StoreError `dtype-unfit`."""
    if dtype.kind not in "iu" or dtype.newbyteorder("<") != dtype:
        raise refused(path, f"its numbers are of type {dtype}", "dtype-unfit", "little-endian integers are right here")
    return dtype


def refused(path: str, message: str, code: str, hint: str | None = None, **facts: object) -> StoreError:
    """An error in a file of tokens."""
    return StoreError(message, code=code, place=Place(file=path), hint=hint, **facts)


@contextmanager
def naming(domain: str) -> Iterator[None]:
    """Names a domain in the StoreErrors of what is done for it."""
    try:
        yield
    except StoreError as error:
        message = f"domain '{domain}': {error.message}"
        facts = error.facts | {"domain": domain}
        raise StoreError(message, code=error.code, place=error.place, hint=error.hint, **facts) from error
