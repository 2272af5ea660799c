"""Columns of lists of integers, as Parquet and Arrow have them: a row's list is a document."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.token_files.survey import refused, token_type
from mixture.errors import nearest

COLUMN = "input_ids"
"""The column of tokens, where the sources name none."""


def list_type(schema: pa.Schema, column: str, path: str) -> np.dtype[Any]:
    """The type of the tokens in a column. Errors: StoreError `missing-column`, `column-unfit`, `dtype-unfit`."""
    if column not in schema.names:
        hint = nearest(column, schema.names) or f"there are {', '.join(schema.names)}"
        raise refused(path, f"has no column '{column}'", "missing-column", hint)
    kind = schema.field(column).type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not is_list or not pa.types.is_integer(kind.value_type):
        hint = "lists of integers are right here"
        raise refused(path, f"the column '{column}' is of type {kind}", "column-unfit", hint)
    return token_type(np.dtype(kind.value_type.to_pandas_dtype()), path)


def lengths_of(lists: pa.Array[Any], path: str, first_row: int) -> NDArray[np.int64]:
    """How many tokens each row has; a row that is null has none. Errors: StoreError `token-null`."""
    flat = lists.flatten()
    if flat.null_count:
        place = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
        raise refused(path, f"has a token that is null, in row {first_row:,} or after it", "token-null", token=place)
    counts: NDArray[np.int64]
    if pa.types.is_fixed_size_list(lists.type):
        counts = np.full(len(lists), lists.type.list_size, np.int64)
        counts[lists.is_null().to_numpy(zero_copy_only=False)] = 0
        return counts
    counts = np.diff(lists.offsets.to_numpy().astype(np.int64))
    counts[lists.is_null().to_numpy(zero_copy_only=False)] = 0
    return counts


def check_ids(lists: pa.Array[Any], lengths: NDArray[np.int64], vocabulary: int, path: str, first_row: int) -> None:
    """Errors: StoreError `id-outside-vocabulary`, which names the row."""
    ids = lists.flatten().to_numpy()
    wrong = np.flatnonzero((ids < 0) | (ids >= vocabulary))
    if len(wrong):
        row = first_row + int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
        message = f"row {row:,} has the id {ids[wrong[0]]:,}, and the vocabulary has {vocabulary:,} ids"
        raise refused(path, message, "id-outside-vocabulary", row=row, found=int(ids[wrong[0]]))
