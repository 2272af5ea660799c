"""An ingest at work: sources are read into sorted runs, runs merged into domains, domains put together to a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from mixture.data.ingest.jobs import Merge, MergedDomain, MergeJob, ReadJob, ReadResult
from mixture.data.ingest.outcome import check_read, kinds_of, refusal, report
from mixture.data.ingest.parts import Part, Parts, together
from mixture.data.ingest.resumption import Begun, Earlier, Options, Resumed, ResumedCallback, begin
from mixture.data.ingest.sources import SourceGroup, Sources
from mixture.data.ingest.targets import Target, labels_of, targets
from mixture.data.layout import TOKENS, DomainRecord, document_tables, shared_ids, token_path, write_tables
from mixture.data.texts import (
    Compression,
    Empty,
    IngestProgress,
    IngestReport,
    Piece,
    ProgressCallback,
    Quarantine,
    Reason,
    Stage,
    Unfit,
    Unreadable,
    check_errors,
    column_type,
)
from mixture.data.writing import Tokenizer, TokenizerChoice, Workplace, publish, run_jobs

R = TypeVar("R")

_JOB_BYTES = 1 << 26
_JOB_PIECES = 2000
_PACKED = 4  # times as much text as bytes


@dataclass(frozen=True, slots=True)
class Work:
    """One ingest, at work in its place."""

    sources: Sources
    choice: TokenizerChoice
    tokenizer: Tokenizer
    dtype: np.dtype[np.unsignedinteger]
    place: Workplace
    processes: int
    seed: int
    file_tokens: int
    unfit: Unfit
    unreadable: Unreadable
    empty: Empty
    progress: ProgressCallback | None
    resumed: ResumedCallback | None

    def run(self, out: Path, earlier: Earlier) -> IngestReport:
        """Make the store and put it to its place."""
        end_of_document = self.tokenizer.end_of_document
        options = Options(
            self.tokenizer.record,
            end_of_document,
            str(self.dtype),
            self.seed,
            self.file_tokens,
            self.sources.end_of_document_in_text,
        )
        begun, parts, dropped, reasons = begin(self.sources, options, self.place, earlier, self.unreadable)
        reads = self._reads(begun)
        self._tell(begun, reads, dropped, reasons)
        read = self._read(begun, reads)
        runs = (run for results in read for result in results for run in result.runs)
        made = targets(self.sources, runs, folder=parts.folder, dtype=self.dtype)
        merged = self._merge(begun, made, parts)
        left_out = Quarantine([file.shown for group in self.sources.groups for file in group.files])
        for results in read:
            for result in results:
                left_out.add(result.examples)
        for domain in merged:
            left_out.add(domain.examples)
        quarantine = left_out.table
        records = [_numbered(domain.record, number) for number, domain in enumerate(merged)]
        store = self.place.folder / "store"
        (store / TOKENS).mkdir(parents=True)
        kinds = kinds_of(read)
        manifest = write_tables(
            store,
            domains=records,
            documents=document_tables(
                [replace(domain.documents, path=parts.folder / domain.documents.path) for domain in merged]
            ),
            attributes={name: column_type(kinds.get(name, set())) for name in self.sources.attributes}
            | {name: pa.string() if name == "file" else pa.int64() for name in self.sources.origin},
            tokenizer=self.tokenizer.record,
            dtype=self.dtype,
            end_of_document=end_of_document,
            seed=self.seed,
            file_tokens=self.file_tokens,
            definition=self.choice.definition,
            labels=labels_of(self.sources, made),
            overview=self.sources.overview,
            quarantine=quarantine,
        )
        shared = shared_ids(store)
        # Moved last of all: a domain whose files are not with its part is merged once more.
        for domain, record in zip(merged, records, strict=True):
            for own, file in zip(domain.record.files, record.files, strict=True):
                (parts.folder / domain.folder / own.file).rename(store / file.file)
        publish(store, out)
        return report(
            self.sources,
            read,
            list(zip(made, merged, strict=True)),
            shared=shared,
            path=out,
            digest=manifest.digest,
            quarantine=0 if quarantine is None else len(quarantine),
        )

    def _reads(self, begun: Begun) -> list[Part[ReadResult]]:
        """What is to be read."""
        reads: list[tuple[int, Part[ReadResult]]] = []
        holdouts = self.sources.holdouts
        for number, (source, pieces) in enumerate(zip(self.sources.groups, begun.pieces, strict=True)):
            sizes = {key: piece.size for key, piece in pieces.items()}
            for keys in together(sizes, most_bytes=_JOB_BYTES, most=_JOB_PIECES):
                group = [pieces[key] for key in keys]
                job = ReadJob(
                    group=number,
                    domain=source.name,
                    pieces=tuple(group),
                    columns=source.columns,
                    holdouts=holdouts,
                    seed=self.seed,
                    dtype=str(self.dtype),
                    end_of_document_in_text=self.sources.end_of_document_in_text,
                )
                files = dict.fromkeys(piece.file for piece in group)
                part = Part(job, tuple(keys), tuple(files), self.place.folder)
                reads.append((sum(map(_text_bytes, group)), part))
        # A packed file can not be cut: begun last, it would keep one process busy when all others have ended.
        return [part for _, part in sorted(reads, key=lambda read: -read[0])]

    def _tell(self, begun: Begun, reads: Sequence[Part[ReadResult]], dropped: int, reasons: tuple[str, ...]) -> None:
        kept = sum(map(len, begun.read)) + begun.merges
        if self.resumed is not None and kept + dropped:
            whole = sum(map(len, begun.read)) + len(reads) + begun.num_merges
            self.resumed(Resumed(kept, whole, dropped, reasons))

    def _read(self, begun: Begun, reads: Sequence[Part[ReadResult]]) -> list[list[ReadResult]]:
        """The results of reading, by group."""
        results = [list(kept) for kept in begun.read]
        names = [group.name or group.shown for group in self.sources.groups]
        for group, kept in zip(self.sources.groups, results, strict=True):
            for result in kept:
                self._check(group, result)
        for result in self._run(reads, Stage.READ, names, begun.done, begun.totals):
            self._check(self.sources.groups[result.group], result)
            results[result.group].append(result)
        problems = [problem for parts in results for result in parts for problem in result.unreadable]
        # A file may be several pieces, and fail in each of them.
        check_errors([problem.error for problem in dict.fromkeys(problems)], self.unreadable)
        for group, parts in zip(self.sources.groups, results, strict=True):
            check_read(group, parts, self.empty)
        return results

    def _check(self, group: SourceGroup, result: ReadResult) -> None:
        """Refuse what would be left out, where nothing may be."""
        if self.unfit is Unfit.REFUSE:
            for example in result.examples:
                if example.reason is not Reason.UNREADABLE_FILE:  # which has an option of its own
                    raise refusal(group, example)

    def _merge(self, begun: Begun, made: Sequence[Target], parts: Parts) -> list[MergedDomain]:
        """The domains as the store has them."""
        totals = [target.tokens * self.dtype.itemsize for target in made]
        merges = {
            target.name: Merge(number, target.name, target.runs, target.chances) for number, target in enumerate(made)
        }
        jobs = []
        for names in begun.merge_parts({target.name: target.num_bytes for target in made}):
            job = MergeJob(
                parts=parts.folder,
                merges=tuple(merges[name] for name in names),
                attributes=tuple(self.sources.attributes),
                origin=self.sources.origin,
                dtype=str(self.dtype),
                file_tokens=self.file_tokens,
            )
            jobs.append(Part(job, tuple(begun.merge_key(name) for name in names), (), self.place.folder))
        done = [total if target.name in begun.merged else 0 for target, total in zip(made, totals, strict=True)]
        merged = dict(begun.merged)
        for result in self._run(jobs, Stage.WRITE, list(merges), done, totals):
            merged |= {domain.record.name: domain for domain in result.domains}
        return [merged[target.name] for target in made]

    def _run(
        self,
        parts: Sequence[Part[R]],
        stage: Stage,
        names: Sequence[str],
        done: Sequence[int],
        totals: Sequence[int],
    ) -> Iterator[R]:
        now = list(done)

        def moved(domain: int, count: int) -> None:
            now[domain] += count
            if self.progress is not None:
                self.progress(IngestProgress(stage, names[domain], now[domain], totals[domain]))

        for domain, count in enumerate(done):
            if count:
                moved(domain, 0)
        return run_jobs(parts, processes=self.processes, tokenizer=self.choice, domains=len(now), moved=moved)


def _text_bytes(piece: Piece) -> int:
    """How much text a piece may be."""
    return piece.size * (1 if piece.file.compression is Compression.NONE else _PACKED)


def _numbered(record: DomainRecord, number: int) -> DomainRecord:
    """A domain's record with its files as the store names them."""
    files = [
        file.model_copy(update={"file": token_path(number, record.name, n)}) for n, file in enumerate(record.files)
    ]
    return record.model_copy(update={"files": tuple(files)})
