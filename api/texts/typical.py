"""What can be searched in examples: the beginnings of typical documents, read once for each content of a store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mixture.api.middleware import Kept
from mixture.api.settings import ExampleTexts
from mixture.api.texts.examples import SNIPPET_CHARACTERS, is_decodable, text_of
from mixture.data.store import Store
from mixture.planning.catalog import Overview, OverviewDomain
from mixture.stream import ALWAYS, Masks

READ_WHOLE = 20_000
"""Of a domain with more documents, typical ones are looked up one by one, and only the first `LOOKED_UP` of them."""
LOOKED_UP = 3
MOST_BYTES = 16_000_000
"""Of the texts of one store that are searched: 50,000 snippets, or some 8,000 longer beginnings."""
KEPT_BYTES = 4 * MOST_BYTES
SEARCHED_CHARACTERS = {ExampleTexts.SNIPPET: SNIPPET_CHARACTERS, ExampleTexts.FULL: 2_000}


@dataclass(frozen=True, slots=True)
class TypicalText:
    """The beginning of a typical document; number: its place among those of its domain."""

    domain: str
    number: int
    text: str

    @property
    def size(self) -> int:
        """What it takes in memory."""
        return sys.getsizeof(self) + sys.getsizeof(self.text)


class TypicalTexts:
    """The texts of typical documents, those of the stores that were asked for last. Any number of threads may ask."""

    def __init__(self) -> None:
        self._kept: Kept[_Key, tuple[TypicalText, ...]] = Kept(
            KEPT_BYTES, weigh=lambda texts: sum(text.size for text in texts)
        )

    def of(self, store: Store, overview: Overview, texts: ExampleTexts, masks: Masks | None) -> tuple[TypicalText, ...]:
        """`MOST_BYTES` of them, in order of domains, less what is taken down; none where none are shown.

        Errors: StoreError, OSError.
        """
        if texts is ExampleTexts.NONE or not is_decodable(store):
            return ()
        key = (store.digest, overview.domains, texts, None if masks is None else masks.digest(ALWAYS))
        return self._kept.get(key, lambda: tuple(_read(store, overview, SEARCHED_CHARACTERS[texts], masks)))


_Key = tuple[str, tuple[OverviewDomain, ...], ExampleTexts, str | None]


def _read(store: Store, overview: Overview, most: int, masks: Masks | None) -> Iterator[TypicalText]:
    left = MOST_BYTES
    for domain in overview.domains:
        if domain.domain not in store.domains:
            continue
        for number, row in _rows(store, domain):
            text, _ = text_of(store, domain.domain, row["first_token"], row["tokens"], most, masks)
            if text:
                typical_text = TypicalText(domain.domain, number, text)
                left -= typical_text.size
                if left < 0:
                    return
                yield typical_text


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
