"""Reading all of a store, and comparing it with what it says of itself."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixture.data.layout import (
    DATA_START,
    DOCUMENTS,
    DOMAINS,
    AnyManifest,
    Documents,
    DomainRecord,
    FileRecord,
    LinkedDomain,
    LinkedManifest,
    Manifest,
    PackedManifest,
    SeenFile,
    Standing,
    arrow_file,
    content_digest,
    file_digest,
    linked_path,
    packed_digest,
    readable,
)
from mixture.data.store.checks import check_digest
from mixture.data.store.distant import compare
from mixture.data.token_files import LinkedTokens, linked_damage, opened
from mixture.errors import Place, StoreError

_CHUNK = 1 << 21  # tokens, or documents, that are looked at together

Progress = Callable[[int, int], None]


def damage(
    folder: Path, manifest: AnyManifest, standing: Standing, progress: Progress | None = None
) -> Iterator[StoreError]:
    """Everything that is wrong, in order of file. What can not be read at all is raised, not given.

    Where a table was changed, nothing is compared with what the tables say.
    """
    compare(folder, manifest, standing)
    meter = _Meter(progress, sum(file.bytes for file in all_files(manifest)))
    documents: Documents | None = Documents(folder, manifest, standing)
    for table in manifest.tables:
        try:
            standing.at_hand(folder / table.file)
            check_digest(standing.path_of(table.file), table, file_digest(folder / table.file), None)
        except StoreError as error:
            documents = None
            yield error
        meter.add(table.bytes)
    if documents is not None:
        yield from _table_damage(folder, manifest, documents)
    if isinstance(manifest, LinkedManifest):
        yield from _linked_damage(folder, manifest, standing, documents, meter)
        return
    with ThreadPoolExecutor(standing.threads) as threads:  # hashing lets other threads run
        checks = [
            _DomainCheck(folder, manifest, standing, number, documents, meter)
            for number in range(len(manifest.domains))
        ]
        for errors in threads.map(_DomainCheck.errors, checks):
            yield from errors


def all_files(manifest: AnyManifest) -> Iterator[FileRecord | SeenFile]:
    """Every file but store.json."""
    if isinstance(manifest, Manifest):
        yield from manifest.files()
        return
    yield from manifest.tables
    for domain in manifest.domains:
        for file in domain.files:
            yield from file.seen()


def _linked_damage(
    folder: Path, manifest: LinkedManifest, standing: Standing, documents: Documents | None, meter: _Meter
) -> Iterator[StoreError]:
    """Files that are not those that were counted, and of those that are, ids outside of the vocabulary."""
    base = standing.base

    def wrong(file: tuple[LinkedDomain, SeenFile]) -> list[StoreError]:
        domain, seen = file
        found = list(linked_damage(linked_path(base, seen.file), seen, domain, standing))
        meter.add(seen.bytes)
        return found

    changed: set[str] = set()
    listed = [(domain, seen) for domain in manifest.domains for file in domain.files for seen in file.seen()]
    with ThreadPoolExecutor(standing.threads) as threads:
        for (domain, _), errors in zip(listed, threads.map(wrong, listed), strict=True):
            changed |= {domain.name for _ in errors}
            yield from errors
    unknown = [seen for _, seen in listed if seen.sha256 is None]
    if unknown:
        message = (
            f"no digest was kept of {len(unknown):,} of {len(listed):,} files ({unknown[0].file}): fingerprints are "
            "right, and what was changed between the blocks of a fingerprint does not show"
        )
        hint = f"`mixture catalog refresh {folder} --full` keeps digests from now on"
        yield StoreError(message, code="digest-missing", place=Place(file=str(folder)), hint=hint)
    if documents is None:
        return
    reader = LinkedTokens(folder, manifest, standing, documents).doubted().reader(range(len(manifest.domains)))
    for number, domain in enumerate(manifest.domains):
        if domain.name not in changed:
            try:
                for first in range(0, domain.tokens, _CHUNK):
                    reader.range(number, first, min(_CHUNK, domain.tokens - first))
            except StoreError as error:
                yield error


class _Meter:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            if self._progress is not None:
                self._progress(self._done, self._total)


def _table_damage(folder: Path, manifest: AnyManifest, documents: Documents) -> Iterator[StoreError]:
    """Whether the tables say what store.json says."""
    name = manifest.tokenizer.name
    said = [
        {"domain": d.name, "tokens": d.tokens, "documents": d.documents, "tokenizer": name} for d in manifest.domains
    ]
    with readable(folder / DOMAINS), arrow_file(folder / DOMAINS) as source:
        catalog = pq.read_table(source, columns=["domain", "tokens", "documents", "tokenizer"]).to_pylist()
    if catalog != said:
        yield _error(
            folder / DOMAINS, "does not say what store.json says of domains and tokenizer", "tables-differ", None
        )
    names = pa.array([domain.name for domain in manifest.domains], pa.string())
    with readable(folder / DOCUMENTS), arrow_file(folder / DOCUMENTS) as source, pq.ParquetFile(source) as file:
        if file.metadata.num_rows != manifest.num_documents:
            message = f"has {file.metadata.num_rows:,} documents, and store.json says {manifest.num_documents:,}"
            yield _error(folder / DOCUMENTS, message, "tables-differ", None)
            return
        first = 0
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=["domain", "first_token", "tokens"])
            if not table.num_rows:
                continue
            rows = np.arange(first, first + table.num_rows)
            first += table.num_rows
            domain, start, end = documents.places(rows)
            same = (
                table["domain"].combine_chunks() == names.take(pa.array(domain))
                and np.array_equal(table["first_token"], start)
                and np.array_equal(table["tokens"], end - start)
            )
            if not same:
                message = f"row group {group} and document_ends.arrow place documents differently"
                yield _error(folder / DOCUMENTS, message, "tables-differ", names[int(domain[0])].as_py())


def _error(path: Path | str, message: str, code: str, domain: str | None) -> StoreError:
    return StoreError(message, code=code, place=Place(file=str(path)), domain=domain)


class _DomainCheck:
    """All checks of one domain, in one pass over its tokens."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        standing: Standing,
        number: int,
        documents: Documents | None,
        meter: _Meter,
    ) -> None:
        self._folder = folder
        self._standing = standing
        self._manifest = manifest
        self._domain: DomainRecord = manifest.domains[number]
        self._number = number
        self._documents = documents
        self._meter = meter
        self._dtype = np.dtype(manifest.dtype)
        self._row_tokens = manifest.packed.sequence_length if isinstance(manifest, PackedManifest) else None

    def errors(self) -> list[StoreError]:
        domain = self._domain
        found: list[StoreError] = []
        spans, tiled = self._spans(self._documents) if self._documents else ("", False)
        if self._documents and not tiled:
            message = f"domain '{domain.name}': its documents do not follow each other to its end"
            found.append(_error(self._folder / DOCUMENTS, message, "documents-differ", domain.name))
        tokens = hashlib.sha256()
        first = 0
        for record in domain.files:
            path = self._standing.path_of(record.file)
            size = self._dtype.itemsize
            digest = hashlib.sha256()
            with opened(path, self._standing) as file:
                digest.update(file.read(0, DATA_START))
                for start in range(0, record.tokens, _CHUNK):
                    data = file.read(DATA_START + start * size, min(_CHUNK, record.tokens - start) * size)
                    digest.update(data)
                    tokens.update(data)
                    if self._documents and tiled and not found:
                        found += self._ids(self._documents, path, first + start, np.frombuffer(data, self._dtype))
                    self._meter.add(len(data))
                digest.update(file.read(DATA_START + record.tokens * size, file.size))
            self._meter.add(record.bytes - record.tokens * self._dtype.itemsize)
            first += record.tokens
            try:
                check_digest(path, record, digest.hexdigest(), domain)
            except StoreError as error:
                found.append(error)
        said = (str(self._dtype), domain.tokens, tokens.hexdigest(), domain.documents, spans)
        content = content_digest(*said) if self._row_tokens is None else packed_digest(self._row_tokens, *said)
        if self._documents and content != domain.content and not found:
            message = f"domain '{domain.name}' has the content {content}, and store.json says {domain.content}"
            found.append(_error(self._folder, message, "content-differs", domain.name))
        return found

    def _spans(self, documents: Documents) -> tuple[str, bool]:
        """The digest of the documents' lengths, and whether they are above 0 and end where the domain does.

        Of packed rows: of where they end, and whether they lie in rows as `mixture.data.layout.packed_padding` says.
        """
        digest = hashlib.sha256()
        row_tokens = self._row_tokens
        tiled, last = True, 0
        for rows in documents.rows_of(self._number, _CHUNK):
            _, start, end = documents.places(rows)
            digest.update((end - start if row_tokens is None else end).astype("<i8").tobytes())
            tiled = tiled and bool((end > start).all())
            if row_tokens is not None:  # no row is empty
                tiled = tiled and bool((start - np.concatenate([[last], end[:-1]]) < row_tokens).all())
            last = int(end[-1])
        if row_tokens is not None:
            last += -last % row_tokens
        return digest.hexdigest(), tiled and last == self._domain.tokens

    def _ids(self, documents: Documents, path: str, first: int, tokens: np.ndarray) -> list[StoreError]:
        """Ids outside of the vocabulary, and documents that do not end with end-of-document."""
        name, end_of_document = self._domain.name, self._manifest.end_of_document.token
        vocabulary = self._manifest.tokenizer.vocabulary
        wrong = np.flatnonzero(tokens >= vocabulary)
        if len(wrong):
            at = first + int(wrong[0])
            document = documents.table(self._number, at, 1)["id"][0].as_py()
            message = (
                f"domain '{name}', document '{document}': token {at:,} is {tokens[wrong[0]]}, and the vocabulary has "
                f"{vocabulary:,} ids"
            )
            return [_error(path, message, "id-outside-vocabulary", name)]
        last = documents.last_tokens(self._number, first, len(tokens)) - first
        wrong = np.flatnonzero(tokens[last] != end_of_document)
        if self._row_tokens is not None and len(wrong):  # a part that fills a row is of a document that goes on
            wrong = wrong[~documents.fill_rows(self._number, first + last[wrong])]
        if len(wrong):
            at = first + int(last[wrong[0]])
            document = documents.table(self._number, at, 1)["id"][0].as_py()
            message = f"domain '{name}', document '{document}': its last token, {at:,}, is not end-of-document"
            return [_error(path, message, "end-of-document-missing", name)]
        return []
