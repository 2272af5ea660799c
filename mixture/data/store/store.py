"""Opening a store and reading from it."""

from __future__ import annotations

import difflib
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.layout import (
    ANY_FORM,
    DOMAINS,
    TOKENIZER,
    AnyManifest,
    ContentKind,
    Documents,
    DomainTotals,
    LinkedDomain,
    Manifest,
    OwnTokens,
    PackedManifest,
    ParquetTable,
    Spans,
    Standing,
    StoreDomain,
    TokenReader,
    Tokens,
    TokenSource,
    file_digest,
    read_any,
    readable,
)
from mixture.data.storage import Address, ObjectOptions, located
from mixture.data.store.checks import check_digest
from mixture.data.store.distant import DistantStanding, compare, fetch_description
from mixture.data.store.distant_tokens import DistantTokens
from mixture.data.store.verify import damage
from mixture.data.token_files import LinkedTokens
from mixture.errors import Place, StoreError, nearest
from mixture.planning.catalog import OVERVIEW, Overview, read_overview


class Verify(Enum):
    """How much of a store opening it compares.

    SIZES: the size of every file, both ends of every token file, and the digests of the tables up to a megabyte. Of
           files that a catalog leads to, the sizes, and the fingerprints of those that were written since.
    FULL:  every byte, as `verify_store` does.
    """

    SIZES = "sizes"
    FULL = "full"


