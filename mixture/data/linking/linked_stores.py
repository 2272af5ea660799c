"""Domains of stores that lie elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixture.data.layout import DATA_START, FORMAT, Documents, DomainRecord, How, Manifest, Standing, read_manifest
from mixture.data.storage import Address, ObjectOptions, located
from mixture.data.store import fetch_description
from mixture.data.token_files import CHUNK, FoundDocuments, Survey, looks, one_piece, refused
from mixture.errors import nearest


class FoundDomain(NamedTuple):
    """A domain of a store, the store, and the folder that has its tables."""

    domain: DomainRecord
    manifest: Manifest
    folder: Path
    standing: Standing


def domain_of(path: str, name: str) -> FoundDomain:
    """A domain of a store that has its tokens itself. Errors: StoreError, `domain-not-in-store` among them."""
    place = located(path)
    standing: Standing
    if isinstance(place, Address):
        folder, manifest, standing = fetch_description(place, ObjectOptions.from_environment(), {FORMAT: Manifest})
    else:
        folder, manifest, standing = place, read_manifest(place), Standing(place)
    for domain in manifest.domains:
        if domain.name == name:
            return FoundDomain(domain, manifest, folder, standing)
    hint = nearest(name, [domain.name for domain in manifest.domains])
    raise refused(path, f"the store has no domain '{name}'", "domain-not-in-store", hint, domain=name)


def survey(path: str, how: How) -> Survey:
    """A file of the domain. All documents of the domain come with its first file: they go on from file to file."""
    store = posixpath.dirname(posixpath.dirname(path))
    domain, manifest, folder, standing = domain_of(store, how.domain or "")
    names = [file.file for file in domain.files]
    number = names.index(posixpath.relpath(path, store))
    size, expected = looks(path).size, domain.files[number].bytes
    if size != expected:
        message = f"has {size:,} bytes, and its store says {expected:,}"
        raise refused(path, message, "file-size", found=size, expected=expected)

    def found() -> Iterator[FoundDocuments]:
        documents = Documents(folder, manifest, standing)
        count = 0
        for table in documents.scan(manifest.domains.index(domain), ["id", "tokens"]):
            for batch in table.to_batches(max_chunksize=CHUNK):
                tokens = batch.column("tokens").to_numpy()
                yield FoundDocuments(tokens, count + np.arange(len(tokens)), batch.column("id"))
                count += len(tokens)

    nothing: list[FoundDocuments] = []
    return one_piece(
        np.dtype(manifest.dtype),
        DATA_START,
        domain.files[number].tokens,
        found if number == 0 else lambda: iter(nothing),
    )
