"""Texts that have the tokenizer's own tokens of a document: its end, or what stands before a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixture.data.texts import EndInText, TokenInText

Ids = NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class TokensInText:
    """How many documents of a domain have a token of this kind in their text."""

    domain: str
    kind: TokenInText
    count: int


class TextTokens:
    """Finds such tokens in the ids of documents, counts the documents by domain and, where it is asked to, drops them.

    before: what the tokenizer puts before a text; end_of_document: what stands behind it
    """

    def __init__(self, before: Sequence[int], end_of_document: int, choice: EndInText) -> None:
        self._before, self._end, self._choice = tuple(before), end_of_document, choice
        self._counts: Counter[tuple[str, TokenInText]] = Counter()

    @property
    def counts(self) -> tuple[TokensInText, ...]:
        """Of all documents so far, in order of domain."""
        return tuple(TokensInText(domain, kind, count) for (domain, kind), count in sorted(self._counts.items()))

    def may_be_in(self, joined: Ids, documents: int) -> bool:
        """Whether the ids of so many documents, together, have more of these tokens than one of each a document."""
        marks = (self._end, *self._before[:1])
        return any(int(np.count_nonzero(joined == mark)) != documents for mark in marks)

    def checked(self, ids: Ids, domain: str) -> Ids:
        """The ids of a document, which are not none; without those that its text ends or begins with, if dropped."""
        first = len(self._before)
        own = ids[first:-1]
        start, stop = 0, len(own)
        while stop and own[stop - 1] == self._end:
            stop -= 1
        while first and start + first <= stop and tuple(own[start : start + first].tolist()) == self._before:
            start += first
        for kind, is_there in (
            (TokenInText.END, stop < len(own)),
            (TokenInText.BEGINNING, start > 0),
            (TokenInText.END_INSIDE, bool((own[start:stop] == self._end).any())),
        ):
            self._counts[domain, kind] += is_there
        if self._choice is EndInText.KEEP or (start, stop) == (0, len(own)):
            return ids
        if start == stop:
            return ids[:0]
        return np.concatenate([ids[:first], own[start:stop], ids[-1:]])
