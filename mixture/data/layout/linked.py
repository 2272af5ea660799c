"""store.json of a folder of links: a store whose tokens stay in the files that they were found in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from mixture.data.layout.description import ContentKind
from mixture.data.layout.manifest import (
    DOCUMENT_ENDS,
    DOCUMENTS,
    DOCUMENTS_BY_ID,
    DOMAINS,
    FORMAT,
    Count,
    Description,
    Digest,
    DomainTotals,
    FileRecord,
    Manifest,
    Model,
    TokenizerRecord,
    read_description,
    wrong_ids,
    wrong_tables,
    wrong_totals,
)
from mixture.data.layout.packed import PACKED_FORMAT, PackedManifest
from mixture.data.storage import Address, located
from mixture.file_kinds import LINKED_FORMAT
from mixture.json_text import digest

PIECES = "pieces.parquet"
"""Where the tokens lie: a row a piece, in order of domain, then of place.

domain int32, file int32 (its number within the domain), place int64 (its first byte, or the number of a row group of
a Parquet file), tokens int64
"""


SEARCHED = "end_of_document"
"""`documents: end_of_document`: documents of an array end behind each such token, and no file beside is read."""


class LinkedFormat(StrEnum):
    """What files of tokens are."""

    MEGATRON = "megatron"
    NPY = "npy"
    PARQUET = "parquet"
    ARROW = "arrow"
    STORE = "store"


class SeenFile(Model):
    """A file as it was when it was counted.

    file:        its path: from the folder that the catalog lies in, or from the root
    modified:    when it was written last, in nanoseconds
    fingerprint: `mixture.data.token_files.fingerprint`
    sha256:      of all of it, where the catalog was built so
    """

    file: str
    bytes: Count
    modified: int
    fingerprint: Digest
    sha256: Digest | None = None


class LinkedFile(SeenFile):
    """A file of tokens. beside: files that say where its documents end; documents: those that begin in it."""

    tokens: Count
    documents: Count
    beside: tuple[SeenFile, ...] = ()

    def seen(self) -> tuple[SeenFile, ...]:
        """The file and those beside it."""
        return (self, *self.beside)


class How(Model):
    """How the files of a domain are read, as its sources say it.

    patterns: of its files, as `LinkedFile.file`; path and domain: of a store, and in it
    dtype:    of token files that do not say it; column and id: of rows; documents: the name of the files beside,
              or that they are not read, or SEARCHED
    """

    format: LinkedFormat
    patterns: tuple[str, ...] = ()
    path: str | None = None
    domain: str | None = None
    dtype: str | None = None
    column: str | None = None
    id: str | None = None
    documents: str | None = None


class LinkedDomain(DomainTotals):
    """A domain. dtype: of its tokens as they are stored, little-endian."""

    dtype: Annotated[str, Field(pattern="^u?int(8|16|32|64)$")]
    how: How
    files: tuple[LinkedFile, ...]

    @property
    def undivided(self) -> int:
        """How many of its files are one document each, because nothing says where documents end."""
        if self.how.format is not LinkedFormat.NPY or self.how.documents == SEARCHED:
            return 0
        return sum(bool(file.tokens) and not file.beside for file in self.files)

    @property
    def kind(self) -> ContentKind:
        """A store's domain keeps the digest that it has there."""
        return ContentKind.TOKENS if self.how.format is LinkedFormat.STORE else ContentKind.FILES


class EndToken(Model):
    """The token that the sources call end-of-document; whether it stands behind every document is theirs to know."""

    token: Count
    rule: Literal["as-found"] = "as-found"


class LinkedManifest(Description):
    """What a folder of links says."""

    format: Literal["mixture-catalog/1"] = "mixture-catalog/1"
    tokenizer: TokenizerRecord
    dtype: Literal["uint16", "uint32"]
    end_of_document: EndToken
    tables: tuple[FileRecord, ...]
    domains: tuple[LinkedDomain, ...]

    @property
    def digest(self) -> str:
        """The SHA-256 of what it leads to. Where the files lie, and when they were written, do not enter."""
        said = {
            "format": self.format,
            "tokenizer": self.tokenizer.model_dump(),
            "dtype": self.dtype,
            "end_of_document": self.end_of_document.model_dump(),
            "domains": [[d.name, d.tokens, d.documents, d.content] for d in self.domains],
        }
        return digest(said)

    @property
    def num_documents(self) -> int:
        return sum(domain.documents for domain in self.domains)

    def contradictions(self) -> Iterator[str]:
        """What can not be true of any folder of links."""
        yield from wrong_tables(self.tables, {DOMAINS, DOCUMENTS, DOCUMENTS_BY_ID, DOCUMENT_ENDS, PIECES})
        yield from wrong_totals(self.domains)
        for domain in self.domains:
            found = sum(file.tokens for file in domain.files), sum(file.documents for file in domain.files)
            if found != (domain.tokens, domain.documents):
                yield f"domain '{domain.name}' has {domain.tokens:,} tokens, and its files hold {found[0]:,}"
        yield from wrong_ids(self.tokenizer.vocabulary, self.end_of_document.token, self.dtype)


AnyManifest = Manifest | LinkedManifest
M = TypeVar("M", Manifest, LinkedManifest, AnyManifest)
ANY_FORM: Mapping[str, type[AnyManifest]] = {
    FORMAT: Manifest,
    PACKED_FORMAT: PackedManifest,
    LINKED_FORMAT: LinkedManifest,
}
"""What a store.json can be, by the format that it says."""


def read_any(folder: Path) -> AnyManifest:
    """Read store.json, of either kind. Errors: StoreError."""
    return read_description(folder, ANY_FORM)


def base_of(folder: Path) -> Path:
    """The folder that paths in a catalog begin in: the one that it lies in."""
    return folder.resolve().parent


def linked_path(base: Path | Address, file: str) -> str:
    """Where a file lies: the path of one here, or the address of an object."""
    place = located(file)
    if isinstance(place, Address):
        return str(place)
    return str(base / file) if isinstance(base, Address) else os.path.normpath(base / place)


def files_digest(how: How, dtype: str, files: tuple[LinkedFile, ...], *, end_of_document: int) -> str:
    """The content digest of a domain that is read in place: the SHA-256 of the canonical JSON of how it is read and of
    its files' names, sizes and fingerprints, in order. Folders do not enter, so that files may be moved; the id that
    ends documents does where they were found by it.
    """
    said = [
        "mixture-files/1",
        [how.format, dtype, how.column, *([end_of_document] if how.documents == SEARCHED else [])],
        [[[os.path.basename(one.file), one.bytes, one.fingerprint] for one in file.seen()] for file in files],  # noqa: PTH119
    ]
    return digest(said)
