"""Rows of a schedule as tables: the columns that `mixture positions` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from mixture.schedule import Rows, Schedule
from mixture.stream import positions_batch

CHUNK_ROWS = 1 << 14
"""Rows that are made at once: 1 MB, some of which each client that reads slowly holds. More were hardly faster."""


def range_batches(schedule: Schedule, start: int, count: int) -> Iterator[pa.RecordBatch]:
    """Positions start to start + count - 1, chunk by chunk, each made when it is asked for."""
    for first in range(start, start + count, CHUNK_ROWS):
        yield positions_batch(schedule, schedule.rows(first, min(CHUNK_ROWS, start + count - first)))


def batches_at(schedule: Schedule, positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Any positions, in the order given."""
    yield positions_batch(schedule, schedule.at(positions))


def slots_batch(schedule: Schedule, step: int, slots: range) -> pa.RecordBatch:
    """Slots of one step."""
    return positions_batch(schedule, Rows.join(list(schedule.step_rows(step, 1, slots))))