class Store:
    """Tokens by domain, readable at any place. Nothing is read before it is asked for; threads may share it.

    A file that was written to in place since the store was opened is refused before it is read: StoreError
    `store-changed`, or `file-size` where it was cut short. Replace stores by rename: what is mapped of a file that is
    cut short while it is read ends the process.

    A store at an address is read through `mixture.data.storage`; an object that is not the one that it was when the
    store was opened is refused, too.

    source:           what it was opened by: a path or an address
    path, catalog:    its folder, and the table of its domains in it; of a store at an address the folder here that its
                      tables are fetched into, as they are asked for
    tokenizer:        the name of the tokenizer, `tokenizer_digest` the SHA-256 of its definition, None where a catalog
                      has none
    vocabulary:       every id is below it
    end_of_document:  the id that stands once behind every document
    dtype:            of its tokens, uint16 or uint32
    domains:          by name, in order of name
    digest:           the SHA-256 of what it holds, the same wherever the same documents were ingested
    verified:         how much was compared when it was opened
    packed:           the tokens of its rows, where it holds packed rows; only sequences of that length are read from it
    """

    def __init__(self, path: Path, manifest: AnyManifest, verified: Verify, standing: Standing) -> None:
        self.path = path
        self.source = str(standing.address) if isinstance(standing, DistantStanding) else str(path)
        self.objects = standing.options
        self.catalog = path / DOMAINS
        self.tokenizer = manifest.tokenizer.name
        self.tokenizer_digest = manifest.tokenizer.digest
        self.vocabulary = manifest.tokenizer.vocabulary
        self.end_of_document = manifest.end_of_document.token
        self.dtype = np.dtype(manifest.dtype)
        self.verified = verified
        self.packed = manifest.packed.sequence_length if isinstance(manifest, PackedManifest) else None
        self.domains: Mapping[str, StoreDomain] = MappingProxyType(
            {d.name: StoreDomain(d.name, d.tokens, d.documents, d.content, _kind(d)) for d in manifest.domains}
        )
        self._manifest = manifest
        self._standing = standing
        self._number = {domain.name: number for number, domain in enumerate(manifest.domains)}
        self._documents = Documents(path, manifest, standing)
        self._tokens = _tokens(path, manifest, standing, self._documents)
        self._all = self.reader(list(self.domains))

    def __reduce__(self) -> tuple[Callable[[str], Store], tuple[str]]:
        """In another process it is opened again: maps do not travel."""
        return partial(open_store, objects=self.objects), (self.source,)

    def reopened(self, verify: Verify) -> Store:
        """The same store, opened again."""
        return open_store(self.source, verify=verify, objects=self.objects)

    @property
    def digest(self) -> str:
        return self._manifest.digest

    @cached_property
    def overview(self) -> Overview | None:
        """What its clusters are about, and how they were made; None: its sources did not say.

        Errors: StoreError, where the file is not the one that was written.
        """
        for record in self._manifest.tables:
            if record.file == OVERVIEW:
                path = self.path / OVERVIEW
                self._standing.at_hand(path)
                with readable(path):
                    found = file_digest(path)
                self._standing.check()
                check_digest(str(path), record, found, None)
                return read_overview(path)
        return None

    @cached_property
    def labels(self) -> pa.Table:
        """What the catalog says of domains beside their size: `domain`, `tokenizer`, and a column for each label."""
        table = ParquetTable(self.catalog, self._standing).range(0, len(self.domains))
        with readable(self.catalog):
            return table.drop_columns(["tokens", "documents"])

    def read(self, name: str, first_token: int, num_tokens: int) -> Tokens:
        """Tokens [num_tokens] of a domain: a read-only view where they lie in one file, else a copy.

        Errors: StoreError `domain-not-in-store`, `range-outside`.
        """
        return self._all.range(self._find(name), first_token, num_tokens)

    def reader(self, names: Sequence[str], *, unit_tokens: int | None = None) -> TokenReader:
        """A reader of rows for domains that are numbered as in `names`.

        unit_tokens: of objects, the block of tokens that is read and kept as a whole; None: rows as they are
        """
        return self._tokens.reader([self._find(name) for name in names], unit_tokens=unit_tokens)

    @property
    def is_distant(self) -> bool:
        """Whether tokens of it are read out of an object store."""
        return isinstance(self._tokens, LinkedTokens) and self._tokens.has_objects

    @property
    def object_options(self) -> ObjectOptions:
        """How objects of it are read."""
        return self._standing.blocks.options

    @property
    def definition(self) -> Path:
        """Where its tokenizer.json lies, if it has one."""
        self._standing.at_hand(self.path / TOKENIZER)
        return self.path / TOKENIZER

    def documents(self, name: str, first_token: int, num_tokens: int) -> pa.Table:
        """The documents that overlap a range of a domain, in order of place.

        Columns: id string, first_token int64 (within the domain), tokens int64 (end-of-document counted), and the
        attributes, of `attribute_types`.
        """
        number = self._find(name)
        self._all.range(number, first_token, num_tokens)
        return self._documents.table(number, first_token, num_tokens)

    def documents_from(self, name: str, first: int, count: int) -> pa.Table:
        """A domain's documents from number `first` on (from 0, in order of place), with the columns of `documents`.

        At most `count`, fewer at its end. Storage is in a keyed random order, so the first ones are a fair sample.
        """
        return self._documents.numbered(self._find(name), first, count)

    def document(self, identity: str) -> pa.Table:
        """Every document with this id, in order of place: domain, and the columns of `documents`. None: no rows."""
        return self.documents_named([identity])

    def documents_named(self, identities: Sequence[str]) -> pa.Table:
        """Every document with any of these ids, in order of place, with the columns of `document`."""
        return self._documents.by_ids(identities)

    def ids_near(self, identity: str) -> list[str]:
        """Some ids of documents, for a hint where there is no such id.

        Of FILE#NUMBER that of the same number in the file of the nearest name; else those that stand beside it in
        order.
        """
        name, _, number = posixpath.basename(identity).rpartition("#")
        files = {posixpath.basename(file.file) for domain in self._manifest.domains for file in domain.files}
        meant = [f"{file}#{number}" for file in difflib.get_close_matches(name, sorted(files), n=1)]
        return self.documents_named(meant)["id"].to_pylist() or self._documents.ids_near(identity)

    def documents_at(self, names: Sequence[str], domain: NDArray[np.integer], document: NDArray[np.int64]) -> pa.Table:
        """The documents with these numbers [n], as `spans` gives them, in this order, with the columns of `document`.

        domain: [n], numbers `names`, as for `reader`
        """
        numbers = np.array([self._find(name) for name in names], np.int64)
        return self._documents.at(numbers[domain], document)

    def scan_documents(self, name: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of a domain's documents in order of place, some 16,000 documents at a time."""
        return self._documents.scan(self._find(name), columns)

    @property
    def attributes(self) -> tuple[str, ...]:
        """What documents say of themselves beside their place: columns of `documents`."""
        return tuple(self.attribute_types)

    @property
    def attribute_types(self) -> dict[str, pa.DataType]:
        """The types of attributes by name, in order of name: string, int64, float64 or bool."""
        return self._documents.attribute_types

    def spans(
        self, names: Sequence[str], domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int
    ) -> Spans:
        """The document segments of rows of `length` tokens; domain [n] numbers `names`, as for `reader`."""
        numbers = np.array([self._find(name) for name in names], np.int64)
        return self._documents.spans(numbers[domain], np.asarray(first_token, np.int64), length)

    def _find(self, name: str) -> int:
        try:
            return self._number[name]
        except KeyError:
            raise StoreError(
                f"the store has no domain '{name}'",
                code="domain-not-in-store",
                place=Place(file=self.source),
                hint=nearest(name, self._number),
                domain=name,
            ) from None


def open_store(
    path: str | os.PathLike[str],
    *,
    verify: Verify | Literal["sizes", "full"] = Verify.SIZES,
    objects: ObjectOptions | None = None,
) -> Store:
    """Open a store, or a catalog of token files elsewhere, which reads as one.

    By default compares what `Verify.SIZES` says; a store that is not whole is refused.

    path:    of its folder, or its address: s3://BUCKET/KEY, gs://, az://ACCOUNT/CONTAINER/KEY, https://, file:///
    objects: how objects are read and kept here; None: as `ObjectOptions.from_environment` says

    Errors: StoreError, naming file and domain with both figures.
    """
    verify = Verify(verify)
    folder, manifest, standing = described(path, objects)
    compare(folder, manifest, standing)
    if verify is Verify.FULL:
        for error in damage(folder, manifest, standing):
            raise error
    return Store(folder, manifest, verify, standing)


def described(path: str | os.PathLike[str], objects: ObjectOptions | None = None) -> tuple[Path, AnyManifest, Standing]:
    """The folder of a store's tables, what its store.json says, and what stands for it. Errors: StoreError."""
    place = located(path)
    if isinstance(place, Address):
        return fetch_description(place, objects or ObjectOptions.from_environment(), ANY_FORM)
    standing = Standing(place, objects)
    return place, read_any(place), standing


def _tokens(folder: Path, manifest: AnyManifest, standing: Standing, documents: Documents) -> TokenSource:
    if not isinstance(manifest, Manifest):
        return LinkedTokens(folder, manifest, standing, documents)
    if isinstance(standing, DistantStanding):
        return DistantTokens(folder, manifest, standing, documents)
    return OwnTokens(folder, manifest, standing)


def _kind(domain: DomainTotals) -> ContentKind:
    return domain.kind if isinstance(domain, LinkedDomain) else ContentKind.TOKENS
