"""Documents of a domain to look at: typical ones, nearest its cluster's centroid, and random ones by a keyed order.

How much of their text anyone sees is the service's to say (the setting `examples`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from mixture.api.settings import ExampleTexts
from mixture.data.layout import BYTES, TOKENIZER, Attribute, attribute_text
from mixture.data.store import Store, decoder
from mixture.planning.catalog import Overview, OverviewQuality
from mixture.schedule import Permutation, key64
from mixture.stream import ALWAYS, Masks, StoredDocument, stored_documents

SNIPPET_CHARACTERS = 300
FULL_CHARACTERS = 20_000
"""Of `full` texts too: a page is to be looked at, and whoever wants all of a document streams it."""
TOKENS_OF_CHARACTER = 4
"""At most so many tokens make a character: one of UTF-8 has four bytes at most."""
MEASURED_TOKENS = 1 << 20
"""Of longer documents, only the score is shown."""
SCORE = "quality_score"


class ExampleKind(StrEnum):
    """Which examples: those typical of a domain, or any of its documents."""

    TYPICAL = "typical"
    RANDOM = "random"


class FeatureValue(BaseModel):
    """A feature of a document."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(examples=["stop_words"])
    value: float = Field(examples=[0.82], description="From 0 to 1.")
    weight: float = Field(examples=[0.222222], description="In the score.")


class QualityReason(BaseModel):
    """Why a document is in its level: its score, and the scores that the level lies between, null at the ends.

    features: none where the text is not at hand, or gives another score here than it was given
    """

    model_config = ConfigDict(frozen=True)

    score: float = Field(examples=[0.9312])
    level: int = Field(examples=[2], description="0 is the lowest.")
    at_least: float | None = Field(examples=[0.916602])
    below: float | None = Field(examples=[0.949029])
    features: tuple[FeatureValue, ...]


class Example(BaseModel):
    """A document of a domain; number: its place among the typical ones, or in the random order, from 0."""

    model_config = ConfigDict(frozen=True)

    number: int = Field(examples=[0])
    id: str = Field(examples=["linux-doc/input/uinput.rst"])
    url: str | None = Field(examples=[None], description="Where it is from, where an attribute or its id says so.")
    tokens: int | None = Field(
        examples=[6804], description="The end of the document counted in; null where the store does not have it."
    )
    first_token: int | None = Field(examples=[413026], description="Where it begins in the domain's storage.")
    attributes: dict[str, Attribute] = Field(examples=[{"source": "linux-doc", "license": "GPL-2.0-only"}])
    quality: QualityReason | None = Field(description="Null where the overview does not say how levels were made.")
    text: str | None = Field(
        examples=["The uinput module"], description="Null where this service shows none, or can not decode it."
    )
    is_cut: bool = Field(examples=[True], description="Whether the document goes on behind the text.")


