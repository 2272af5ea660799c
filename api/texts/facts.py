"""What the documents of a domain are: how long, and what their attributes say. Bounded, and kept by the store's digest.

A large domain is judged by its first documents: a store keeps them in a keyed random order, so these are a fair sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from mixture.api.middleware import Kept
from mixture.data.layout import attribute_text
from mixture.data.store import Store

MOST_DOCUMENTS = 50_000
"""Documents of a domain that are looked at: some 0.1 s."""
MOST_VALUES = 8
"""Values of an attribute that are named; the others are summed."""
MOST_DIFFERENT = 100
"""An attribute with more values, such as an address, says which document it is, not of what kind."""
KEPT_BYTES = 2_000_000
"""Of facts as JSON: those of some 1,000 domains."""
FIRST_ATTRIBUTES = ("source", "language", "license", "licence")
"""Attributes that come first; the others by name."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class LengthBin(_Frozen):
    """Documents of so many tokens: from `first` to `last`, both counted in."""

    first: int = Field(examples=[512])
    last: int = Field(examples=[1023])
    documents: int = Field(examples=[41])


class ValueCount(_Frozen):
    """Documents that have one value of an attribute; null: they have none."""

    value: str | None = Field(examples=["MIT"])
    documents: int = Field(examples=[30])
    tokens: int = Field(examples=[41200])


class AttributeFacts(_Frozen):
    """What an attribute says of documents: its most frequent values by tokens, and how many others there are."""

    name: str = Field(examples=["license"])
    values: tuple[ValueCount, ...]
    other_values: int = Field(examples=[0])
    other_documents: int = Field(examples=[0])
    other_tokens: int = Field(examples=[0])


class DocumentFacts(_Frozen):
    """The documents of a domain, as far as they were looked at; tokens have the end of the document counted in."""

    looked_at: int = Field(examples=[110], description="Documents that these figures are of.")
    documents: int = Field(examples=[110], description="Documents of the domain.")
    shortest: int = Field(examples=[12])
    median: int = Field(examples=[2120])
    longest: int = Field(examples=[90112])
    lengths: tuple[LengthBin, ...] = Field(description="By powers of two, without gaps.")
    attributes: tuple[AttributeFacts, ...]


class KeptFacts:
    """`document_facts(…)`, worked out once for each content of a store. Any number of threads may ask."""

    def __init__(self) -> None:
        self._kept: Kept[tuple[str, str], DocumentFacts | None] = Kept(
            KEPT_BYTES, weigh=lambda facts: len(facts.model_dump_json()) if facts is not None else 1
        )

    def of(self, store: Store, domain: str) -> DocumentFacts | None:
        """The facts of a domain. Errors: StoreError, OSError."""
        return self._kept.get((store.digest, domain), lambda: document_facts(store, domain))


def document_facts(store: Store, domain: str) -> DocumentFacts | None:
    """The facts of a domain's first `MOST_DOCUMENTS` documents; None: it has none. Errors: StoreError, OSError."""
    there = store.documents_from(domain, 0, MOST_DOCUMENTS)
    if not there.num_rows:
        return None
    lengths = there["tokens"]
    names = [name for name in there.column_names if name not in ("id", "first_token", "tokens")]
    names.sort(key=lambda name: (FIRST_ATTRIBUTES.index(name) if name in FIRST_ATTRIBUTES else 99, name))
    facts = (_attribute(there, name) for name in names)
    middle = pc.quantile(lengths, 0.5, interpolation="lower")[0].as_py()
    return DocumentFacts(
        looked_at=there.num_rows,
        documents=store.domains[domain].documents,
        shortest=pc.min(lengths).as_py(),
        median=middle,
        longest=pc.max(lengths).as_py(),
        lengths=_bins(lengths.to_pylist()),
        attributes=tuple(fact for fact in facts if fact is not None),
    )


def _bins(lengths: Sequence[int]) -> tuple[LengthBin, ...]:
    sizes = [max(length, 1).bit_length() - 1 for length in lengths]
    counts = dict.fromkeys(range(min(sizes), max(sizes) + 1), 0)
    for size in sizes:
        counts[size] += 1
    return tuple(LengthBin(first=1 << size, last=(2 << size) - 1, documents=n) for size, n in counts.items())


def _attribute(there: pa.Table, name: str) -> AttributeFacts | None:
    """What an attribute says; None where it says nothing, or another thing of nearly every document."""
    found = there.group_by(name).aggregate([("tokens", "sum"), ("tokens", "count")]).to_pylist()
    if len(found) > MOST_DIFFERENT or all(one[name] is None for one in found):
        return None
    found.sort(key=lambda one: (-one["tokens_sum"], one[name] is None, one[name]))
    named, others = found[:MOST_VALUES], found[MOST_VALUES:]
    return AttributeFacts(
        name=name,
        values=tuple(
            ValueCount(value=attribute_text(one[name]), documents=one["tokens_count"], tokens=one["tokens_sum"])
            for one in named
        ),
        other_values=len(others),
        other_documents=sum(other["tokens_count"] for other in others),
        other_tokens=sum(other["tokens_sum"] for other in others),
    )
