"""Domains cut by the length of their documents: a store of derived domains that share no document."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.derived.derived import MadeDomain, SourceReader, derive
from mixture.data.layout import FILE_TOKENS, DomainRecord, content_digest, document_schema
from mixture.data.store import Store
from mixture.data.texts import ProgressCallback
from mixture.data.writing import Advance, Tokenizer, TokenWriter
from mixture.errors import IngestError
from mixture.names import HELD_OUT_ENDING

_CHUNK_TOKENS = 1 << 21  # of a document that are copied together


@dataclass(frozen=True, slots=True)
class LengthDomain:
    """A derived domain: the documents of `source` that are longer than longer_than tokens, and at most at_most long.

    at_most: None where there is no bound
    """

    name: str
    source: str
    longer_than: int
    at_most: int | None
    documents: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """The store that was made, its domains in order of source and length."""

    path: Path
    digest: str
    domains: tuple[LengthDomain, ...]


def split_store(
    store: Store,
    out: str | os.PathLike[str],
    bounds: Sequence[int],
    *,
    processes: int | None = None,
    progress: ProgressCallback | None = None,
) -> SplitReport:
    """Make a store at `out` whose domains are those of a store, cut by the number of tokens of their documents.

    bounds: ascending, in tokens, end-of-document counted in. Of 1024 and 4096, `web` becomes `web@0-1024`, whose
            documents have at most 1,024 tokens, `web@1024-4096`, and `web@4096-` with those that have more. Those of
            `web@validation` stay held out: `web@0-1024@validation`.
    processes: None: as many as there are processors, one where there is little to do; the store is the same

    Every document is in one of them, in the order in which it was stored; a domain may be empty. The catalog says
    `split_of`, `longer_than` and `at_most`, which is null where there is no bound. The store appears at once, when it
    is whole. Errors: IngestError `bounds-invalid`, `packed-already` and those of `ingest`; StoreError.
    """
    edges = [0, *bounds]
    if not bounds or any(low >= high for low, high in pairwise(edges)):
        raise IngestError(
            f"lengths are split at {', '.join(map(str, bounds)) or 'nothing'}",
            code="bounds-invalid",
            hint="ascending numbers of tokens above 0 are right here, such as 1024,4096",
        )
    ranges: list[tuple[int, int | None]] = [*pairwise(edges), (edges[-1], None)]
    names = {name: [_name(name, *one) for one in ranges] for name in store.domains}
    number = {name: i for i, name in enumerate(sorted(name for some in names.values() for name in some))}

    def jobs(folder: Path, scratch: Path) -> list[_SplitJob]:
        return [
            _SplitJob(store, folder, scratch, i, name, tuple(ranges), tuple((one, number[one]) for one in into))
            for i, (name, into) in enumerate(names.items())
        ]

    manifest, results = derive(store, Path(out), jobs, processes=processes, progress=progress)
    domains = [
        LengthDomain(made.record.name, made.source, *one, made.record.documents, made.record.tokens)
        for result in results
        for made, one in zip(result.made, ranges, strict=True)
    ]
    return SplitReport(Path(out), manifest.digest, tuple(domains))


def _name(name: str, longer_than: int, at_most: int | None) -> str:
    ending = HELD_OUT_ENDING if name.endswith(HELD_OUT_ENDING) else ""
    return f"{name.removesuffix(ending)}@{longer_than}-{'' if at_most is None else at_most}{ending}"


@dataclass(frozen=True, slots=True)
class _Split:
    """What a job has made, in order of length."""

    domain: int
    made: tuple[MadeDomain, ...]


@dataclass(frozen=True, slots=True)
class _SplitJob:
    """A domain to cut. into: name and number of each domain that comes of it, for each of the ranges of lengths."""

    source: Store
    folder: Path
    scratch: Path
    domain: int
    name: str
    ranges: tuple[tuple[int, int | None], ...]
    into: tuple[tuple[str, int], ...]

    def run(self, tokenizer: Tokenizer, advance: Advance) -> _Split:  # noqa: ARG002 tokens are made
        """Write the tokens and the tables of documents of all that comes of the domain."""
        reader = SourceReader(self.source, self.name)
        totals = np.zeros(len(self.into), np.int64)
        for lengths in reader.lengths():
            np.add.at(totals, self._part_of(lengths), lengths)
        with ExitStack() as stack:
            parts = [
                stack.enter_context(_Part(self.folder, self.scratch, reader, *named, tokens))
                for named, tokens in zip(self.into, totals.tolist(), strict=True)
            ]
            for some in reader.documents():
                part_of = self._part_of(some.lengths)
                for number, part in enumerate(parts):
                    chosen = np.flatnonzero(part_of == number)
                    part.list(some.table.take(chosen), some.lengths[chosen])
                columns = (part_of, some.first_token, some.stored, some.lengths)
                for number, first, stored, length in zip(*(column.tolist() for column in columns), strict=True):
                    parts[number].copy(reader, first, stored, length)
                advance(self.domain, int(some.stored.sum()) * reader.dtype.itemsize)
        made_domains = [
            MadeDomain(
                self.name, part.record(), part.documents, {"split_of": self.name, "longer_than": low, "at_most": high}
            )
            for part, (low, high) in zip(parts, self.ranges, strict=True)
        ]
        return _Split(self.domain, tuple(made_domains))

    def _part_of(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of the domains documents of these lengths go to."""
        part_of: NDArray[np.int64] = np.searchsorted([low for low, _ in self.ranges[1:]], lengths, side="left")
        return part_of


