"""Writing the folder of a catalog: from domains whose files were counted, now or before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixture.data.layout import (
    PIECES,
    ROW_GROUP,
    Documents,
    EndToken,
    LinkedDomain,
    LinkedFile,
    LinkedFormat,
    LinkedManifest,
    Standing,
    TokenizerRecord,
    document_schema,
    file_record,
    files_digest,
    linked_path,
    write_manifest,
    write_table_files,
)
from mixture.data.linking.counting import CountedFile, CountJob
from mixture.data.linking.linked_stores import domain_of
from mixture.data.linking.sources import LinkSource
from mixture.data.texts import label_columns
from mixture.data.token_files import looks, naming
from mixture.errors import Place, StoreError

Progress = Callable[[int, int], None]
_PIECES_SCHEMA = pa.schema(
    [("domain", pa.int32()), ("file", pa.int32()), ("place", pa.int64()), ("tokens", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that was counted before; domain and number: where it stands in the catalog that it was counted for."""

    file: LinkedFile
    domain: int
    number: int


@dataclass(frozen=True, slots=True)
class PlannedDomain:
    """A domain to be written. files: paths are counted."""

    source: LinkSource
    files: tuple[str | KeptFile, ...]


@dataclass(frozen=True, slots=True)
class CatalogHead:
    """What a catalog says of all its tokens."""

    tokenizer: TokenizerRecord
    definition: bytes | None
    end_of_document: int
    dtype: Literal["uint16", "uint32"]


class CountedBefore:
    """A catalog that is there: what was counted for it need not be counted again."""

    def __init__(self, folder: Path, manifest: LinkedManifest, standing: Standing) -> None:
        self.folder, self.manifest, self._standing = folder, manifest, standing
        self._documents = Documents(folder, manifest, standing)

    def check(self) -> None:
        """Whether it still is. Errors: StoreError `store-replaced`."""
        self._standing.check()

    @cached_property
    def _pieces(self) -> pa.Table:
        return pq.read_table(self.folder / PIECES)

    def pieces(self, kept: KeptFile) -> pa.Table:
        """The pieces of a file: place and tokens."""
        domain, file = self._pieces["domain"].to_numpy(), self._pieces["file"].to_numpy()
        return self._pieces.filter(pa.array((domain == kept.domain) & (file == kept.number)))

    def documents(self, kept: KeptFile) -> Iterator[pa.RecordBatch]:
        """The ids of a file's documents and their numbers of tokens."""
        files = self.manifest.domains[kept.domain].files
        first = sum(file.documents for file in files[: kept.number])
        part = slice(first, first + kept.file.documents)
        for table in self._documents.scan(kept.domain, ["id", "tokens"], part=part):
            yield from table.to_batches()


Part = CountedFile | KeptFile


