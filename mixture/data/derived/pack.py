"""Packed rows: a store whose domains are rows of one length, of whole documents, filled up with end-of-document."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.derived.derived import MadeDomain, SourceDocuments, SourceReader, derive
from mixture.data.derived.packing import RULE, pack_rows, window_size
from mixture.data.layout import FILE_TOKENS, DomainRecord, LongDocuments, Packing, document_schema, packed_digest
from mixture.data.store import Store
from mixture.data.texts import ProgressCallback
from mixture.data.writing import Advance, Tokenizer, TokenWriter
from mixture.errors import IngestError
from mixture.planning.catalog import PACKED, PADDING

MOST_TOKENS = 1 << 30
"""Of a row: one is held in memory."""
_CHUNK_TOKENS = 1 << 23  # that are put together before they are written
_LOOKED_AT = 1 << 14  # documents, at least, before it is asked whether they are a window
_PLACE = np.dtype([("first", "<i8"), ("source", "<i8"), ("tokens", "<i8")])  # of a part: there, here, how many


@dataclass(frozen=True, slots=True)
class PackedDomain:
    """What became of a domain.

    rows:      each of the packed length
    documents: that are in them, whole or in parts
    tokens:    of those documents, their ends counted in
    padding:   tokens that fill up rows; with `tokens` they are all that the rows have
    split:     documents longer than a row that are there in parts
    dropped:   documents longer than a row that were left out, and dropped_tokens theirs
    """

    name: str
    rows: int
    documents: int
    tokens: int
    padding: int
    split: int
    dropped: int
    dropped_tokens: int


@dataclass(frozen=True, slots=True)
class PackReport:
    """The store that was made, its domains in order of name."""

    path: Path
    digest: str
    sequence_length: int
    domains: tuple[PackedDomain, ...]


def pack_store(
    store: Store,
    out: str | os.PathLike[str],
    *,
    sequence_length: int,
    long: LongDocuments = LongDocuments.SPLIT,
    processes: int | None = None,
    progress: ProgressCallback | None = None,
) -> PackReport:
    """Make a store at `out` of rows of `sequence_length` tokens that hold whole documents (`packing.pack_rows`).

    A domain is its rows, one behind the other, so that a schedule of that length gives one row a sequence. What is left
    of a row is filled with end-of-document, which is of no document: `Spans` say -1 there, and losses leave it out. The
    catalog's `documents` are documents and parts of split ones; its columns `packed` and `padding` say the length of
    rows and the tokens of padding. Held-out domains are packed like the others.

    processes: None: as many as there are processors, one where there is little to do; the store is the same

    The store appears at once, when it is whole. Errors: IngestError `length-outside`, `packed-already` and those of
    `ingest`; StoreError, where the source can not be read.
    """
    if not 1 <= sequence_length <= MOST_TOKENS:
        raise IngestError(
            f"rows of {sequence_length:,} tokens",
            code="length-outside",
            hint=f"from 1 to {MOST_TOKENS:,} is right here",
        )
    said = {"sequence_length": sequence_length, "from": store.digest, "rule": RULE, "long": long}
    packing = Packing.model_validate(said)
    file_tokens = max(FILE_TOKENS // sequence_length, 1) * sequence_length

    def jobs(folder: Path, scratch: Path) -> list[_PackJob]:
        return [
            _PackJob(store, folder, scratch, number, name, sequence_length, long, file_tokens)
            for number, name in enumerate(store.domains)
        ]

    manifest, results = derive(
        store,
        Path(out),
        jobs,
        processes=processes,
        progress=progress,
        file_tokens=file_tokens,
        packed=packing,
    )
    return PackReport(Path(out), manifest.digest, sequence_length, tuple(result.report for result in results))


@dataclass(frozen=True, slots=True)
class _Packed:
    """What a job has made."""

    domain: int
    made: tuple[MadeDomain, ...]
    report: PackedDomain


@dataclass(frozen=True, slots=True)
class _PackJob:
    """A domain to pack: first which part of which document goes where, then the tokens."""

    source: Store
    folder: Path
    scratch: Path
    domain: int
    name: str
    sequence_length: int
    long: LongDocuments
    file_tokens: int

    def run(self, tokenizer: Tokenizer, advance: Advance) -> _Packed:  # noqa: ARG002 tokens are made
        """Write the domain's rows and its table of documents."""
        reader = SourceReader(self.source, self.name)
        laid = self._lay_out(reader)
        total = laid.report.rows * self.sequence_length
        with TokenWriter(
            self.folder,
            number=self.domain,
            name=self.name,
            dtype=reader.dtype,
            tokens=total,
            file_tokens=self.file_tokens,
        ) as writer:
            for rows, tokens in self._rows(reader, laid.report.rows):
                writer.write(rows.tobytes())
                advance(self.domain, tokens * reader.dtype.itemsize)
        record = DomainRecord(
            name=self.name,
            tokens=total,
            documents=laid.parts,
            content=packed_digest(
                self.sequence_length, str(reader.dtype), total, writer.digest.hexdigest(), laid.parts, laid.ends
            ),
            files=tuple(writer.files),
        )
        columns = {PACKED: self.sequence_length, PADDING: laid.report.padding}
        made_domain = MadeDomain(self.name, record, self._documents, columns)
        return _Packed(self.domain, (made_domain,), laid.report)

    @property
    def _documents(self) -> Path:
        return self.scratch / f"{self.domain:05d}.arrow"

    @property
    def _places(self) -> Path:
        return self.scratch / f"{self.domain:05d}.places"

    def _lay_out(self, reader: SourceReader) -> _LaidOut:
        """Write the table of documents, and beside it where the tokens of each part are."""
        schema = document_schema(reader.attributes)
        ends = hashlib.sha256()
        rows = parts = documents = tokens = split = dropped = dropped_tokens = 0
        with (
            pa.OSFile(str(self._documents), "wb") as sink,
            pa.ipc.new_file(sink, schema) as table,
            self._places.open("wb") as places,
        ):
            for window in _windows(reader):
                lengths = window.lengths
                is_long = lengths > self.sequence_length
                kept = np.flatnonzero(~is_long) if self.long is LongDocuments.DROP else np.arange(len(lengths))
                dropped += len(lengths) - len(kept)
                dropped_tokens += int(lengths.sum() - lengths[kept].sum())
                packed = pack_rows(lengths[kept], self.sequence_length)
                document = kept[packed.document]
                at = packed.first_token + rows * self.sequence_length
                place = np.empty(len(at), _PLACE)
                place["first"], place["source"] = at, window.first_token[document] + packed.begin
                place["tokens"] = np.minimum(packed.tokens, window.stored[document] - packed.begin)
                places.write(place.tobytes())
                ends.update((at + packed.tokens).astype("<i8").tobytes())
                taken = window.table.take(document)
                said = [pa.repeat(self.name, len(at)), taken["id"], at, packed.tokens]
                table.write_table(pa.table([*said, *(taken[name] for name in schema.names[4:])], schema=schema))
                rows += packed.rows
                parts += len(at)
                documents += len(kept)
                tokens += int(packed.tokens.sum())
                split += int(np.count_nonzero(is_long[kept]))
        report = PackedDomain(
            name=self.name,
            rows=rows,
            documents=documents,
            tokens=tokens,
            padding=rows * self.sequence_length - tokens,
            split=split,
            dropped=dropped,
            dropped_tokens=dropped_tokens,
        )
        return _LaidOut(report, parts, ends.hexdigest())

    def _rows(self, reader: SourceReader, rows: int) -> Iterator[tuple[NDArray[np.unsignedinteger], int]]:
        """Tokens of some rows at a time, and how many of them are of the source."""
        if not rows:
            return
        places = np.memmap(self._places, _PLACE, mode="r")
        first = places["first"]
        at_once = max(1, _CHUNK_TOKENS // self.sequence_length) * self.sequence_length
        for start in range(0, rows * self.sequence_length, at_once):
            size = min(at_once, rows * self.sequence_length - start)
            held = np.full(size, reader.end_of_document, reader.dtype)
            part = places[np.searchsorted(first, start) : np.searchsorted(first, start + size)]
            # In the order of the source: what lies together is read together.
            for to, source, tokens in part[np.argsort(part["source"])].tolist():
                held[to - start : to - start + tokens] = reader.range(source, tokens)
            yield held, int(part["tokens"].sum())


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """Where everything goes. parts: documents and parts of them; ends: the digest of where they end."""

    report: PackedDomain
    parts: int
    ends: str


def _windows(reader: SourceReader) -> Iterator[SourceDocuments]:
    """Documents that are packed together."""
    held: list[SourceDocuments] = []
    for some in reader.documents():
        held.append(some)
        if sum(map(len, held)) >= _LOOKED_AT:
            joined = SourceDocuments.joined(held)
            while (size := window_size(joined.lengths)) < len(joined):
                yield joined.part(slice(0, size))
                joined = joined.part(slice(size, None))
            held = [joined]
    if held:
        joined = SourceDocuments.joined(held)
        while len(joined):
            size = window_size(joined.lengths)
            yield joined.part(slice(0, size))
            joined = joined.part(slice(size, None))
