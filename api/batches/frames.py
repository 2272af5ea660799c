"""Steps as Arrow IPC messages, in the pieces that Arrow writes: the tokens are not copied again."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from mixture.api.batches.step_reader import StepReader
from mixture.api.middleware import Metrics
from mixture.stream import Batch, Checksum, End, Key, stream_metadata, to_arrow

Pieces = list[memoryview]

SMALL_BYTES = 1 << 16
"""Pieces below this are joined: a send for each of a message's twenty small ones costs more than copying them."""


class Frames:
    """The record batches of a rank's steps, each made when it is asked for: an iterator, from one thread at a time.

    mixture:   the name that it was asked for by, for the metrics
    next_step: the first step that is not written whole
    """

    def __init__(self, steps: StepReader, end_step: int, metrics: Metrics, *, mixture: str) -> None:
        self._steps = steps
        self._domains = steps.domains
        self._sink = _Pieces()
        schema = steps.schema.with_metadata(stream_metadata(steps, steps.step))
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._sink, mode="w"), schema)
        self._no_rows = steps.no_rows()
        self._served = _Served(steps, metrics, mixture)
        self.next_step = steps.step
        self._made = self._make(end_step)

    def __iter__(self) -> Frames:
        return self

    def __next__(self) -> Pieces:
        """The bytes of the next record batch. Raises MixtureError and OSError where it can not be read."""
        return next(self._made)

    def _make(self, end_step: int) -> Iterator[Pieces]:
        while self.next_step < end_step:
            began = time.perf_counter()
            batch, checksum = next(self._steps), Checksum()
            for part in self._steps.parts(batch):
                checksum.add(part.rows)
                ending = {}
                if part.rows_of_step is not None:
                    ending = {
                        Key.STEP: str(batch.step),
                        Key.ROWS: str(part.rows_of_step),
                        Key.CHECKSUM: checksum.hex(),
                    }
                for record in to_arrow(part.rows, self._domains) if len(part.rows) else (self._no_rows,):
                    self._writer.write_batch(record, custom_metadata=ending)
                if ending:
                    self.next_step = batch.step + 1
                    self._served.count(batch, time.perf_counter() - began)
                yield self._sink.taken()

    def close(self) -> None:
        """Let go of what is held: parts of the stream hold each other, and would stay until they are collected."""
        if isinstance(self._made, Generator):
            self._made.close()
        self._steps.close()

    def ending(self, end: End, *, code: str | None = None) -> Pieces:
        """The bytes of the ending. A stream that failed has no end as Arrow has it either: readers that do not know
        of ours fail too."""
        metadata = {Key.END: end.value, Key.NEXT_STEP: str(self.next_step)} | ({} if code is None else {Key.CODE: code})
        self._writer.write_batch(self._no_rows, custom_metadata=metadata)
        if end is not End.FAILED:
            self._writer.close()
        return self._sink.taken()


class _Pieces:
    """What Arrow writes to: keeps what it is given, as it is."""

    closed = False

    def __init__(self) -> None:
        self._held: Pieces = []
        self._small = bytearray()

    def write(self, data: bytes | pa.Buffer) -> int:
        """Called by Arrow with bytes, and with its buffers for what is large."""
        if len(data) < SMALL_BYTES:
            self._small += data
        else:
            self._put_small()
            self._held.append(memoryview(data).cast("B"))
        return len(data)

    def taken(self) -> Pieces:
        """What was written since the last time."""
        self._put_small()
        held, self._held = self._held, []
        return held

    def _put_small(self) -> None:
        if self._small:
            self._held.append(memoryview(self._small))
            self._small = bytearray()

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is open."""


class _Served:
    """Counts what was served, for the metrics."""

    def __init__(self, steps: StepReader, metrics: Metrics, mixture: str) -> None:
        self._steps = steps
        self._metrics = metrics
        self._mixture = mixture
        self._children: dict[tuple[str, int], Any] = {}

    def count(self, batch: Batch, seconds: float) -> None:
        """A step was written."""
        self._metrics.step_seconds.observe(seconds)
        if not len(batch):
            return
        self._metrics.sequences.labels(self._mixture).inc(len(batch))
        held = self._steps.lock.phase_of(batch.step)
        phase = "" if held is None else held.name
        length = self._steps.lock.schedule().length_of(batch.step)
        for domain, rows in enumerate(np.bincount(batch.domain).tolist()):
            if rows:
                child = self._children.get((phase, domain))
                if child is None:
                    child = self._metrics.tokens.labels(self._mixture, phase, self._steps.domains[domain])
                    self._children[phase, domain] = child
                child.inc(rows * length)