class Making:
    """A catalog being made in a folder. base: the folder that paths are relative to."""

    def __init__(
        self, head: CatalogHead, domains: Sequence[PlannedDomain], *, base: Path, before: CountedBefore | None
    ) -> None:
        self._head, self._domains, self._base, self._before = head, domains, base, before

    def write(
        self, folder: Path, spare: Path, *, threads: int, is_full: bool, progress: Progress | None
    ) -> LinkedManifest:
        """Count what has to be counted, and write all of the catalog; spare: an empty folder beside.

        Errors: StoreError, which names domain and file.
        """
        self._check_stores()
        parts = self._count(spare, threads, is_full, progress)
        domains = [self._domain(one.source, files) for one, files in zip(self._domains, parts, strict=True)]
        folder.mkdir()
        pq.write_table(self._pieces(parts), folder / PIECES)
        tables = write_table_files(
            folder,
            domains=domains,
            documents=self._documents(parts),
            attributes={},
            tokenizer=self._head.tokenizer.name,
            definition=self._head.definition,
            labels=label_columns([domain.source.labels for domain in self._domains]),
        )
        manifest = LinkedManifest(
            tokenizer=self._head.tokenizer,
            dtype=self._head.dtype,
            end_of_document=EndToken(token=self._head.end_of_document),
            tables=(*tables, file_record(folder, PIECES)),
            domains=tuple(domains),
        )
        for wrong in manifest.contradictions():
            raise StoreError(wrong, code="catalog-unfit", place=Place(file=str(folder)))
        write_manifest(folder, manifest)
        return manifest

    def _check_stores(self) -> None:
        """Refuse stores that were made with another tokenizer."""
        ours = self._head
        for domain in self._domains:
            how = domain.source.how
            if how.format is not LinkedFormat.STORE or how.path is None:
                continue
            if _is_kept(domain.files):
                continue
            path = linked_path(self._base, how.path)
            with naming(domain.source.name):
                theirs = domain_of(path, how.domain or "").manifest
            found = (theirs.tokenizer.name, theirs.tokenizer.vocabulary, theirs.end_of_document.token)
            expected = (ours.tokenizer.name, ours.tokenizer.vocabulary, ours.end_of_document)
            if found != expected:
                words = "the tokenizer '{}', a vocabulary of {:,}, and {:,} for end-of-document"
                message = f"domain '{domain.source.name}': the store has {words.format(*found)}"
                hint = f"the catalog says {words.format(*expected)}"
                raise StoreError(message, code="tokenizer-differs", place=Place(file=path), hint=hint)

    def _count(self, spare: Path, threads: int, is_full: bool, progress: Progress | None) -> list[list[Part]]:
        jobs = {
            (number, place): CountJob(
                domain=domain.source.name,
                how=domain.source.how,
                file=file,
                base=self._base,
                vocabulary=self._head.tokenizer.vocabulary,
                end_of_document=self._head.end_of_document,
                documents=spare / f"{number:05d}-{place:06d}.parquet",
                is_full=is_full,
            )
            for number, domain in enumerate(self._domains)
            for place, file in enumerate(domain.files)
            if isinstance(file, str)
        }
        sizes = {key: _size(linked_path(self._base, job.file)) for key, job in jobs.items()}
        done, total, guard = 0, sum(sizes.values()), threading.Lock()

        def run(key: tuple[int, int]) -> CountedFile:
            nonlocal done
            found = jobs[key].run()
            with guard:
                done += sizes[key]
                if progress is not None:
                    progress(done, total)
            return found

        # Hashing, decoding and NumPy let other threads run.
        with ThreadPoolExecutor(threads) as pool:
            futures = {key: pool.submit(run, key) for key in jobs}
            try:
                counted = {key: future.result() for key, future in futures.items()}
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [
            [counted[number, place] if isinstance(file, str) else file for place, file in enumerate(domain.files)]
            for number, domain in enumerate(self._domains)
        ]

    def _domain(self, source: LinkSource, parts: Sequence[Part]) -> LinkedDomain:
        files = tuple(part.file for part in parts)
        types = [self._type_of(part) for part in parts]
        dtype = types[0] if types else self._head.dtype
        for file, found in zip(files, types, strict=True):
            if found != dtype:
                message = (
                    f"domain '{source.name}': its tokens are of type {found}, and those of {files[0].file} {dtype}"
                )
                place = Place(file=linked_path(self._base, file.file))
                raise StoreError(message, code="dtype-differs", place=place, domain=source.name)
        content = files_digest(source.how, dtype, files, end_of_document=self._head.end_of_document)
        if source.how.format is LinkedFormat.STORE and source.how.path is not None:
            content = self._store_content(source.how.path, source.how.domain or "", parts)
        return LinkedDomain(
            name=source.name,
            tokens=sum(file.tokens for file in files),
            documents=sum(file.documents for file in files),
            content=content,
            dtype=dtype,
            how=source.how,
            files=files,
        )

    def _store_content(self, path: str, domain: str, parts: Sequence[Part]) -> str:
        """The content digest that a domain has in its store; the store is not asked where nothing of it was counted."""
        first = parts[0] if parts else None
        if isinstance(first, KeptFile):
            assert self._before is not None
            return self._before.manifest.domains[first.domain].content
        return domain_of(linked_path(self._base, path), domain).domain.content

    def _type_of(self, part: Part) -> str:
        if isinstance(part, CountedFile):
            return str(part.dtype)
        assert self._before is not None
        return self._before.manifest.domains[part.domain].dtype

    def _pieces(self, parts: Sequence[Sequence[Part]]) -> pa.Table:
        tables = [_PIECES_SCHEMA.empty_table()]
        for number, files in enumerate(parts):
            for place, part in enumerate(files):
                if isinstance(part, CountedFile):
                    places, tokens = pa.array(part.places), pa.array(part.piece_tokens)
                else:
                    assert self._before is not None
                    kept = self._before.pieces(part)
                    places, tokens = kept["place"], kept["tokens"]
                own = [pa.array(np.full(len(places), one, np.int32)) for one in (number, place)]
                tables.append(pa.table([*own, places, tokens], schema=_PIECES_SCHEMA))
        return pa.concat_tables(tables).combine_chunks()

    def _documents(self, parts: Sequence[Sequence[Part]]) -> Iterator[pa.Table]:
        """Tables of all documents, as large as row groups are to be."""
        for domain, files in zip(self._domains, parts, strict=True):
            end = 0
            waiting: list[pa.Table] = []
            for batch in self._batches(files):
                tokens = batch.column("tokens").to_numpy()
                ends = end + np.cumsum(tokens)
                columns = [
                    pa.array([domain.source.name]).take(pa.array(np.zeros(len(tokens), np.int64))),
                    batch.column("id"),
                ]
                columns += [pa.array(ends - tokens), batch.column("tokens")]
                waiting.append(pa.table(columns, schema=document_schema({})))
                end = int(ends[-1]) if len(ends) else end
                if sum(table.num_rows for table in waiting) >= ROW_GROUP:
                    whole = pa.concat_tables(waiting)
                    full = whole.num_rows // ROW_GROUP * ROW_GROUP
                    yield whole.slice(0, full)
                    waiting = [whole.slice(full)]
            if waiting:
                yield pa.concat_tables(waiting)

    def _batches(self, files: Sequence[Part]) -> Iterator[pa.RecordBatch]:
        for part in files:
            if isinstance(part, CountedFile):
                yield from part.batches()
            else:
                assert self._before is not None
                yield from self._before.documents(part)


def _is_kept(files: Sequence[str | KeptFile]) -> bool:
    """Whether there are files, and all of them were counted before."""
    return bool(files) and all(isinstance(file, KeptFile) for file in files)


def _size(path: str) -> int:
    try:
        return looks(path).size
    except (OSError, StoreError):  # counting it says what is wrong
        return 0


def numpy_type(vocabulary: int, asked: str | None) -> Any:  # noqa: ANN401 a Literal
    """The type that is handed out: the one that was asked for, or the smallest that holds the vocabulary."""
    return asked or ("uint16" if vocabulary <= 1 << 16 else "uint32")