class _Part:
    """A derived domain while it is written."""

    def __init__(self, folder: Path, scratch: Path, reader: SourceReader, name: str, number: int, tokens: int) -> None:
        self.documents = scratch / f"{number:05d}.arrow"
        self._name = name
        self._tokens = tokens
        self._dtype = reader.dtype
        self._end = np.array([reader.end_of_document], reader.dtype).tobytes()
        self._schema = document_schema(reader.attributes)
        self._lengths = hashlib.sha256()
        self._first = self._count = 0
        self._writer = TokenWriter(
            folder, number=number, name=name, dtype=reader.dtype, tokens=tokens, file_tokens=FILE_TOKENS
        )
        self._stack = ExitStack()

    def __enter__(self) -> _Part:
        with ExitStack() as stack:
            stack.enter_context(self._writer)
            sink = stack.enter_context(pa.OSFile(str(self.documents), "wb"))
            self._table = stack.enter_context(pa.ipc.new_file(sink, self._schema))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.__exit__(*raised)  # type: ignore[arg-type]

    def list(self, table: pa.Table, lengths: NDArray[np.int64]) -> None:
        """Note documents with their lengths, in order of place."""
        if not len(lengths):
            return
        self._lengths.update(lengths.astype("<i8").tobytes())
        places = self._first + np.cumsum(lengths) - lengths
        said = [pa.repeat(self._name, len(lengths)), table["id"], places, lengths]
        columns = [*said, *(table[name] for name in self._schema.names[4:])]
        self._table.write_table(pa.table(columns, schema=self._schema))
        self._first += int(lengths.sum())
        self._count += len(lengths)

    def copy(self, reader: SourceReader, first: int, stored: int, length: int) -> None:
        """Write the tokens of a document, and end-of-document where it has none."""
        for start in range(first, first + stored, _CHUNK_TOKENS):
            self._writer.write(reader.range(start, min(_CHUNK_TOKENS, first + stored - start)).tobytes())
        self._writer.write(self._end * (length - stored))

    def record(self) -> DomainRecord:
        """The domain as the store keeps it, when all is written."""
        digests = (self._writer.digest.hexdigest(), self._count, self._lengths.hexdigest())
        return DomainRecord(
            name=self._name,
            tokens=self._tokens,
            documents=self._count,
            content=content_digest(str(self._dtype), self._tokens, *digests),
            files=tuple(self._writer.files),
        )
