"""Domains of stores that lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mixture.errors import nearest
from mixture.store.documents import Documents
from mixture.store.files import DATA_START
from mixture.store.foreign.files import looks
from mixture.store.foreign.survey import CHUNK, FoundDocuments, Survey, one_piece, refused
from mixture.store.linked import How
from mixture.store.manifest import DomainRecord, Manifest, read_manifest
from mixture.store.mapping import Standing


def domain_of(folder: Path, name: str) -> tuple[Manifest, DomainRecord]:
    """A store that has its tokens itself, and a domain of it. Errors: StoreError, `domain-unknown` among them."""
    manifest = read_manifest(folder)
    for domain in manifest.domains:
        if domain.name == name:
            return manifest, domain
    hint = nearest(name, [domain.name for domain in manifest.domains])
    raise refused(str(folder), f"the store has no domain '{name}'", "domain-unknown", hint, domain=name)


def survey(path: str, how: How) -> Survey:
    """A file of the domain. All documents of the domain come with its first file: they go on from file to file."""
    folder = Path(path).parent.parent
    manifest, domain = domain_of(folder, how.domain or "")
    names = [file.file for file in domain.files]
    number = names.index(Path(path).relative_to(folder).as_posix())
    size, expected = looks(path).size, domain.files[number].bytes
    if size != expected:
        message = f"has {size:,} bytes, and its store says {expected:,}"
        raise refused(path, message, "file-size", found=size, expected=expected)

    def found() -> Iterator[FoundDocuments]:
        documents = Documents(folder, manifest, Standing(folder))
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
