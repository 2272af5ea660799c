"""The search of a catalog's page: rows by their titles, terms and domains, and by texts of examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from mixture.api.texts import TypicalText

if TYPE_CHECKING:
    from mixture.api.pages.catalog.page import RowView

MOST_HITS = 3
"""Texts that are shown of a row."""
BEFORE, AFTER = 16, 80
"""Characters that are shown around what was found."""


class Hit(BaseModel):
    """A typical document with what was searched for in it; number: its place among the typical ones of its domain."""

    model_config = ConfigDict(frozen=True)

    domain: str
    number: int
    before: str
    match: str
    after: str


def words_of(q: str) -> list[str]:
    """The words of a search; all of them must be there, in any order."""
    return q.lower().split()


def hits(texts: Iterable[TypicalText], q: str) -> Iterator[Hit]:
    """The texts that have all words of a search, with the first of them in its context."""
    words = words_of(q)
    for one in texts if words else ():
        # Not `casefold`: a place in the folded text must be that in the text, which lower() mostly keeps.
        lower = one.text.lower()
        folded = lower if len(lower) == len(one.text) else one.text
        if all(word in folded for word in words):
            start = folded.index(words[0])
            end = start + len(words[0])
            first, last = max(0, start - BEFORE), min(len(one.text), end + AFTER)
            yield Hit(
                domain=one.domain,
                number=one.number,
                before=("…" if first else "") + one.text[first:start],
                match=one.text[start:end],
                after=one.text[end:last] + ("…" if last < len(one.text) else ""),
            )


def found(rows: Sequence[RowView], q: str, texts: Iterable[Hit]) -> list[RowView]:
    """The rows that have all words of the search in what they say, or in a text; all where nothing is searched."""
    words = words_of(q)
    if not words:
        return list(rows)
    by_domain: dict[str, list[Hit]] = defaultdict(list)
    for hit in texts:
        by_domain[hit.domain].append(hit)
    kept = []
    for row in rows:
        own = [hit for domain in row.total.domains for hit in by_domain.get(domain, ())]
        if own or all(word in row.words for word in words):
            kept.append(row.model_copy(update={"hits": tuple(own[:MOST_HITS])}))
    return kept
