"""Rows in groups that have the same values in some columns: which columns a person names, and the order of groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from mixture.errors import CatalogError, nearest
from mixture.units import quote

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


def grouping_columns(known: Sequence[str], by: Iterable[str], *, taken: Collection[str]) -> tuple[str, ...]:
    """The columns that a person names to sum by: names between commas; one with a comma in it stands alone.

    known: the table's columns; taken: names of columns that the answer has of its own

    Raises CatalogError: `unknown-column` with the nearest, `bad-columns`.
    """
    names = [name for part in by if part for name in ([part] if part in known else map(str.strip, part.split(",")))]
    for name in names:
        shown = quote(name[:100])
        if name not in known:
            hint = nearest(name[:100], known) or f"its columns: {', '.join(known)}"
            raise CatalogError(
                f"the catalog has no column {shown}", code="unknown-column", hint=hint, column=name[:100]
            )
        if name in taken:
            message, hint = f"the answer has a column {shown} of its own: nothing is summed by it", "rename the column"
            raise CatalogError(message, code="bad-columns", hint=hint, column=name)
        if names.count(name) > 1:
            raise CatalogError(f"the column {shown} is named more than once", code="bad-columns", column=name)
    return tuple(names)
