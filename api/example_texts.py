"""What can be searched in examples: the beginnings of typical documents, read once for each content of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from api.examples import SNIPPET_CHARACTERS, is_decodable, text_of
from api.kept import Kept
from api.settings import ExampleTexts
from mixture.catalog import Overview, OverviewDomain
from mixture.store import Store

READ_WHOLE = 20_000
"""Of a domain with more documents, typical ones are looked up one by one, and only the first `LOOKED_UP` of them."""
LOOKED_UP = 3
MOST_TEXTS = 20_000
SEARCHED_CHARACTERS = {ExampleTexts.SNIPPET: SNIPPET_CHARACTERS, ExampleTexts.FULL: 2_000}


@dataclass(frozen=True, slots=True)
class TypicalText:
    """The beginning of a typical document; number: its place among those of its domain; folded: for comparisons."""

    domain: str
    number: int
    text: str
    folded: str


_kept: Kept[tuple[str, int, ExampleTexts], tuple[TypicalText, ...]] = Kept(8)


def typical_texts(store: Store, overview: Overview, texts: ExampleTexts) -> tuple[TypicalText, ...]:
    """The texts of typical documents, in order of domains; none where none are shown. Errors: StoreError, OSError."""
    if texts is ExampleTexts.NONE or not is_decodable(store):
        return ()
    key = (store.digest, hash(overview.domains), texts)
    return _kept.get(key, lambda: tuple(_read(store, overview, SEARCHED_CHARACTERS[texts])))


def _read(store: Store, overview: Overview, most: int) -> Iterator[TypicalText]:
    left = MOST_TEXTS
    for domain in overview.domains:
        if domain.domain not in store.domains:
            continue
        for number, row in _rows(store, domain):
            if not left:
                return
            left -= 1
            text, _ = text_of(store, domain.domain, row, most)
            if text:
                # Not `casefold`: a place in the folded text must be that in the text, which lower() mostly keeps.
                folded = text.lower()
                yield TypicalText(domain.domain, number, text, folded if len(folded) == len(text) else text)


def _rows(store: Store, domain: OverviewDomain) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of typical documents, with their numbers."""
    documents = store.domains[domain.domain].documents
    if documents > READ_WHOLE:
        for number, identity in enumerate(domain.typical[:LOOKED_UP]):
            found = store.document(identity).to_pylist()
            yield from ((number, row) for row in found if row["domain"] == domain.domain)
        return
    wanted = {identity: number for number, identity in enumerate(domain.typical)}
    there = store.documents_from(domain.domain, 0, documents).select(["id", "first_token", "tokens"])
    rows = ((wanted[row["id"]], row) for row in there.to_pylist() if row["id"] in wanted)
    yield from sorted(rows, key=lambda found: found[0])
