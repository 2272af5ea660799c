"""Rows in groups that have the same values in some columns: the one order of groups that answers have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pyarrow as pa

Key = tuple[object, ...]


def grouped(table: pa.Table, columns: Sequence[str], rows: Iterable[int]) -> dict[Key, list[int]]:
    """The rows of a table by their values in these columns, groups in order of them, null last, rows as they come.

    No columns: one group, of no rows too.
    """
    cells = [table[name].to_pylist() for name in columns]
    groups: dict[Key, list[int]] = defaultdict(list)
    if not columns:
        groups[()] = []
    for row in rows:
        groups[tuple(column[row] for column in cells)].append(row)
    return {key: groups[key] for key in sorted(groups, key=lambda key: [(cell is None, cell) for cell in key])}
