"""What a process does: read some pieces of a domain into runs, or merge domains' runs into their files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.ingest.document_order import DocumentKeys
from mixture.data.ingest.holdout import Chances, Holdouts
from mixture.data.ingest.merge import Indices, MergedRuns
from mixture.data.ingest.parts import Making
from mixture.data.ingest.sorted_runs import ATTRIBUTE, Entry, Names, Run, RunWriter
from mixture.data.layout import TOKENS, DomainRecord, StoredDocuments, content_digest, document_schema
from mixture.data.texts import (
    NO_ROW,
    UNREADABLE,
    Batch,
    Columns,
    Document,
    Dropped,
    EndInText,
    Example,
    Kind,
    LeftOut,
    Piece,
    Reason,
    Ward,
    duplicate_examples,
    first_of,
    printable,
    read,
    start_of,
)
from mixture.data.writing import Advance, TextRefused, TextTokens, Tokenizer, TokensInText, TokenWriter
from mixture.errors import IngestError, Place
from mixture.units import quote

_DOCUMENTS = "documents.arrow"


@dataclass(frozen=True, slots=True)
class Problem:
    """The error of a file that cannot be read, as a part's record keeps it."""

    message: str
    code: str
    file: str
    line: int | None
    hint: str | None

    @property
    def error(self) -> IngestError:
        return IngestError(self.message, code=self.code, place=Place(file=self.file, line=self.line), hint=self.hint)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What came of it.

    dropped, examples: the rows left out: their number, and the first ones
    seen:              the columns that some row has
    kinds:             what the values of attributes are
    rows:              documents read, those dropped included; files without a byte, and unreadable ones, are none
    unreadable:        what was found to be unreadable while it was read, and is not among the documents
    tokens_in_text:    how many documents spell the tokenizer's own tokens
    """

    group: int
    runs: tuple[Run, ...]
    dropped: tuple[Dropped, ...]
    examples: tuple[Example, ...]
    seen: frozenset[str]
    kinds: dict[str, frozenset[Kind]]
    rows: int
    unreadable: tuple[Problem, ...] = ()
    tokens_in_text: tuple[TokensInText, ...] = ()


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
    end_of_document_in_text: EndInText

    def run(self, making: Making, tokenizer: Tokenizer, advance: Advance) -> ReadResult:
        """Read, tokenise and sort. A piece that is found to be unreadable leaves no document. Errors: IngestError."""
        problems: dict[int, Problem] = {}
        done = 0
        while True:
            moved = 0

            def advance_once(group: int, count: int) -> None:
                nonlocal moved, done
                moved += count
                if moved > done:
                    advance(group, moved - done)
                    done = moved

            pieces = [
                replace(piece, problem=problems[number].message) if number in problems else piece
                for number, piece in enumerate(self.pieces)
            ]
            try:
                return self._read(pieces, tuple(problems.values()), making, tokenizer, advance_once)
            except _PieceUnreadable as stop:
                # Some of its documents are in runs: all pieces are read again, without it.
                problems[stop.number] = stop.problem
                for path in making.folder.iterdir():
                    path.unlink()

    def _read(
        self,
        pieces: Sequence[Piece],
        problems: tuple[Problem, ...],
        making: Making,
        tokenizer: Tokenizer,
        advance: Advance,
    ) -> ReadResult:
        dtype = np.dtype(self.dtype)
        writer = RunWriter(making, self.columns.attributes, dtype)
        chances, names = Chances(self.seed), Names(self.seed, self.columns.domain)
        bounds = cache(lambda domain: self.holdouts.of(domain).bound)
        ward = Ward()
        text_tokens = TextTokens(tokenizer.before, tokenizer.end_of_document, self.end_of_document_in_text)
        seen: set[str] = set()
        kinds: defaultdict[str, set[Kind]] = defaultdict(set)
        rows = 0
        for number, piece in enumerate(pieces):
            file = printable(piece.file.shown)
            for batch in _readable(number, piece, self.columns):
                for left in batch.dropped:
                    ward.add(left, piece.file, self.domain)
                seen |= batch.seen
                for attribute, some in batch.kinds.items():
                    kinds[attribute] |= some
                rows += len(batch.documents) + sum(left.reason not in NO_ROW for left in batch.dropped)
                encoded = self._encoded(batch, tokenizer, piece, text_tokens)
                for document, ids in zip(batch.documents, encoded, strict=True):
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
                    row, byte = piece.file.row_and_byte(document.at)
                    writer.add(Entry(domain, held, key, identity, document.attributes, tokens, file, row, byte))
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
            unreadable=problems,
            tokens_in_text=text_tokens.counts,
        )

    def _encoded(
        self, batch: Batch, tokenizer: Tokenizer, piece: Piece, text_tokens: TextTokens
    ) -> list[NDArray[np.unsignedinteger]]:
        """The ids of a batch's documents. Errors: IngestError `tokenizer-failed`, `id-outside-vocabulary`."""
        encoded = _encode(batch, tokenizer, piece)
        if not encoded:
            return encoded
        joined = np.concatenate(encoded)  # of all documents at once, for many are small
        # Before a narrower type makes other ids of them.
        _check_ids(joined, encoded, batch, tokenizer.record.vocabulary, piece)
        if not text_tokens.may_be_in(joined, sum(1 for ids in encoded if len(ids))):
            return encoded
        return [
            text_tokens.checked(ids, document.domain or str(self.domain)) if len(ids) else ids
            for document, ids in zip(batch.documents, encoded, strict=True)
        ]


