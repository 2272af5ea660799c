"""Catalogs of token files that stay where they are: built from a sources file, added to, and held against the files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from mixture.data.layout import BYTES, TokenizerRecord, base_of
from mixture.data.linking.catalog_writer import CatalogHead, KeptFile, Making, PlannedDomain, Progress, numpy_type
from mixture.data.linking.catalogs import CatalogReport, Work, before_of, replace_catalog, sources_of
from mixture.data.linking.finding import Finder
from mixture.data.linking.sources import CatalogSources, link_source, read_catalog_sources
from mixture.data.writing import choose_tokenizer, publish, workplace
from mixture.errors import Place, StoreError


def build_catalog(
    sources: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    full: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CatalogReport:
    """Make a catalog at `out` of the token files that a sources file names. It appears at once, when it is whole.

    full:     all of every file is read, its SHA-256 kept, and every id compared with the vocabulary
    threads:  None: as many as there are processors
    progress: called from any thread with bytes counted, and in all

    Errors: SpecError for what is not right in the sources file; IngestError `no-files`, `files-shared`,
    `tokenizer-unreadable`, and those of the place; StoreError, which names domain and file, for what is not right in
    them.
    """
    out_path = Path(out)
    base = base_of(out_path)
    base.mkdir(parents=True, exist_ok=True)
    read = read_catalog_sources(Path(sources), base)
    finder = Finder(base)
    definition = _definition(read)
    head = CatalogHead(
        tokenizer=_tokenizer(read, definition),
        definition=definition,
        end_of_document=read.end_of_document,
        dtype=numpy_type(read.vocabulary, read.dtype),
    )
    if read.vocabulary > 1 << int(head.dtype.removeprefix("uint")):
        message = f"dtype: a vocabulary of {read.vocabulary:,} does not go into {head.dtype}"
        raise StoreError(message, code="dtype-too-small", place=read.place, hint="uint32 does, or leave it out")
    planned_domains = [PlannedDomain(source, tuple(finder.files(source))) for source in read.domains]
    with workplace(out_path) as work:
        made = Work(work, base, threads, progress)
        manifest = made.write(
            Making(head, planned_domains, base=base, before=None), range(len(planned_domains)), is_full=full
        )
        publish(made.folder, out_path)
    return CatalogReport(out_path, manifest, sum(len(planned_domain.files) for planned_domain in planned_domains))


def add_domain(
    folder: str | os.PathLike[str],
    name: str,
    fields: dict[str, object],
    *,
    full: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CatalogReport:
    """Add a domain to a catalog; the others stay as they are, and are not looked at.

    fields: the keys that a sources file has for it: format, files, …; paths are relative to this process's folder

    Errors: those of `build_catalog`; StoreError `domain-exists`, `not-a-catalog`, `catalog-busy`, `store-replaced`.
    """
    before = before_of(Path(folder))
    source = link_source(name, fields, base_of(before.folder))
    if source.name in [domain.name for domain in before.manifest.domains]:
        message = f"the catalog has a domain '{source.name}'"
        raise StoreError(message, code="domain-exists", place=Place(file=str(folder)), hint="choose another name")
    sources = sources_of(before)
    finder = Finder(base_of(before.folder))
    for known in sources:
        finder.files_left(known)  # so that a file of two domains shows
    planned = [
        PlannedDomain(one, tuple(KeptFile(file, number, place) for place, file in enumerate(domain.files)))
        for number, (one, domain) in enumerate(zip(sources, before.manifest.domains, strict=True))
    ]
    files = tuple(finder.files(source))
    planned = sorted([*planned, PlannedDomain(source, files)], key=lambda one: one.source.name)
    number = [one.source.name for one in planned].index(source.name)
    return replace_catalog(before, planned, [number], is_full=full, threads=threads, progress=progress)


def _definition(sources: CatalogSources) -> bytes | None:
    """What tokenizer.json holds. Errors: IngestError `tokenizer-unreadable`."""
    if sources.definition is None:
        return None
    path = str(sources.definition)
    return choose_tokenizer(path, name=sources.tokenizer, end_of_document=None, place=sources.place).definition


def _tokenizer(sources: CatalogSources, definition: bytes | None) -> TokenizerRecord:
    digest = None if definition is None else hashlib.sha256(definition).hexdigest()
    if digest is None and sources.tokenizer == BYTES:
        digest = choose_tokenizer(BYTES, end_of_document=None, name=None, place=sources.place).make().record.digest
    return TokenizerRecord(name=sources.tokenizer, digest=digest, vocabulary=sources.vocabulary)
