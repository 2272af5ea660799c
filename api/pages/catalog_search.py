"""The search of a catalog's page: rows by their titles, terms and domains, and by texts of examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from api.pages.catalog import RowView

MOST_HITS = 3
"""Texts that are shown of a row."""


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
    return q.casefold().split()


def found(rows: Sequence[RowView], q: str, hits: Iterable[Hit]) -> list[RowView]:
    """The rows that have all words of the search in what they say, or in a text; all where nothing is searched."""
    words = words_of(q)
    if not words:
        return list(rows)
    by_domain: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_domain[hit.domain].append(hit)
    kept = []
    for row in rows:
        own = [hit for domain in row.total.domains for hit in by_domain.get(domain, ())]
        if own or all(word in row.words for word in words):
            kept.append(row.model_copy(update={"hits": tuple(own[:MOST_HITS])}))
    return kept