class DomainExamples:
    """The examples of one domain of a store; masks: of the lock that they are shown for."""

    def __init__(
        self, store: Store, overview: Overview | None, domain: str, texts: ExampleTexts, masks: Masks | None
    ) -> None:
        self._store = store
        self._domain = domain
        self._texts = texts
        self._masks = masks
        self._quality = None if overview is None else overview.quality
        typical = () if overview is None else overview.domains
        self._typical = next((one.typical for one in typical if one.domain == domain), ())

    def count(self, kind: ExampleKind) -> int:
        """How many there are."""
        documents = self._store.domains[self._domain].documents
        return len(self._typical) if kind is ExampleKind.TYPICAL else documents

    def some(self, kind: ExampleKind, *, first: int, most: int, seed: int = 0) -> Iterator[Example]:
        """Those from number `first` on, at most so many. Errors: StoreError, OSError."""
        numbers = range(first, min(first + most, self.count(kind)))
        if kind is ExampleKind.TYPICAL:
            for number in numbers:
                yield self._example(number, self._typical[number], self._of_id(self._typical[number]))
            return
        if numbers:
            order = Permutation(self.count(kind), key64("example", seed, self._domain))
            for number in numbers:
                (row,) = self._store.documents_from(self._domain, order(number), 1).to_pylist()
                (document,) = stored_documents([{**row, "domain": self._domain}])
                yield self._example(number, document.id, document)

    def _of_id(self, identity: str) -> StoredDocument | None:
        documents = stored_documents(self._store.document(identity).to_pylist())
        return next((document for document in documents if document.domain == self._domain), None)

    def _example(self, number: int, identity: str, document: StoredDocument | None) -> Example:
        attributes = {} if document is None else document.attributes
        own: dict[str, Attribute] = {name: value for name, value in attributes.items() if value is not None}
        text, is_cut = (None, False) if document is None else self._text(document)
        return Example(
            number=number,
            id=identity,
            url=url_of(identity, own),
            tokens=None if document is None else document.tokens,
            first_token=None if document is None else document.first_token,
            attributes=own,
            quality=self._reason(attribute_text(own.get(SCORE)), document),
            text=text,
            is_cut=is_cut,
        )

    def _reason(self, score: str | None, document: StoredDocument | None) -> QualityReason | None:
        """Why it is in its level, feature by feature where the text of a document that is not too long says so."""
        reason = reason_of(score, self._quality)
        if reason is None or document is None or self._texts is ExampleTexts.NONE:
            return reason
        if document.tokens > MEASURED_TOKENS:
            return reason
        text, _ = self._start(document, document.tokens)
        return reason.model_copy(update={"features": features_of(text or "", reason.score)})

    def _text(self, document: StoredDocument) -> tuple[str | None, bool]:
        """As much of a text as is shown, and whether there is more."""
        if self._texts is ExampleTexts.NONE:
            return None, False
        most = SNIPPET_CHARACTERS if self._texts is ExampleTexts.SNIPPET else FULL_CHARACTERS
        return self._start(document, most)

    def _start(self, document: StoredDocument, most: int) -> tuple[str | None, bool]:
        return text_of(self._store, self._domain, document.first_token, document.tokens, most, self._masks)


def text_of(
    store: Store, domain: str, first_token: int, tokens: int, most: int, masks: Masks | None
) -> tuple[str | None, bool]:
    """At most so many characters of a document, and whether there are more; None where tokens can not be decoded.

    What is taken down, from whichever step on, is not shown.
    """
    if not is_decodable(store):
        return None, False
    shown = min(tokens, most * TOKENS_OF_CHARACTER)
    ids, decode = store.read(domain, first_token, shown), decoder(store)
    text = decode(ids) if masks is None else masks.text(ALWAYS, domain, first_token, ids, decode)
    return text[:most], len(text) > most or shown < tokens


def is_decodable(store: Store) -> bool:
    """Whether a store has what turns its tokens into text."""
    return store.tokenizer == BYTES or (store.path / TOKENIZER).is_file()


def url_of(identity: str, attributes: Mapping[str, Attribute]) -> str | None:
    """The address on the web that a document is from. Nothing else becomes a link."""
    for text in (attributes.get("url"), identity):
        if isinstance(text, str) and text.startswith(("https://", "http://")):
            return text
    return None


def reason_of(score: str | None, quality: OverviewQuality | None) -> QualityReason | None:
    """Why a document with this score is in its level; None where that is not known."""
    if score is None or quality is None or not quality.cut_offs:
        return None
    try:
        number = float(score)
    except ValueError:
        return None
    level, ends = bisect_right(quality.cut_offs, number), quality.cut_offs
    return QualityReason(
        score=number,
        level=level,
        at_least=ends[level - 1] if level else None,
        below=ends[level] if level < len(ends) else None,
        features=(),
    )


def features_of(text: str, score: float) -> tuple[FeatureValue, ...]:
    """The features of a text; none where they do not make this score: it was given to another text, or otherwise."""
    from mixture.clusters import quality

    measured = quality.measure(text)
    if quality.score(measured) != score:
        return ()
    whole = sum(feature.weight for feature in quality.FEATURES)
    return tuple(
        FeatureValue(name=one.name, value=round(one.value(measured), 4), weight=round(one.weight / whole, 6))
        for one in quality.FEATURES
    )
