"""Sums over the domains of a catalog, by its columns. Exact: integers of any size, divided once at the end."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from api.grouping import grouped
from mixture.catalog import Catalog

SUMS = ("domains", "tokens", "share", "documents", "tokens_per_document")
_LARGEST_INT64 = 2**63 - 1


def sums_by(catalog: Catalog, columns: Sequence[str], rows: Sequence[int]) -> pa.Table:
    """One row a group of domains with the same values in these columns, in order of them, null last.

    Columns: those asked for, then domains int64, tokens int64, share double, documents int64, tokens_per_document
    double; sums above 2^63 - 1 are decimal128. documents is null where no domain of the group says.
    """
    groups = grouped(catalog.table, columns, rows)
    held = [[catalog.domains[row] for row in group] for group in groups.values()]
    tokens = [sum(domain.tokens for domain in group) for group in held]
    documents = [_total([domain.documents for domain in group]) for group in held]
    whole = sum(tokens)
    made = {
        name: pa.array([key[i] for key in groups], catalog.table.schema.field(name).type)
        for i, name in enumerate(columns)
    }
    return pa.table(
        made
        | {
            "domains": pa.array([len(group) for group in held], pa.int64()),
            "tokens": integers(tokens),
            "share": pa.array([one / whole if whole else None for one in tokens], pa.float64()),
            "documents": integers(documents),
            "tokens_per_document": pa.array(
                [one / many if many else None for one, many in zip(tokens, documents, strict=True)], pa.float64()
            ),
        }
    )


def _total(counts: Sequence[int | None]) -> int | None:
    """The sum of what is said; None where nothing is."""
    said = [count for count in counts if count is not None]
    return sum(said) if said else None


def integers(values: Sequence[int | None]) -> pa.Array:
    """Counts of any size: int64, or decimal128 where one of them is above 2^63 - 1."""
    large = any(value is not None and value > _LARGEST_INT64 for value in values)
    return pa.array(values, pa.decimal128(38, 0) if large else pa.int64())
