"""A Parquet table of a store that is open: rows by their number, row groups by what they hold.

The footer is read once; the file is opened anew for each question, so that a store keeps no more files open than it
maps, and one that was replaced shows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mixture.data.layout.mapping import Standing, arrow_file, readable


class ParquetTable:
    """A table of a store's folder. Any number of threads may ask. Errors: StoreError, those of `readable`."""

    def __init__(self, path: Path, standing: Standing, *, needed: pa.Schema | None = None) -> None:
        """needed: columns that it has to have, of these types."""
        self._path = path
        self._standing = standing
        self._needed = needed if needed is not None else pa.schema([])

    def rows(self, rows: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        """Some columns, of text, of the rows with these numbers, in this order; each row group is read once."""
        _, before = self._footer
        group = np.searchsorted(before, rows, side="right") - 1
        parts = [pa.table({name: pa.array([], pa.string()) for name in columns})]
        places = [np.empty(0, np.int64)]
        with self._file(coded=columns) as file:
            for one in np.unique(group).tolist():
                here = np.flatnonzero(group == one)
                found = file.read_row_group(one, columns=list(columns), use_threads=False).select(list(columns))
                parts.append(found.take(rows[here] - before[one]).cast(parts[0].schema))
                places.append(here)
        return pa.concat_tables(parts).take(np.argsort(np.concatenate(places)))

    def range(self, first: int, last: int) -> pa.Table:
        """The rows from `first` up to `last`."""
        _, before = self._footer
        with self._file() as file:
            if first == last:
                return file.schema_arrow.empty_table()
            low, high = self._groups(first, last)
            return file.read_row_groups(list(range(low, high))).slice(first - int(before[low]), last - first)

    def scan(self, first: int, last: int, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of the rows from `first` up to `last`, one row group at a time."""
        _, before = self._footer
        if first == last:
            return
        with self._file() as file:
            for group in range(*self._groups(first, last)):
                start, end = before[group : group + 2].tolist()
                table = file.read_row_group(group, columns=list(columns))
                yield table.slice(max(first, start) - start, min(last, end) - max(first, start))

    def holding(self, values: Sequence[str], columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of the row groups that may hold any of the values; the first column of the table is sorted."""
        lows, highs = self._bounds
        sought = sorted(value.encode() for value in values)
        groups = {
            group
            for value in sought
            for group in range(bisect_left(highs, value), bisect_right(lows, value))
        }  # fmt: skip
        with self._file() as file:
            for group in sorted(groups):
                yield file.read_row_group(group, columns=list(columns), use_threads=False)

    def group_at(self, value: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of the row group that a value of the first column, sorted, would stand in; no rows: no group."""
        metadata, _ = self._footer
        lows, _ = self._bounds
        with self._file() as file:
            if not metadata.num_row_groups:
                return file.schema_arrow.empty_table().select(list(columns))
            return file.read_row_group(max(0, bisect_right(lows, value.encode()) - 1), columns=list(columns))

    @cached_property
    def schema(self) -> pa.Schema:
        """Its columns."""
        metadata, _ = self._footer
        return metadata.schema.to_arrow_schema().remove_metadata()

    @contextmanager
    def _file(self, *, coded: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        """coded: columns that are read as numbers of their different values, in half the time where these are few."""
        metadata, _ = self._footer
        with self._opened() as source, pq.ParquetFile(source, metadata=metadata, read_dictionary=list(coded)) as file:
            yield file

    @contextmanager
    def _opened(self) -> Iterator[pa.NativeFile]:
        """The file that was there when the store was opened."""
        self._standing.at_hand(self._path)
        with readable(self._path), arrow_file(self._path) as source:
            self._standing.check()
            self._standing.check_file(str(self._path), self._path.stat())
            yield source

    @cached_property
    def _footer(self) -> tuple[pq.FileMetaData, NDArray[np.int64]]:
        """The footer, and the rows before each row group."""
        with self._opened() as source:
            metadata = pq.read_metadata(source)
            schema = metadata.schema.to_arrow_schema()
            for field in self._needed:
                if field.name not in schema.names or schema.field(field.name).type != field.type:
                    raise ValueError(f"it has no column {field.name!r} of type {field.type}")
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        return metadata, np.cumsum([0, *counts], dtype=np.int64)

    @cached_property
    def _bounds(self) -> tuple[list[bytes], list[bytes]]:
        """Of each row group, what its first column's values are not below, and not above. Both only go up.

        Long values have no bounds in the footer: those of the neighbours stand for them.
        """
        metadata, _ = self._footer
        with readable(self._path):
            statistics = [metadata.row_group(group).column(0).statistics for group in range(metadata.num_row_groups)]
            known = [None if s is None or not s.has_min_max else (s.min.encode(), s.max.encode()) for s in statistics]
        lows = list(accumulate((b"" if one is None else one[0] for one in known), max))
        highs = list(accumulate((_LAST if one is None else one[1] for one in reversed(known)), min))
        return lows, highs[::-1]

    def _groups(self, first: int, last: int) -> tuple[int, int]:
        _, before = self._footer
        return int(np.searchsorted(before, first, side="right")) - 1, int(np.searchsorted(before, last, side="left"))


_LAST = b"\xff"
"""Behind every text in UTF-8."""