class _PieceUnreadable(Exception):  # noqa: N818 it is no error of a caller's
    """The piece with this number cannot be read."""

    def __init__(self, number: int, problem: Problem) -> None:
        super().__init__(number, problem)
        self.number, self.problem = number, problem


def _readable(number: int, piece: Piece, columns: Columns) -> Iterator[Batch]:
    """The documents of a piece. Raises _PieceUnreadable."""
    try:
        yield from read(piece, columns)
    except IngestError as error:
        if error.code not in UNREADABLE:
            raise
        line = error.place.line if error.place else None
        problem = Problem(error.message, error.code, str(piece.file.path), line, error.hint)
        raise _PieceUnreadable(number, problem) from error


def _encode(batch: Batch, tokenizer: Tokenizer, piece: Piece) -> list[NDArray[np.unsignedinteger]]:
    """The ids of a batch's documents; what the tokenizer refuses is named."""
    try:
        return tokenizer.encode([document.text for document in batch.documents])
    except TextRefused as error:
        identity = _identity(batch.documents[error.number])
        raise IngestError(
            f"document {quote(identity)}: the tokenizer can not cut it: {error.reason}",
            code="tokenizer-failed",
            place=Place(file=str(piece.file.path)),
            hint="a tokenizer needs a token for what is unknown, in its vocabulary, or bytes to fall back on",
            document=identity,
        ) from error


def _check_ids(
    joined: NDArray[np.unsignedinteger],
    encoded: Sequence[NDArray[np.unsignedinteger]],
    batch: Batch,
    vocabulary: int,
    piece: Piece,
) -> None:
    """Raise IngestError, `id-outside-vocabulary`, for a document with ids that are none."""
    if joined.max(initial=0) >= vocabulary:
        number, largest = next((n, int(ids.max())) for n, ids in enumerate(encoded) if ids.max(initial=0) >= vocabulary)
        identity = _identity(batch.documents[number])
        raise IngestError(
            f"document {quote(identity)}: id {largest:,} is outside of the vocabulary of {vocabulary:,}",
            code="id-outside-vocabulary",
            place=Place(file=str(piece.file.path)),
            document=identity,
        )


def _identity(document: Document) -> str:
    return DocumentKeys(0, "").of(document.id, document.text.encode())[0]


