"""Rows of a schedule as tables: the columns that `mixture positions` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from mixture.schedule import Rows, Schedule

SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("step", pa.int64()),
        ("slot", pa.int64()),
        ("domain", pa.dictionary(pa.int32(), pa.string())),
        ("draw", pa.int64()),
        ("epoch", pa.int64()),
        ("sequence", pa.int64()),
        ("first_token", pa.int64()),
        ("tokens", pa.int64()),
    ]
)
CHUNK_ROWS = 1 << 14
"""Rows that are made at once: 1 MB, some of which each client that reads slowly holds. More were hardly faster."""


def range_batches(schedule: Schedule, start: int, count: int) -> Iterator[pa.RecordBatch]:
    """Positions start to start + count - 1, chunk by chunk, each made when it is asked for."""
    names = pa.array(schedule.names, pa.string())
    for first in range(start, start + count, CHUNK_ROWS):
        yield _batch(schedule, names, schedule.rows(first, min(CHUNK_ROWS, start + count - first)))


def batches_at(schedule: Schedule, positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Any positions, in the order given."""
    yield _batch(schedule, pa.array(schedule.names, pa.string()), schedule.at(positions))


def slots_batch(schedule: Schedule, step: int, slots: range) -> pa.RecordBatch:
    """Slots of one step."""
    rows = Rows.join(list(schedule.step_rows(step, 1, slots)))
    return _batch(schedule, pa.array(schedule.names, pa.string()), rows)


def _batch(schedule: Schedule, names: pa.Array[pa.StringScalar], rows: Rows) -> pa.RecordBatch:
    step, slot = schedule.steps_and_slots(rows.position)
    domain = pa.DictionaryArray.from_arrays(pa.array(rows.domain), names)
    before = (pa.array(column) for column in (rows.position, step, slot))
    behind = (pa.array(column) for column in (rows.draw, rows.epoch, rows.sequence, rows.first_token, rows.tokens))
    return pa.record_batch([*before, domain, *behind], schema=SCHEMA)
