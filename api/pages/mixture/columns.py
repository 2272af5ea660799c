"""The columns of a catalog that its domains can be grouped by, and the one that a page begins with."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mixture.api.answers import wrong_query
from mixture.errors import nearest
from mixture.planning.catalog import CATALOG_COLUMNS, Catalog, Overview
from mixture.planning.plan import FIGURES, STRETCH

NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
FEW = 60
"""Groups that can be taken in at a glance."""


def group_columns(catalog: Catalog, domain_column: str) -> tuple[str, ...]:
    """Columns of labels: text, whole numbers and booleans that domains share. The domains' own column comes last.

    Text that is numbers throughout is none: such are the weights of phases.
    """
    own = (*CATALOG_COLUMNS, *STRETCH, *FIGURES, domain_column)
    labels = [name for name in catalog.table.column_names if name not in own and _groups(catalog, name) is not None]
    return (*labels, domain_column)


def first_column(catalog: Catalog, domain_column: str, overview: Overview | None) -> str:
    """The column to begin with: the rows of the overview's map, else a text with few groups, else single domains."""
    columns = group_columns(catalog, domain_column)
    if overview is not None and overview.rows in columns:
        return overview.rows
    texts = [name for name in columns[:-1] if pa.types.is_string(catalog.table.schema.field(name).type)]
    groups = {name: count for name in texts if (count := _groups(catalog, name) or 0) > 1}
    few = (name for name, count in groups.items() if count <= FEW)
    return next(few, None) or min(groups, key=groups.__getitem__, default=domain_column)


def asked_column(catalog: Catalog, domain_column: str, by: str | None, overview: Overview | None) -> str:
    """The column that is asked for; of none, the one to begin with. Raises Problem 422 `unknown-column`."""
    if not by:
        return first_column(catalog, domain_column, overview)
    return known_column(by, group_columns(catalog, domain_column))


def known_column(by: str, columns: Sequence[str]) -> str:
    """The column, where it is one of these. Raises Problem 422 `unknown-column`."""
    if by not in columns:
        hint = nearest(by, columns) or (f"expected one of: {', '.join(columns[:20])}" if columns else None)
        raise wrong_query("by", f"domains can not be grouped by {by!r}", "unknown-column", hint=hint)
    return by


def known_order(sort: str, columns: Sequence[str]) -> str:
    """The column of an order; `-` before it: the largest first. Raises Problem 422 `unknown-sort`."""
    column = sort.removeprefix("-")
    if column not in columns:
        hint = nearest(column, columns) or f"expected one of: {', '.join(columns[:20])}"
        raise wrong_query("sort", f"domains cannot be sorted by {column!r}", "unknown-sort", hint=hint)
    return column


def _groups(catalog: Catalog, name: str) -> int | None:
    """How many groups a column makes; None where it is none of labels, or tells every domain from every other."""
    column = catalog.table[name]
    is_label = pa.types.is_string(column.type) or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
    if not is_label or (pa.types.is_string(column.type) and pc.all(pc.match_substring_regex(column, NUMBER)).as_py()):
        return None
    groups: int = pc.count_distinct(column, mode="all").as_py()
    return groups if groups < len(column) else None
