"""From source files to a store."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from mixture.errors import IngestError, Place
from mixture.store.intake.batch import Piece
from mixture.store.intake.jobs import MergeJob, MergeResult, ReadJob, ReadResult
from mixture.store.intake.pool import Job, run_jobs
from mixture.store.intake.report import (
    DomainReport,
    IngestProgress,
    IngestReport,
    ProgressCallback,
    Reason,
    Stage,
)
from mixture.store.intake.sources import SourceDomain, Sources, read_sources
from mixture.store.intake.texts import split
from mixture.store.intake.tokenizer import Tokenizer, TokenizerChoice, choose_tokenizer
from mixture.store.intake.workplace import publish, workplace
from mixture.store.manifest import BYTES, TOKENS
from mixture.store.tables import FILE_TOKENS, ROW_GROUP, shared_ids, write_tables
from mixture.units import quote

R = TypeVar("R")

_JOB_BYTES = 1 << 26
_JOB_PIECES = 2000
_FILE_UNIT = 65_536
_ALONE_BYTES = 1 << 24  # less than this is read sooner than processes start


def ingest(
    sources: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tokenizer: str = BYTES,
    processes: int | None = None,
    seed: int = 0,
    file_tokens: int = FILE_TOKENS,
    progress: ProgressCallback | None = None,
) -> IngestReport:
    """Make a store at `out` from the files that a sources file names.

    tokenizer:    `bytes`, or the path of a tokenizer.json
    processes:    None: as many as there are processors, one where there is little to do; the store is the same
    seed:         of the order of documents, which follows from it, the domain, and each document's id and text alone
    file_tokens:  the most that one file holds, a multiple of 65,536; how tokens are cut does not enter the digest
    progress:     called in this process with how far a domain is

    The store appears at `out` at once, when it is whole. Killed at any moment and started again, it is as if never
    killed. Errors: IngestError; SpecError for what is not right in the sources file's YAML, CatalogError in its
    overview.
    """
    source_path, out_path = Path(sources), Path(out)
    if not 0 <= seed < 2**63:
        raise IngestError(f"the seed is {seed}", code="seed-outside", hint="a whole number from 0 below 2^63")
    if file_tokens < 1 or file_tokens % _FILE_UNIT:
        message = f"files of {file_tokens:,} tokens"
        raise IngestError(message, code="file-tokens-outside", hint=f"a multiple of {_FILE_UNIT:,} is right here")
    if processes is not None and processes < 1:
        raise IngestError(f"{processes} processes", code="processes-outside", hint="at least one is right here")
    read = read_sources(source_path)
    choice = choose_tokenizer(
        tokenizer,
        name=read.tokenizer_name,
        end_of_document=read.end_of_document,
        place=Place(file=str(source_path)),
    )
    made = choice.make()
    dtype = _dtype(made, read, source_path)
    try:
        with workplace(out_path) as folder:
            work = _Ingest(
                sources=read,
                choice=choice,
                tokenizer=made,
                dtype=dtype,
                folder=folder,
                processes=processes or _usual_processes(read),
                seed=seed,
                file_tokens=file_tokens,
                progress=progress,
            )
            return work.run(out_path)
    except OSError as error:
        raise _unwritable(error.filename or out_path, error.strerror or error) from error
    except duckdb.Error as error:  # it sorts the ids
        raise _unwritable(out_path, error) from error


def _unwritable(path: str | Path, reason: object) -> IngestError:
    message = f"the store can not be written: {reason}"
    return IngestError(message, code="store-unwritable", place=Place(file=str(path)))


def _usual_processes(sources: Sources) -> int:
    size = sum(file.size for domain in sources.domains for file in domain.files)
    return 1 if size < _ALONE_BYTES else os.cpu_count() or 1


def _dtype(tokenizer: Tokenizer, sources: Sources, path: Path) -> np.dtype[np.unsignedinteger]:
    """The type that was asked for, or the smallest that holds the vocabulary."""
    vocabulary = tokenizer.record.vocabulary
    asked = np.dtype(sources.dtype.value) if sources.dtype else None
    chosen = asked or np.dtype(np.uint16 if vocabulary <= 2**16 else np.uint32)
    if vocabulary > 2 ** (8 * chosen.itemsize):
        raise IngestError(
            f"dtype: a vocabulary of {vocabulary:,} does not go into {chosen}",
            code="dtype-too-small",
            place=Place(file=str(path), path="dtype"),
            hint="uint32 does, or leave it out",
            vocabulary=vocabulary,
        )
    return chosen


@dataclass(frozen=True, slots=True)
class _Ingest:
    """One ingest, at work in its folder."""

    sources: Sources
    choice: TokenizerChoice
    tokenizer: Tokenizer
    dtype: np.dtype[np.unsignedinteger]
    folder: Path
    processes: int
    seed: int
    file_tokens: int
    progress: ProgressCallback | None

    def run(self, out: Path) -> IngestReport:
        runs, store, documents = (self.folder / name for name in ("runs", "store", "documents"))
        for folder in (runs, documents, store / TOKENS):
            folder.mkdir(parents=True)
        read = self._read(runs)
        merged = self._merge(read, store, documents)
        manifest = write_tables(
            store,
            domains=[result.record for result in merged],
            documents=_tables([self._document_path(documents, number) for number in range(len(merged))]),
            attributes=self.sources.attributes,
            tokenizer=self.tokenizer.record,
            dtype=self.dtype,
            end_of_document=self.tokenizer.end_of_document,
            seed=self.seed,
            file_tokens=self.file_tokens,
            definition=self.choice.definition,
            labels=self.sources.labels,
            overview=self.sources.overview,
        )
        shared = shared_ids(store)
        for folder in (runs, documents):
            shutil.rmtree(folder)
        publish(store, out)
        reports = [
            DomainReport(
                name=domain.name,
                files=len(domain.files),
                source_bytes=sum(file.size for file in domain.files),
                documents=result.record.documents,
                tokens=result.record.tokens,
                dropped=_dropped(parts, result.duplicates),
                shared_ids=shared.get(domain.name, 0),
            )
            for domain, parts, result in zip(self.sources.domains, read, merged, strict=True)
        ]
        return IngestReport(out, manifest.digest, tuple(reports), self.sources.skipped)

    def _read(self, folder: Path) -> list[list[ReadResult]]:
        """The results of reading, by domain."""
        jobs, totals = [], []
        for number, domain in enumerate(self.sources.domains):
            pieces = [piece for file in domain.files for piece in split(file, domain.columns)]
            totals.append(sum(piece.size for piece in pieces))
            jobs += [
                ReadJob(
                    folder=folder,
                    name=f"{number:05d}-{part:06d}",
                    domain=number,
                    domain_name=domain.name,
                    pieces=tuple(group),
                    columns=domain.columns,
                    seed=self.seed,
                    dtype=str(self.dtype),
                )
                for part, group in enumerate(_grouped(pieces))
            ]
        results: list[list[ReadResult]] = [[] for _ in totals]
        for result in self._run(jobs, Stage.READ, totals):
            results[result.domain].append(result)
        for domain, parts in zip(self.sources.domains, results, strict=True):
            _check_seen(domain, parts)
        return results

    def _merge(self, read: list[list[ReadResult]], store: Path, documents: Path) -> list[MergeResult]:
        """The domains as the store has them."""
        runs = [tuple(run for result in parts for run in result.runs) for parts in read]
        jobs = [
            MergeJob(
                folder=store,
                documents=self._document_path(documents, number),
                domain=number,
                domain_name=domain.name,
                runs=runs[number],
                attributes=tuple(self.sources.attributes),
                dtype=str(self.dtype),
                file_tokens=self.file_tokens,
            )
            for number, domain in enumerate(self.sources.domains)
        ]
        totals = [sum(run.tokens for run in part) * self.dtype.itemsize for part in runs]
        return sorted(self._run(jobs, Stage.WRITE, totals), key=lambda result: result.domain)

    def _run(self, jobs: Sequence[Job[R]], stage: Stage, totals: list[int]) -> Iterator[R]:
        done = [0] * len(totals)

        def moved(domain: int, count: int) -> None:
            done[domain] += count
            if self.progress is not None:
                name = self.sources.domains[domain].name
                self.progress(IngestProgress(stage, name, done[domain], totals[domain]))

        return run_jobs(jobs, processes=self.processes, tokenizer=self.choice, domains=len(totals), moved=moved)

    def _document_path(self, folder: Path, number: int) -> Path:
        return folder / f"{number:05d}.arrow"


def _grouped(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Pieces put together to jobs that are worth a process's while."""
    group: list[Piece] = []
    size = 0
    for piece in pieces:
        if group and (len(group) >= _JOB_PIECES or size + piece.size > _JOB_BYTES):
            yield group
            group, size = [], 0
        group.append(piece)
        size += piece.size
    if group:
        yield group


def _check_seen(domain: SourceDomain, parts: list[ReadResult]) -> None:
    """Refuse a column that no row of a domain has: it is misspelt."""
    seen = frozenset[str]().union(*(part.seen for part in parts))
    if not sum(part.rows for part in parts):
        return
    for name in domain.columns.names:
        if name not in seen:
            raise IngestError(
                f"domain {quote(domain.name)}: no row of its files has {quote(name)}",
                code="column-missing",
                place=domain.place,
                domain=domain.name,
            )


def _tables(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """The documents of each domain, so many at a time."""
    for path in paths:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
            for first in range(0, table.num_rows, ROW_GROUP):
                yield table.slice(first, ROW_GROUP)


def _dropped(parts: list[ReadResult], duplicates: int) -> dict[Reason, int]:
    """Documents left out, by reason, in order of reason."""
    counts = sum((part.dropped for part in parts), Counter[Reason]())
    counts[Reason.DUPLICATE] += duplicates
    return {reason: counts[reason] for reason in Reason if counts[reason]}
