"""What a process does: read some pieces of a domain into runs, or merge a domain's runs into its files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mixture.errors import IngestError, Place
from mixture.store.intake.batch import Batch, Columns, Document, Piece
from mixture.store.intake.holdout import Chances, Holdouts
from mixture.store.intake.merge import MergedRuns
from mixture.store.intake.parts import Making
from mixture.store.intake.pool import Advance
from mixture.store.intake.quarantine import Dropped, Example, LeftOut, Ward, start_of
from mixture.store.intake.report import Reason
from mixture.store.intake.runs import ATTRIBUTE, DocumentKeys, Entry, Names, Run, RunWriter
from mixture.store.intake.texts import read
from mixture.store.intake.token_writer import TokenWriter
from mixture.store.intake.tokenizer import TextRefused, Tokenizer
from mixture.store.intake.values import Kind
from mixture.store.manifest import TOKENS, DomainRecord, content_digest
from mixture.store.tables import document_schema
from mixture.units import quote

_DOCUMENTS = "documents.arrow"


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What came of it.

    dropped, examples: the rows left out: their number, and the first ones
    seen:              the columns that some row has
    kinds:             what the values of attributes are
    rows:              documents read, those dropped included
    """

    group: int
    runs: tuple[Run, ...]
    dropped: tuple[Dropped, ...]
    examples: tuple[Example, ...]
    seen: frozenset[str]
    kinds: dict[str, frozenset[Kind]]
    rows: int


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Pieces of one group of sources to read. domain: that all of its documents are of; None: a column says it."""

    group: int
    domain: str | None
    pieces: tuple[Piece, ...]
    columns: Columns
    holdouts: Holdouts
    seed: int
    dtype: str

    def run(self, making: Making, tokenizer: Tokenizer, advance: Advance) -> ReadResult:
        """Read, tokenise and sort. Errors: IngestError."""
        dtype = np.dtype(self.dtype)
        writer = RunWriter(making, self.columns.attributes, dtype)
        chances, names = Chances(self.seed), Names(self.seed, self.columns.domain)
        bounds = cache(lambda domain: self.holdouts.of(domain).bound)
        ward = Ward()
        seen: set[str] = set()
        kinds: defaultdict[str, set[Kind]] = defaultdict(set)
        rows = 0
        for piece in self.pieces:
            for batch in read(piece, self.columns):
                for left in batch.dropped:
                    ward.add(left, piece.file, self.domain)
                seen |= batch.seen
                for attribute, some in batch.kinds.items():
                    kinds[attribute] |= some
                rows += len(batch.documents) + len(batch.dropped)
                for document, ids in zip(batch.documents, _encode(batch, tokenizer, piece), strict=True):
                    if not len(ids):
                        start = start_of(document.text)
                        left = LeftOut(Reason.NO_TOKENS, document.domain, document.at, document.id, start)
                        ward.add(left, piece.file, self.domain)
                        continue
                    domain = document.domain if document.domain is not None else self.domain
                    assert domain is not None
                    identity, key = names.keys(domain, piece).of(document.id, document.text.encode())
                    bound = bounds(domain)
                    chance = chances.of(identity) if bound else bound
                    held = chance if chance < bound else None
                    tokens = ids.astype(dtype, copy=False)
                    writer.add(Entry(domain, held, key, identity, document.attributes, tokens))
                advance(self.group, batch.size)
        writer.flush()
        return ReadResult(
            group=self.group,
            runs=tuple(writer.runs),
            dropped=ward.dropped,
            examples=ward.examples,
            seen=frozenset(seen),
            kinds={name: frozenset(some) for name, some in kinds.items()},
            rows=rows,
        )


def _encode(batch: Batch, tokenizer: Tokenizer, piece: Piece) -> list[np.ndarray]:
    """The ids of a batch's documents; what the tokenizer refuses is named, and a document with ids that are none."""
    try:
        encoded = tokenizer.encode([document.text for document in batch.documents])
    except TextRefused as error:
        identity = _identity(batch.documents[error.number])
        raise IngestError(
            f"document {quote(identity)}: the tokenizer can not cut it: {error.reason}",
            code="tokenizer-failed",
            place=Place(file=str(piece.file.path)),
            hint="a tokenizer needs a token for what is unknown, in its vocabulary, or bytes to fall back on",
            document=identity,
        ) from error
    vocabulary = tokenizer.record.vocabulary
    # Before a narrower type makes other ids of them; of all documents at once, for many are small.
    if encoded and np.concatenate(encoded).max(initial=0) >= vocabulary:
        number, largest = next((n, int(ids.max())) for n, ids in enumerate(encoded) if ids.max(initial=0) >= vocabulary)
        identity = _identity(batch.documents[number])
        raise IngestError(
            f"document {quote(identity)}: id {largest:,} is outside of the vocabulary of {vocabulary:,}",
            code="id-outside-vocabulary",
            place=Place(file=str(piece.file.path)),
            document=identity,
        )
    return encoded


