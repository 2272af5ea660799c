"""Making a store of another one's documents: read domain by domain in processes, there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.layout import (
    BYTES,
    FILE_TOKENS,
    TOKENS,
    ContentKind,
    DomainRecord,
    LinkedManifest,
    Manifest,
    Packing,
    StoredDocuments,
    TokenizerRecord,
    TokenReader,
    Tokens,
    document_tables,
    read_any,
    write_tables,
)
from mixture.data.store import Store
from mixture.data.texts import IngestProgress, ProgressCallback, Stage
from mixture.data.writing import Job, TokenizerChoice, publish, run_jobs, workplace
from mixture.errors import IngestError, Place

_ALONE_TOKENS = 1 << 27  # fewer are packed in some 4 s, in which processes hardly start
_PLACE = ("first_token", "tokens")
_AT_ONCE = 1 << 13  # documents whose last tokens are looked at together


I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MadeDomain:
    """A domain that was written.

    source:    the one that it is of
    documents: the Arrow file of its documents
    columns:   what the catalog says of it beside what it says of the source; the same columns for every domain
    """

    source: str
    record: DomainRecord
    documents: Path
    columns: Mapping[str, int | str | None]


class Result(Protocol):
    """What comes of a source domain."""

    @property
    def domain(self) -> int: ...
    @property
    def made(self) -> Sequence[MadeDomain]: ...


R = TypeVar("R", bound=Result)


def derive(
    store: Store,
    out: Path,
    jobs: Callable[[Path, Path], Sequence[Job[R]]],
    *,
    processes: int | None,
    progress: ProgressCallback | None,
    file_tokens: int = FILE_TOKENS,
    packed: Packing | None = None,
) -> tuple[Manifest, list[R]]:
    """Run a job for each domain of a store, and make a store of what they have written.

    jobs: of the folder that tokens go to, and of one for anything else, each job with the number of its domain

    Errors: IngestError; what the jobs raise.
    """
    if store.packed is not None:
        raise IngestError(
            f"the store holds rows packed to {store.packed:,} tokens",
            code="packed-already",
            place=Place(file=str(store.path)),
            hint="begin with the store that they were made of",
        )
    if processes is not None and processes < 1:
        raise IngestError(f"{processes} processes", code="processes-outside", hint="at least one is right here")
    domains = list(store.domains.values())
    total = sum(domain.tokens for domain in domains)
    usual = 1 if total < _ALONE_TOKENS else os.cpu_count() or 1
    done = [0] * len(domains)

    def moved(number: int, count: int) -> None:
        done[number] += count
        if progress is not None:
            size = domains[number].tokens * store.dtype.itemsize
            progress(IngestProgress(Stage.WRITE, domains[number].name, done[number], size))

    try:
        with workplace(out) as work:
            folder, scratch = work / "store", work / "scratch"
            (folder / TOKENS).mkdir(parents=True)
            scratch.mkdir()
            ran = run_jobs(
                jobs(folder, scratch),
                processes=processes or usual,
                tokenizer=TokenizerChoice(None, BYTES, None, Place(file=str(out))),  # none of them cuts text
                domains=len(domains),
                moved=moved,
            )
            results = sorted(ran, key=lambda result: result.domain)
            made = sorted((one for result in results for one in result.made), key=lambda one: one.record.name)
            manifest = write_tables(
                folder,
                domains=[one.record for one in made],
                documents=document_tables([StoredDocuments(one.documents) for one in made]),
                attributes=store.attribute_types,
                tokenizer=TokenizerRecord(
                    name=store.tokenizer, digest=store.tokenizer_digest, vocabulary=store.vocabulary
                ),
                dtype=store.dtype,
                end_of_document=store.end_of_document,
                seed=_seed(store),
                file_tokens=file_tokens,
                definition=_definition(store),
                labels=_labels(store, made),
                overview=store.overview,
                packed=packed,
            )
            shutil.rmtree(scratch)
            publish(folder, out)
            return manifest, results
    except OSError as error:
        raise _unwritable(error.filename or out, error.strerror or error) from error
    except duckdb.Error as error:  # it sorts the ids
        raise _unwritable(out, error) from error


def _unwritable(path: str | Path, reason: object) -> IngestError:
    message = f"the store can not be written: {reason}"
    return IngestError(message, code="store-unwritable", place=Place(file=str(path)))


def _seed(store: Store) -> int:
    """What keyed the order of documents; token files of others have their own order, and no seed."""
    manifest = read_any(store.path)
    return 0 if isinstance(manifest, LinkedManifest) else manifest.seed


def _definition(store: Store) -> bytes | None:
    """The tokenizer.json that the tokens were made with, where it lies beside them."""
    path = store.definition
    if not path.is_file():
        return None
    definition = path.read_bytes()
    return definition if hashlib.sha256(definition).hexdigest() == store.tokenizer_digest else None


def _labels(store: Store, made: Sequence[MadeDomain]) -> Mapping[str, pa.Array[Any]]:
    """The columns of the source's catalog for each domain, and those of its own, which go before them."""
    labels = store.labels
    columns = made[0].columns if made else {}
    row = {name: number for number, name in enumerate(labels["domain"].to_pylist())}
    taken = labels.take([row[one.source] for one in made]).combine_chunks()
    kept = [name for name in labels.column_names if name not in ("domain", "tokenizer", *columns)]
    own = {name: pa.array([one.columns[name] for one in made]) for name in columns}
    return {name: taken[name] for name in kept} | own


