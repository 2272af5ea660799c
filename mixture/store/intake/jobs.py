"""What a process does: read some pieces of a domain into runs, or merge a domain's runs into its files."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mixture.errors import IngestError, Place
from mixture.store.intake.batch import Batch, Columns, Piece
from mixture.store.intake.merge import MergedRuns
from mixture.store.intake.report import Reason
from mixture.store.intake.runs import ATTRIBUTE, DocumentKeys, Run, RunWriter
from mixture.store.intake.texts import read
from mixture.store.intake.token_writer import TokenWriter
from mixture.store.intake.tokenizer import TextRefused, Tokenizer
from mixture.store.manifest import DomainRecord, content_digest
from mixture.store.tables import document_schema
from mixture.units import quote

Advance = Callable[[int, int], None]  # a domain's number, bytes done


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What came of it. seen: the columns that some row has; rows: documents read, those dropped included."""

    domain: int
    runs: tuple[Run, ...]
    dropped: Counter[Reason]
    seen: frozenset[str]
    rows: int


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Pieces of one domain to read. name is that of its runs in the folder, like no other's."""

    folder: Path
    name: str
    domain: int
    domain_name: str
    pieces: tuple[Piece, ...]
    columns: Columns
    seed: int
    dtype: str

    def run(self, tokenizer: Tokenizer, advance: Advance) -> ReadResult:
        """Read, tokenise and sort. Errors: IngestError."""
        keys = DocumentKeys(self.seed, self.domain_name)
        dtype = np.dtype(self.dtype)
        writer = RunWriter(self.folder, self.name, self.columns.attributes, dtype)
        dropped: Counter[Reason] = Counter()
        seen: set[str] = set()
        rows = 0
        for piece in self.pieces:
            for batch in read(piece, self.columns):
                dropped.update(batch.dropped)
                seen |= batch.seen
                rows += len(batch.documents) + len(batch.dropped)
                for document, ids in zip(batch.documents, _encode(batch, tokenizer, keys, piece), strict=True):
                    if not len(ids):
                        dropped[Reason.NO_TOKENS] += 1
                        continue
                    identity, key = keys.of(document.id, document.text.encode())
                    _check(ids, identity, tokenizer, piece)
                    writer.add(key, identity, document.attributes, ids.astype(dtype, copy=False))
                advance(self.domain, batch.size)
        writer.flush()
        return ReadResult(self.domain, tuple(writer.runs), dropped, frozenset(seen), rows)


def _encode(batch: Batch, tokenizer: Tokenizer, keys: DocumentKeys, piece: Piece) -> list[np.ndarray]:
    """The ids of a batch's documents; what the tokenizer refuses is named."""
    try:
        return tokenizer.encode([document.text for document in batch.documents])
    except TextRefused as error:
        document = batch.documents[error.number]
        identity, _ = keys.of(document.id, document.text.encode())
        raise IngestError(
            f"document {quote(identity)}: the tokenizer can not cut it: {error.reason}",
            code="tokenizer-failed",
            place=Place(file=str(piece.file.path)),
            hint="a tokenizer needs a token for what is unknown, in its vocabulary, or bytes to fall back on",
            document=identity,
        ) from error


def _check(ids: np.ndarray, identity: str, tokenizer: Tokenizer, piece: Piece) -> None:
    """Refuse ids beyond the vocabulary, before a narrower type makes other ids of them."""
    largest = int(ids.max())
    if largest >= tokenizer.record.vocabulary:
        raise IngestError(
            f"document {quote(identity)}: id {largest:,} is outside of the vocabulary of "
            f"{tokenizer.record.vocabulary:,}",
            code="id-outside-vocabulary",
            place=Place(file=str(piece.file.path)),
            document=identity,
        )


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The domain as the store keeps it, and how many documents were there twice."""

    domain: int
    record: DomainRecord
    duplicates: int


@dataclass(frozen=True, slots=True)
class MergeJob:
    """Runs of one domain to merge into its files in `folder`; its table of documents goes to the path `documents`."""

    folder: Path
    documents: Path
    domain: int
    domain_name: str
    runs: tuple[Run, ...]
    attributes: tuple[str, ...]
    dtype: str
    file_tokens: int

    def run(self, tokenizer: Tokenizer, advance: Advance) -> MergeResult:  # noqa: ARG002 tokens are made
        """Write a domain's tokens and its table of documents. Of duplicates one is kept."""
        dtype = np.dtype(self.dtype)
        merged = MergedRuns(self.runs, dtype)
        total = documents = duplicates = 0
        for part in merged.ranges():
            total += int(part.table["tokens"].to_numpy().sum())
            documents += len(part.table)
            duplicates += part.duplicates
        schema = document_schema(self.attributes)
        spans = hashlib.sha256()
        first = 0
        with (
            TokenWriter(
                self.folder,
                number=self.domain,
                name=self.domain_name,
                dtype=dtype,
                tokens=total,
                file_tokens=self.file_tokens,
            ) as writer,
            pa.OSFile(str(self.documents), "wb") as sink,
            pa.ipc.new_file(sink, schema) as table,
        ):
            for part in merged.ranges():
                data = merged.tokens(part)
                writer.write(data)
                lengths = part.table["tokens"].to_numpy()
                spans.update(lengths.astype("<i8").tobytes())
                places = first + np.cumsum(lengths) - lengths
                table.write_table(_rows(self.domain_name, places, part.table, schema))
                first += int(lengths.sum())
                advance(self.domain, len(data))
        advance(self.domain, (sum(run.tokens for run in self.runs) - total) * dtype.itemsize)  # duplicates are done too
        record = DomainRecord(
            name=self.domain_name,
            tokens=total,
            documents=documents,
            content=content_digest(self.dtype, total, writer.digest.hexdigest(), documents, spans.hexdigest()),
            files=tuple(writer.files),
        )
        return MergeResult(self.domain, record, duplicates)


def _rows(domain: str, places: np.ndarray, part: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of documents.parquet for a range."""
    columns: list[Any] = [pa.repeat(domain, len(part)), part["id"].cast(pa.string()), places, part["tokens"]]
    for field in list(schema)[4:]:
        name = ATTRIBUTE + field.name
        columns.append(part[name].cast(pa.string()) if name in part.column_names else pa.nulls(len(part), pa.string()))
    return pa.table(columns, schema=schema)
