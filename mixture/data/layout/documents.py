"""Where documents begin and end, what they are called, and where a document is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mixture.data.layout.files import DATA_START
from mixture.data.layout.linked import AnyManifest
from mixture.data.layout.manifest import DOCUMENT_ENDS, DOCUMENTS, DOCUMENTS_BY_ID, ENDS_DTYPE
from mixture.data.layout.mapping import OpenFile, Standing, readable
from mixture.data.layout.packed import PackedManifest
from mixture.data.layout.packed_padding import PADDING, begins, with_padding
from mixture.data.layout.parquet import ParquetTable
from mixture.errors import Place, StoreError

I64 = NDArray[np.int64]

PLACE = ("domain", "id", "first_token", "tokens")
"""Columns of documents.parquet before the attributes."""
NEAR = 20
"""Ids to either side of one that is not there: those that differ from it at the end."""
_BY_ID = pa.schema({"id": pa.string(), "row": pa.int64()})


def document_schema(attributes: Mapping[str, pa.DataType]) -> pa.Schema:
    """The columns of documents.parquet: the attributes, of these types, come last, in order of name."""
    fields: list[pa.Field[Any]] = [
        pa.field("domain", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("first_token", pa.int64(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
    ]
    return pa.schema([*fields, *(pa.field(name, attributes[name]) for name in sorted(attributes))])


@dataclass(frozen=True, slots=True)
class Spans:
    """The documents of n rows. Row i has the segments offsets[i] up to offsets[i + 1].

    offsets:   int64 [n + 1]
    document:  int64 [segments], the document's number within its domain, in order of place; -1: padding of a packed
               row, which is of no document
    end:       int64 [segments], where the segment ends within its row; a row's last is its length; none is empty
    closed:    bool [n], whether a document, or padding, ends with the row: the token behind it is of another document
    """

    offsets: NDArray[np.int64]
    document: NDArray[np.int64]
    end: NDArray[np.int64]
    closed: NDArray[np.bool_]

    @property
    def padded(self) -> bool:
        """Whether a row has padding."""
        return bool((self.document == PADDING).any())

    def rows(self, part: slice) -> Spans:
        """The documents of the rows from part.start up to part.stop."""
        offsets = self.offsets[part.start : part.stop + 1]
        segments = slice(int(offsets[0]), int(offsets[-1]))
        return Spans(offsets - offsets[0], self.document[segments], self.end[segments], self.closed[part])


class Documents:
    """The documents of a store, read where asked for. Domains are numbered in the store's order.

    document_ends.arrow holds where each document ends, counted over all domains laid one behind the other, so that one
    binary search over a memory map serves rows of any domains. Its entries are the rows of documents.parquet.
    """

    def __init__(self, folder: Path, manifest: AnyManifest, standing: Standing) -> None:
        self._folder = folder
        self._table = ParquetTable(folder / DOCUMENTS, standing, needed=document_schema({}))
        self._by_id = ParquetTable(folder / DOCUMENTS_BY_ID, standing, needed=_BY_ID)
        self._standing = standing
        self._names = [domain.name for domain in manifest.domains]
        self._num_documents = manifest.num_documents
        self._row_tokens = manifest.packed.sequence_length if isinstance(manifest, PackedManifest) else None
        tokens = [0, *(domain.tokens for domain in manifest.domains)]
        documents = [0, *(domain.documents for domain in manifest.domains)]
        self._first_tokens = np.cumsum(tokens, dtype=np.int64)
        self._first_documents = np.cumsum(documents, dtype=np.int64)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each document ends, int64 [documents of the store], mapped."""
        self._ends_file.check()
        return self._mapped_ends

    @cached_property
    def _ends_file(self) -> OpenFile:
        size = DATA_START + ENDS_DTYPE.itemsize * self._num_documents
        return OpenFile(f"{self._folder}/{DOCUMENT_ENDS}", size, self._standing)

    @cached_property
    def _mapped_ends(self) -> NDArray[np.int64]:
        return np.frombuffer(self._ends_file.mapped, ENDS_DTYPE, self._num_documents, DATA_START)

    def spans(self, domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int) -> Spans:
        """The segments of rows that begin at first_token [n] in domain [n] and are `length` tokens long."""
        start = self._first_tokens[domain] + first_token
        first, last = self._overlap(start, length)
        if self._row_tokens is not None and length:
            return self._packed_spans(np.asarray(domain), start, first, last, length)
        counts = last - first
        offsets = np.zeros(len(start) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        row = np.repeat(np.arange(len(start)), counts)
        document = first[row] + np.arange(offsets[-1]) - offsets[row]
        end = np.minimum(self.ends[document] - start[row], length)
        if length:
            before = np.roll(end, 1)
            before[offsets[:-1]] = 0
            if (end <= before).any() or (end[offsets[1:] - 1] != length).any():
                self._refuse()
        closed = self.ends[last - 1] == start + length if length else np.zeros(len(start), np.bool_)
        return Spans(offsets, document - self._first_documents[np.asarray(domain)[row]], end, closed)

    def _packed_spans(self, domain: NDArray[np.integer], start: I64, first: I64, last: I64, length: int) -> Spans:
        """`spans` of rows that may have padding: their documents are first [n] up to last [n], where there are any."""
        counts = last - first
        offsets = np.concatenate([[0], np.cumsum(counts)])
        row = np.repeat(np.arange(len(start)), counts)
        document = first[row] + np.arange(offsets[-1]) - offsets[row]
        begin, end = self._bounds(document)
        begin, end = np.maximum(begin - start[row], 0), np.minimum(end - start[row], length)
        goes_on = np.zeros(len(start), np.bool_)
        held = counts > 0
        goes_on[held] = self.ends[last[held] - 1] > start[held] + length
        if (begin >= end).any() or (begin[1:] < end[:-1])[row[1:] == row[:-1]].any():
            self._refuse()
        number = document - self._first_documents[domain[row]]
        return Spans(*with_padding(offsets, number, begin, end, length), ~goes_on)

    def _bounds(self, rows: I64) -> tuple[I64, I64]:
        """Where documents begin and end, counted over all domains: int64 [n] of these rows of documents.parquet [n]."""
        end = self.ends[rows]
        before = np.where(rows > 0, self.ends[rows - 1], 0) if len(rows) else end
        return before if self._row_tokens is None else begins(before, end, self._row_tokens), end

    def rows_of(self, domain: int, most: int) -> Iterator[NDArray[np.int64]]:
        """The rows of documents.parquet that are a domain's, at most so many at a time."""
        first, last = self._first_documents[domain : domain + 2].tolist()
        for start in range(first, last, most):
            yield np.arange(start, min(start + most, last))

    def places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Domain, first token and end of the documents in these rows, as document_ends.arrow has them."""
        domain = np.searchsorted(self._first_documents, rows, side="right") - 1
        before = self._first_tokens[domain]
        start, end = self._bounds(rows)
        return domain, np.where(rows == self._first_documents[domain], before, start) - before, end - before

    def last_tokens(self, domain: int, first_token: int, num_tokens: int) -> NDArray[np.int64]:
        """The places of the last tokens of documents that lie in a range, counted within the domain."""
        before = self._first_tokens[domain]
        low, high = np.searchsorted(self.ends, before + np.array([first_token, first_token + num_tokens]), side="right")
        last: NDArray[np.int64] = self.ends[low:high] - before - 1
        return last

    def fill_rows(self, domain: int, last_token: I64) -> NDArray[np.bool_]:
        """Whether the documents that end with these tokens [n] of a domain fill a packed row: bool [n]."""
        begin, end = self._bounds(np.searchsorted(self.ends, self._first_tokens[domain] + last_token, side="right"))
        fill: NDArray[np.bool_] = end - begin == self._row_tokens
        return fill

    def table(self, domain: int, first_token: int, num_tokens: int) -> pa.Table:
        """The documents that overlap a range, as rows of documents.parquet without the domain."""
        start = np.array([self._first_tokens[domain] + first_token])
        first, last = self._overlap(start, num_tokens)
        return self._table.range(int(first[0]), int(last[0])).drop_columns(["domain"])

    def numbered(self, domain: int, first: int, count: int) -> pa.Table:
        """A domain's documents from number `first` on, in order of place: at most `count`, fewer at its end."""
        before, end = self._first_documents[domain : domain + 2].tolist()
        start = min(before + first, end)
        return self._table.range(start, min(start + count, end)).drop_columns(["domain"])

    def by_ids(self, identities: Sequence[str]) -> pa.Table:
        """All rows of documents.parquet with any of these ids, in order of place."""
        wanted = pa.array(sorted(set(identities)), pa.string())
        parts = [pa.table({"id": pa.array([], pa.string()), "row": pa.array([], pa.int64())})]
        with readable(self._folder / DOCUMENTS_BY_ID):
            for table in self._by_id.holding(identities, ("id", "row")):
                parts.append(table.filter(pc.is_in(table["id"], wanted)).cast(parts[0].schema))
            found = pa.concat_tables(parts)
            rows = found["row"].to_numpy()
        order = np.argsort(rows)
        if rows.size and not 0 <= rows.min() <= rows.max() < self._num_documents:
            self._refuse("the rows that it leads to are none of its documents", DOCUMENTS_BY_ID)
        return self._described(rows[order], found["id"].take(order))

    def ids_near(self, identity: str) -> list[str]:
        """Some ids that stand beside this one in order of ids."""
        ids: list[str] = self._by_id.group_at(identity, ("id",))["id"].to_pylist()
        at = bisect_left(ids, identity)
        return ids[max(0, at - NEAR) : at + NEAR]

    def at(self, domain: NDArray[np.integer], document: NDArray[np.int64]) -> pa.Table:
        """The documents with these numbers [n] in these domains [n], in this order, as rows of documents.parquet."""
        rows = self._first_documents[domain] + document
        return self._described(rows, self._table.rows(rows, ["id"])["id"])

    def _described(self, rows: NDArray[np.int64], ids: pa.ChunkedArray) -> pa.Table:
        """Rows of documents.parquet, of which only the attributes are read: the ends say where documents are."""
        domain, first, end = self.places(rows)
        attributes = self._table.rows(rows, [name for name in self.columns if name not in PLACE])
        place = {"domain": pa.array(self._names, pa.string()).take(pa.array(domain)), "id": ids}
        place |= {"first_token": pa.array(first), "tokens": pa.array(end - first)}
        columns = place | {name: attributes[name] for name in attributes.column_names}
        return pa.table([columns[name] for name in self.columns], schema=self._table.schema)

    def scan(self, domain: int, columns: Sequence[str], *, part: slice = slice(None)) -> Iterator[pa.Table]:
        """Some columns of a domain's documents in order of place, as many at a time as a row group has.

        part: the numbers of those that are wanted
        """
        first, last = self._first_documents[domain : domain + 2].tolist()
        start, stop, _ = part.indices(last - first)
        return self._table.scan(first + start, first + stop, columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of documents.parquet."""
        return tuple(self._table.schema.names)

    @property
    def attribute_types(self) -> dict[str, pa.DataType]:
        """The types of the columns that are attributes, by name."""
        return {field.name: field.type for field in self._table.schema if field.name not in PLACE}

    def _overlap(self, start: NDArray[np.int64], length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First document and one past the last that have a token in [start, start + length)."""
        first = np.searchsorted(self.ends, start, side="right")
        if not length:
            return first, first
        last = np.searchsorted(self.ends, start + length, side="left")
        if self._row_tokens is not None:
            reached = last < self._num_documents
            last[reached] += self._bounds(last[reached])[0] < (start + length)[reached]
            if (last < first).any():
                self._refuse()
            return first, last
        last += 1
        if (last <= first).any() or (last > self._num_documents).any():
            self._refuse()
        return first, last

    def _refuse(
        self, message: str = "the ends of its documents do not follow each other", name: str = DOCUMENT_ENDS
    ) -> NoReturn:
        """A large file is not read when a store is opened, so what was changed in it shows here."""
        raise StoreError(
            message,
            code="documents-differ",
            place=Place(file=str(self._folder / name)),
            hint="`mixture verify` says what else was changed",
        )