@dataclass(frozen=True, slots=True)
class SourceDocuments:
    """Documents of a domain in order of place.

    table:       id and attributes
    first_token: int64 [n], where each begins
    stored:      int64 [n], its tokens
    lengths:     int64 [n], its tokens with end-of-document, which may not be stored
    """

    table: pa.Table
    first_token: I64
    stored: I64
    lengths: I64

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, part: slice) -> SourceDocuments:
        """The documents with these numbers."""
        columns = (self.first_token[part], self.stored[part], self.lengths[part])
        return SourceDocuments(self.table[part], *columns)

    @classmethod
    def joined(cls, some: Sequence[SourceDocuments]) -> SourceDocuments:
        """One behind the other; some: one at least."""
        columns = ([one.first_token for one in some], [one.stored for one in some], [one.lengths for one in some])
        return cls(pa.concat_tables(one.table for one in some), *map(np.concatenate, columns))


class SourceReader:
    """The documents of one domain of a store as they go into another one: each with end-of-document behind it.

    Where token files of others have none behind a document, it is added.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.end_of_document = store.end_of_document
        self.dtype = store.dtype
        self.columns = ("id", *store.attributes)
        self.attributes = store.attribute_types
        self._store = store
        self._name = name
        self._reader: TokenReader = store.reader([name])
        self._may_lack_ends = store.domains[name].kind is ContentKind.FILES

    def documents(self) -> Iterator[SourceDocuments]:
        """All documents in order of place, some thousands at a time."""
        for table in self._store.scan_documents(self._name, [*self.columns, *_PLACE]):
            yield SourceDocuments(table.select(list(self.columns)), *self._places(table))

    def lengths(self) -> Iterator[I64]:
        """`SourceDocuments.lengths` of all of them, int64 [some]."""
        for table in self._store.scan_documents(self._name, _PLACE):
            yield self._places(table)[2]

    def _places(self, table: pa.Table) -> tuple[I64, I64, I64]:
        first, stored = (table[name].to_numpy() for name in _PLACE)
        return first, stored, stored + self._lacking(first + stored - 1)

    def range(self, first_token: int, num_tokens: int) -> Tokens:
        """Tokens [num_tokens] of the domain."""
        return self._reader.range(0, first_token, num_tokens)

    def _lacking(self, last: I64) -> I64:
        """1 where the last token of a document is not end-of-document."""
        lacking = np.zeros(len(last), np.int64)
        if self._may_lack_ends:
            for start in range(0, len(last), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                ids = self._reader.rows(np.zeros(len(last[part]), np.int64), last[part], 1)
                lacking[part] = ids[:, 0] != self.end_of_document
        return lacking
