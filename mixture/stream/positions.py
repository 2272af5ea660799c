"""Positions of a run as Arrow has them: the columns of `mixture positions`, in files and in answers of a service."""

from __future__ import annotations

import pyarrow as pa

from mixture.schedule import COLUMNS, Rows, Schedule

POSITIONS = pa.schema(
    [(name, pa.dictionary(pa.int32(), pa.string()) if name == "domain" else pa.int64()) for name in COLUMNS]
)


def positions_batch(schedule: Schedule, rows: Rows) -> pa.RecordBatch:
    """Rows of a run, with the columns of POSITIONS."""
    names, columns = pa.array(schedule.names, pa.string()), schedule.columns(rows)
    domain = pa.DictionaryArray.from_arrays(pa.array(columns["domain"]), names)
    arrays = [domain if name == "domain" else pa.array(column) for name, column in columns.items()]
    return pa.record_batch(arrays, schema=POSITIONS)
