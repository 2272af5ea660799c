"""What is asked of a catalog: which domains (`where`), and the columns that they are summed by (`by`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from fastapi import Query

from mixture.api.answers.queries import wrong_query
from mixture.errors import CatalogError
from mixture.planning.catalog import Catalog, grouping_columns

MOST_COLUMNS = 20

Where = Annotated[
    str | None,
    Query(
        max_length=10_000,
        description="One boolean expression over the catalog's columns, as in a spec.",
        examples=["quality >= 2 and kind in ('web', 'books')"],
    ),
]
"""The parameter `where`: which domains."""

By = Annotated[
    list[Annotated[str, Query(max_length=1000)]] | None,
    Query(
        max_length=MOST_COLUMNS,
        description="Columns of the catalog to sum by: names between commas, or `by` several times; a name that has a "
        "comma or spaces around it stands alone. Empty: one sum.",
        examples=[["kind,quality"]],
    ),
]
"""The parameter `by`: the columns that make groups."""


def columns_of(catalog: Catalog, by: Sequence[str], *, taken: Collection[str]) -> tuple[str, ...]:
    """The columns that `by` names.

    taken: names of columns that the answer has of its own

    Raises Problem 422: `unknown-column`, `bad-columns`.
    """
    try:
        return grouping_columns(catalog.table.column_names, by, taken=taken)
    except CatalogError as error:
        raise wrong_query("by", error.message, error.code, hint=error.hint, **error.facts) from error
