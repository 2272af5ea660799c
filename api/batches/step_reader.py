"""A rank's steps read part by part: the service holds a piece of a step, however large the step is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.layout import Spans
from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.stream import (
    Batch,
    Buffers,
    LocalStream,
    PlannedSteps,
    StreamOptions,
    Tokens,
    arrow_schema,
    mask_bytes,
    row_parts,
    to_arrow,
)

PART_BYTES = 4 << 20
"""Tokens of one record batch, about; below the 16 MiB that one may have, as each open stream holds one. Of 2 MiB, a
stream takes a tenth more time."""

BUFFERS = Buffers(PART_BYTES)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a step, some or none. rows_of_step: of the whole step where this is its last part, else None."""

    rows: Batch
    rows_of_step: int | None


class StepReader(LocalStream):
    """A stream whose batches say where their rows lie; `parts` then reads their tokens, a piece at a time."""

    def _read_together(self, planned: PlannedSteps) -> list[Batch]:
        tokens = np.empty((planned.domain.shape[1], 0), self.store.dtype)
        columns = (planned.domain, planned.position, planned.epoch, planned.first_token)
        return list(map(Batch, planned.steps, repeat(tokens), *columns))

    @property
    def schema(self) -> pa.Schema:
        """Of its record batches."""
        return arrow_schema(self.store.dtype, documents=self.options.documents, masked=self._masks is not None)

    def no_rows(self) -> pa.RecordBatch:
        """A record batch without rows."""
        one = np.ones(1, np.int64)
        spans = Spans(np.arange(2), one, one, one.astype(np.bool_)) if self.options.documents else None
        tokens = one[:, None].astype(self.store.dtype)
        masked = None if self._masks is None else np.zeros(tokens.shape, np.bool_)
        row = Batch(0, tokens, np.zeros(1, np.int32), one, one, one, spans, masked)
        return next(to_arrow(row, self.domains)).slice(0, 0)

    def close(self) -> None:
        """Let go of the rows that were worked out ahead."""
        self._batches = None

    def parts(self, batch: Batch) -> Iterator[Part]:
        """The rows of a batch of this stream with their tokens, in order; one part without rows where it has none."""
        length = self._schedule.length_of(batch.step)
        width = length + 1 if self.options.next_token else length
        row_bytes = width * self.store.dtype.itemsize + (0 if self._masks is None else mask_bytes(width))
        for part, spans in self._pieces(batch, length, row_bytes):
            domain, first_token = batch.domain[part], batch.first_token[part]
            tokens = self._read_tokens(domain, first_token, length, width)
            rows = replace(
                batch,
                input_ids=tokens,
                domain=domain,
                position=batch.position[part],
                epoch=batch.epoch[part],
                first_token=first_token,
                spans=spans,
                masked=self._hide(batch.step, domain, first_token, tokens),
            )
            yield Part(rows, len(batch) if part.stop == len(batch) else None)

    def _pieces(self, batch: Batch, length: int, row_bytes: int) -> Iterator[tuple[slice, Spans | None]]:
        """Which rows are one part, and their documents where they were asked for, which are looked up for as many rows
        as their tokens alone let a part have."""
        size = max(1, PART_BYTES // row_bytes)
        for start in range(0, max(1, len(batch)), size):
            whole = slice(start, min(start + size, len(batch)))
            if not self.options.documents:
                yield whole, None
                continue
            spans = self.store.spans(self._names, self._number[batch.domain[whole]], batch.first_token[whole], length)
            parts = list(row_parts(whole.stop - start, row_bytes, spans, PART_BYTES)) or [slice(0, 0)]
            for part in parts:
                yield slice(start + part.start, start + part.stop), spans.rows(part)

    def _read_tokens(
        self, domain: NDArray[np.int32], first_token: NDArray[np.int64], length: int, width: int
    ) -> Tokens:
        numbers = self._number[domain]
        if width > length and (first_token + length == self._tokens[domain]).any():
            return self._with_next(numbers, first_token, length, self._tokens[domain])
        return self._rows(numbers, first_token, width)

    def _rows(self, numbers: NDArray[np.int64], first_token: NDArray[np.int64], length: int) -> Tokens:
        """In memory that was used before."""
        out = BUFFERS.take((len(numbers), length), self.store.dtype)
        return self._reader.rows(numbers, first_token, length, out)


def open_steps(lock: Lock, store: Store, options: StreamOptions) -> StepReader:
    """The steps of a rank from a step of the run on; the store is the lock's.

    Raises StreamError `batch-not-divisible`, `step-out-of-range`, `documents-needed`; ScheduleError.
    """
    if store.packed is not None and not options.documents:
        raise StreamError(
            f"the store holds rows packed to {store.packed:,} tokens, whose padding is told by their documents",
            code="documents-needed",
            hint="ask for documents, too",
        )
    opened = StepReader(lock, store, options)
    if options.first_step == opened.steps:
        raise StreamError(f"the run ends at step {opened.steps}", code="step-out-of-range", hint="steps count from 0")
    return opened
