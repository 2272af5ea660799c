"""One step of one rank: tokens, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mixture.data.layout import Spans
from mixture.errors import StreamError
from mixture.stream import layout
from mixture.stream.dtypes import Ids

Tokens = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
RECORD_BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """The n rows that a rank reads of a step, in order of slots.

    input_ids:   [n, L], or [n, L + 1] with the next token; of the store's dtype, or the one that was asked for
    domain:      int32 [n], an index into the stream's `domains`
    position:    int64 [n], in the whole run
    epoch:       int64 [n], passes over the domain before this one
    first_token: int64 [n], where the row begins in its domain
    spans:       the documents of each row (of its first L tokens), where they were asked for, and of packed rows
    next_token:  whether input_ids has the token behind each row
    masked:      bool, of the shape of input_ids: True where a token was taken down, and stands as the store's
                 end_of_document, so that no loss is taken there (with the next token, loss i is of token i + 1);
                 None where the lock has no masks at all
    """

    step: int
    input_ids: Ids
    domain: npt.NDArray[np.int32]
    position: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    first_token: npt.NDArray[np.int64]
    spans: Spans | None = None
    masked: npt.NDArray[np.bool_] | None = None
    next_token: bool = False

    @property
    def length(self) -> int:
        """Tokens of a row: L."""
        return int(self.input_ids.shape[1]) - int(self.next_token)

    def position_ids(self) -> npt.NDArray[np.int64]:
        """int64 [n, L]: each token's place in its document, from 0 at the document's or the row's start."""
        return layout.position_ids(self._documents(), self.length)

    def document_ids(self) -> npt.NDArray[np.int32]:
        """int32 [n, L]: which document of its row each token is of, from 0; attention stays where these are equal.

        Padding of a packed row counts as one more.
        """
        return layout.document_ids(self._documents(), self.length)

    def cu_seqlens(self) -> tuple[npt.NDArray[np.int32], int]:
        """Where documents begin and end in the batch as one row of n · L tokens, for attention of variable length.

        int32 [segments + 1] from 0 to n · L, and the longest segment's tokens. Documents end with their row.
        """
        return layout.cu_seqlens(self._documents(), self.length)

    def loss_mask(self, *, across_documents: bool = True) -> npt.NDArray[np.bool_]:
        """bool [n, L]: where a loss is to be taken. With the next token loss i is of token i + 1, else of token i.

        No loss is of what is taken down; without the next token, none of a row's first token, which nothing precedes.
        The end of a document is learned as any token. What follows it is the first token of another text:
        across_documents=False takes no loss there, and behind the last document of a domain. Of the padding of packed
        rows, and of what follows it, none is taken.
        """
        return layout.loss_mask(
            len(self),
            self.length,
            self.masked,
            None if across_documents else self._documents(),
            next_token=self.next_token,
            filled=self.padding() if self.spans is not None and self.spans.padded else None,
        )

    def padding(self) -> npt.NDArray[np.bool_]:
        """bool [n, L]: which tokens fill up a packed row: end-of-document that is of no document."""
        return layout.padding(self._documents(), self.length)

    def _documents(self) -> Spans:
        if self.spans is None:
            raise StreamError(
                "the batch does not say where documents are", code="documents-missing", hint="open with documents=True"
            )
        return self.spans

    def __len__(self) -> int:
        return len(self.position)


def arrow_schema(dtype: npt.DTypeLike, *, documents: bool = False, masked: bool = False) -> pa.Schema:
    """step, position int64 · domain dictionary of strings · epoch, first_token int64 · input_ids list of integers.

    documents: and for each row `document` and `document_end`, lists of int64, and `document_closed`, bool, as `Spans`
               has document, end and closed
    masked:    and `masked`, a list of bool as long as input_ids, as `Batch` has it
    """
    fields = [
        pa.field("step", pa.int64(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("domain", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("epoch", pa.int64(), nullable=False),
        pa.field("first_token", pa.int64(), nullable=False),
        pa.field("input_ids", _list_of(pa.from_numpy_dtype(np.dtype(dtype)))),
    ]
    if documents:
        fields += [pa.field(name, _list_of(pa.int64())) for name in ("document", "document_end")]
        fields.append(pa.field("document_closed", pa.bool_(), nullable=False))
    if masked:
        fields.append(pa.field("masked", _list_of(pa.bool_())))
    return pa.schema(fields)


def _list_of(kind: pa.DataType) -> pa.ListType:
    return pa.list_(pa.field("item", kind, nullable=False))


def mask_bytes(width: int) -> int:
    """What a row's mask takes in Arrow: a bit a token."""
    return -(-width // 8)


def row_parts(rows: int, row_bytes: int, spans: Spans | None, limit: int) -> Iterator[slice]:
    """The rows in parts of at most that many bytes of tokens and documents, of one row at least."""
    ends = np.arange(1, rows + 1) * row_bytes
    if spans is not None:
        ends += spans.offsets[1:] * (spans.document.itemsize + spans.end.itemsize)
    start, before = 0, 0
    while start < rows:
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start, before = stop, int(ends[stop - 1])


def to_arrow(batch: Batch, domains: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A batch as record batches of at most about 16 MiB, in the schema of `arrow_schema`; with documents and masks
    where it has them."""
    schema = arrow_schema(batch.input_ids.dtype, documents=batch.spans is not None, masked=batch.masked is not None)
    width = batch.input_ids.shape[1]
    names = pa.array(domains, pa.string())
    row_bytes = width * batch.input_ids.dtype.itemsize + (0 if batch.masked is None else mask_bytes(width))
    for part in row_parts(len(batch), row_bytes, batch.spans, RECORD_BATCH_BYTES):
        ids = batch.input_ids[part]
        columns = [
            pa.array(np.full(len(ids), batch.step, np.int64)),
            pa.array(batch.position[part]),
            pa.DictionaryArray.from_arrays(pa.array(batch.domain[part]), names),
            pa.array(batch.epoch[part]),
            pa.array(batch.first_token[part]),
            _lists(np.arange(len(ids) + 1) * width, ids.reshape(-1)),
        ]
        if batch.spans is not None:
            spans = batch.spans.rows(part)
            columns += [_lists(spans.offsets, spans.document), _lists(spans.offsets, spans.end)]
            columns.append(pa.array(spans.closed))
        if batch.masked is not None:
            columns.append(_lists(np.arange(len(ids) + 1) * width, batch.masked[part].reshape(-1)))
        yield pa.record_batch(columns, schema=schema)


def _lists(offsets: npt.NDArray[np.int64], values: npt.NDArray[np.integer | np.bool_]) -> pa.ListArray:
    items = pa.array(values)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items, type=_list_of(items.type))
