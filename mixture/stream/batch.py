"""One step of one rank: tokens, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mixture.store import Spans

Tokens = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
RECORD_BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """The n rows that a rank reads of a step, in order of slots.

    input_ids:   [n, L], or [n, L + 1] with the next token; the store's dtype
    domain:      int32 [n], an index into the stream's `domains`
    position:    int64 [n], in the whole run
    epoch:       int64 [n], passes over the domain before this one
    first_token: int64 [n], where the row begins in its domain
    spans:       the documents of each row (of its first L tokens), where they were asked for
    """

    step: int
    input_ids: Tokens
    domain: npt.NDArray[np.int32]
    position: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    first_token: npt.NDArray[np.int64]
    spans: Spans | None = None

    def __len__(self) -> int:
        return len(self.position)


def arrow_schema(dtype: npt.DTypeLike) -> pa.Schema:
    """step, position int64 · domain dictionary of strings · epoch, first_token int64 · input_ids list of integers."""
    return pa.schema(
        [
            pa.field("step", pa.int64(), nullable=False),
            pa.field("position", pa.int64(), nullable=False),
            pa.field("domain", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            pa.field("epoch", pa.int64(), nullable=False),
            pa.field("first_token", pa.int64(), nullable=False),
            pa.field("input_ids", pa.list_(pa.field("item", pa.from_numpy_dtype(np.dtype(dtype)), nullable=False))),
        ]
    )


def to_arrow(batch: Batch, domains: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A batch as record batches of at most about 16 MiB, in the schema of `arrow_schema`."""
    schema = arrow_schema(batch.input_ids.dtype)
    width = batch.input_ids.shape[1]
    rows = max(1, RECORD_BATCH_BYTES // (width * batch.input_ids.dtype.itemsize))
    names = pa.array(domains, pa.string())
    for start in range(0, len(batch), rows):
        part = slice(start, start + rows)
        ids = batch.input_ids[part]
        offsets = pa.array(np.arange(len(ids) + 1, dtype=np.int32) * width)
        columns = [
            pa.array(np.full(len(ids), batch.step, np.int64)),
            pa.array(batch.position[part]),
            pa.DictionaryArray.from_arrays(pa.array(batch.domain[part]), names),
            pa.array(batch.epoch[part]),
            pa.array(batch.first_token[part]),
            pa.ListArray.from_arrays(offsets, pa.array(ids.reshape(-1)), type=schema.field("input_ids").type),
        ]
        yield pa.record_batch(columns, schema=schema)