@dataclass(frozen=True, slots=True)
class MergedDomain:
    """A domain as it goes into the store, and how many documents were there twice.

    folder:    where its files lie; their number is not yet the domain's
    documents: its rows of the table of documents
    examples:  the first of its duplicates
    """

    folder: Path
    documents: StoredDocuments
    record: DomainRecord
    duplicates: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Domains that were merged together."""

    domains: tuple[MergedDomain, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """A domain to merge.

    number:  of the domain that the progress is of
    chances: of documents that may be held out, those with a chance in this range are the domain's
    """

    number: int
    name: str
    runs: tuple[Run, ...]
    chances: range


@dataclass(frozen=True, slots=True)
class MergeJob:
    """Domains to merge out of runs, which are in the folder `parts`: a large one, or many that are small.

    origin: columns of where documents are from that become attributes
    """

    parts: Path
    merges: tuple[Merge, ...]
    attributes: tuple[str, ...]
    origin: tuple[str, ...]
    dtype: str
    file_tokens: int

    def run(self, making: Making, tokenizer: Tokenizer, advance: Advance) -> MergeResult:  # noqa: ARG002 tokens are made
        """Write the domains' tokens and their table of documents. Of duplicates one is kept."""
        (making.folder / TOKENS).mkdir()
        indices = Indices(self.parts)
        with (
            pa.OSFile(str(making.folder / _DOCUMENTS), "wb") as sink,
            pa.ipc.new_file(sink, self._schema) as table,
        ):
            merged = tuple(
                self._merged(number, merge, making, indices, table, advance) for number, merge in enumerate(self.merges)
            )
        return MergeResult(merged)

    @property
    def _schema(self) -> pa.Schema:
        return document_schema(dict.fromkeys((*self.attributes, *self.origin), pa.string()))

    def _merged(
        self,
        number: int,
        merge: Merge,
        making: Making,
        indices: Indices,
        table: pa.RecordBatchFileWriter,
        advance: Advance,
    ) -> MergedDomain:
        dtype = np.dtype(self.dtype)
        merged = MergedRuns(indices, merge.runs, dtype, merge.chances)
        total = documents = duplicates = 0
        again: list[Example] = []
        for part in merged.ranges():
            total += int(part.table["tokens"].to_numpy().sum())
            documents += len(part.table)
            duplicates += len(part.duplicates)
            again = first_of([*again, *duplicate_examples(part.duplicates, merge.name)])
        spans = hashlib.sha256()
        first = 0
        batches = table.stats.num_record_batches
        with TokenWriter(
            making.folder, number=number, name=merge.name, dtype=dtype, tokens=total, file_tokens=self.file_tokens
        ) as writer:
            for part in merged.ranges():
                for data in merged.tokens(part):
                    writer.write(data)
                    advance(merge.number, len(data))
                lengths = part.table["tokens"].to_numpy()
                spans.update(lengths.astype("<i8").tobytes())
                places = first + np.cumsum(lengths) - lengths
                table.write_table(_rows(merge.name, places, part.table, self._schema, self.origin))
                first += int(lengths.sum())
        # Duplicates are done too.
        advance(merge.number, (sum(run.tokens for run in merge.runs) - total) * dtype.itemsize)
        record = DomainRecord(
            name=merge.name,
            tokens=total,
            documents=documents,
            content=content_digest(self.dtype, total, writer.digest.hexdigest(), documents, spans.hexdigest()),
            files=tuple(writer.files),
        )
        rows = StoredDocuments(Path(making.name, _DOCUMENTS), batches, table.stats.num_record_batches)
        return MergedDomain(Path(making.name), rows, record, duplicates, tuple(again))


def _rows(domain: str, places: np.ndarray, part: pa.Table, schema: pa.Schema, origin: tuple[str, ...]) -> pa.Table:
    """The rows of documents.parquet for a range. origin: of its columns, those of `ORIGIN`."""
    columns: list[Any] = [pa.repeat(domain, len(part)), part["id"].cast(pa.string()), places, part["tokens"]]
    for field in list(schema)[4:]:
        name = field.name if field.name in origin else ATTRIBUTE + field.name
        columns.append(part[name].cast(pa.string()) if name in part.column_names else pa.nulls(len(part), pa.string()))
    return pa.table(columns, schema=schema)
