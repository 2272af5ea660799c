"""store.json of a store of packed rows."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from mixture.data.layout.manifest import Digest, Manifest, Model, joined_digest

PACKED_FORMAT = "mixture-packed/1"


class LongDocuments(StrEnum):
    """What becomes of documents that are longer than a row.

    SPLIT: they fill whole rows, and what is left of each is packed like a document; nothing is lost
    DROP:  they are left out, and counted
    """

    SPLIT = "split"
    DROP = "drop"


class Packing(Model):
    """How rows were packed. sequence_length: of a row, in tokens; source: the digest of the store they were made of."""

    sequence_length: Annotated[int, Field(ge=1, lt=2**40)]
    source: Digest = Field(alias="from")
    rule: str
    long: LongDocuments

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class PackedManifest(Manifest):
    """What a store of packed rows says. Its documents are whole, or parts of one that is longer than a row, in order;
    they lie in rows as `mixture.data.layout.packed_padding` says, and end-of-document fills up what is left of a row.

    A domain's content digest is `packed_digest`.
    """

    format: Literal["mixture-packed/1"] = "mixture-packed/1"
    packed: Packing

    def contradictions(self) -> Iterator[str]:
        """What can not be true of any store of packed rows."""
        yield from super().contradictions()
        length = self.packed.sequence_length
        for domain in self.domains:
            if domain.tokens % length or domain.documents < domain.tokens // length:
                yield f"domain '{domain.name}' is not made of rows of {length:,} tokens that hold documents"


def packed_digest(
    sequence_length: int, dtype: str, tokens: int, token_digest: str, documents: int, end_digest: str
) -> str:
    """The content digest of a domain of packed rows: `content_digest` with the length of its rows.

    end_digest is the SHA-256 of where its documents end, in order of place, little-endian in 64 bits.
    """
    rows = str(sequence_length)
    return joined_digest("mixture-packed-content/1", rows, dtype, str(tokens), token_digest, str(documents), end_digest)
