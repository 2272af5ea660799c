"""Sums over the domains of a catalog, by its columns. Exact: integers of any size, divided once at the end."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from mixture.api.figures.catalog_map import sums
from mixture.planning.catalog import Catalog, grouped

SUMS = ("domains", "tokens", "share", "documents", "tokens_per_document")
_LARGEST_INT64 = 2**63 - 1


def sums_by(catalog: Catalog, columns: Sequence[str], rows: Sequence[int]) -> pa.Table:
    """One row a group of domains with the same values in these columns, in order of them, null last.

    Columns: those asked for, then domains int64, tokens int64, share double, documents int64, tokens_per_document
    double; sums above 2^63 - 1 are decimal128. documents is null unless all domains of the group say.
    """
    groups = grouped(catalog.table, columns, rows)
    held = [sums(catalog, group) for group in groups.values()]
    tokens = [one.tokens for one in held]
    whole = sum(tokens)
    made = {
        name: pa.array([key[i] for key in groups], catalog.table.schema.field(name).type)
        for i, name in enumerate(columns)
    }
    return pa.table(
        made
        | {
            "domains": pa.array([len(one.domains) for one in held], pa.int64()),
            "tokens": integers(tokens),
            "share": pa.array([amount / whole if whole else None for amount in tokens], pa.float64()),
            "documents": integers([one.documents for one in held]),
            "tokens_per_document": pa.array([one.mean_length for one in held], pa.float64()),
        }
    )


def integers(values: Sequence[int | None]) -> pa.Array:
    """Counts of any size: int64, or decimal128 where one of them is above 2^63 - 1."""
    large = any(value is not None and value > _LARGEST_INT64 for value in values)
    return pa.array(values, pa.decimal128(38, 0) if large else pa.int64())