def _identity(document: Document) -> str:
    return DocumentKeys(0, "").of(document.id, document.text.encode())[0]


@dataclass(frozen=True, slots=True)
class MergeResult:
    """A domain as it goes into the store, and how many documents were there twice.

    folder:    where its files lie; their number is not yet the domain's
    documents: its table of documents
    """

    domain: int
    folder: Path
    documents: Path
    record: DomainRecord
    duplicates: int


@dataclass(frozen=True, slots=True)
class MergeJob:
    """Runs of one domain, in the folder `parts`, to merge into its files.

    chances: of documents that may be held out, those with a chance in this range are the domain's
    """

    parts: Path
    domain: int
    domain_name: str
    runs: tuple[Run, ...]
    chances: range
    attributes: tuple[str, ...]
    dtype: str
    file_tokens: int

    def run(self, making: Making, tokenizer: Tokenizer, advance: Advance) -> MergeResult:  # noqa: ARG002 tokens are made
        """Write a domain's tokens and its table of documents. Of duplicates one is kept."""
        dtype = np.dtype(self.dtype)
        merged = MergedRuns(self.parts, self.runs, dtype, self.chances)
        total = documents = duplicates = 0
        for part in merged.ranges():
            total += int(part.table["tokens"].to_numpy().sum())
            documents += len(part.table)
            duplicates += part.duplicates
        schema = document_schema(dict.fromkeys(self.attributes, pa.string()))
        spans = hashlib.sha256()
        first = 0
        (making.folder / TOKENS).mkdir()
        with (
            TokenWriter(
                making.folder,
                number=0,
                name=self.domain_name,
                dtype=dtype,
                tokens=total,
                file_tokens=self.file_tokens,
            ) as writer,
            pa.OSFile(str(making.folder / _DOCUMENTS), "wb") as sink,
            pa.ipc.new_file(sink, schema) as table,
        ):
            for part in merged.ranges():
                for data in merged.tokens(part):
                    writer.write(data)
                    advance(self.domain, len(data))
                lengths = part.table["tokens"].to_numpy()
                spans.update(lengths.astype("<i8").tobytes())
                places = first + np.cumsum(lengths) - lengths
                table.write_table(_rows(self.domain_name, places, part.table, schema))
                first += int(lengths.sum())
        advance(self.domain, (sum(run.tokens for run in self.runs) - total) * dtype.itemsize)  # duplicates are done too
        record = DomainRecord(
            name=self.domain_name,
            tokens=total,
            documents=documents,
            content=content_digest(self.dtype, total, writer.digest.hexdigest(), documents, spans.hexdigest()),
            files=tuple(writer.files),
        )
        return MergeResult(self.domain, Path(making.name), Path(making.name, _DOCUMENTS), record, duplicates)


def _rows(domain: str, places: np.ndarray, part: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of documents.parquet for a range."""
    columns: list[Any] = [pa.repeat(domain, len(part)), part["id"].cast(pa.string()), places, part["tokens"]]
    for field in list(schema)[4:]:
        name = ATTRIBUTE + field.name
        columns.append(part[name].cast(pa.string()) if name in part.column_names else pa.nulls(len(part), pa.string()))
    return pa.table(columns, schema=schema)
