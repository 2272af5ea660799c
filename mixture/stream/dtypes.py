"""The type of token ids: what may be asked for, and how ids become it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mixture.errors import StreamError

Ids = npt.NDArray[np.integer]


def ids_dtype(asked: npt.DTypeLike | None, stored: np.dtype) -> np.dtype:
    """The type in which ids are given, by default the store's.

    It has to hold every id that the store's type can; int32 may be asked of a store of uint32, whose ids are then
    looked at one by one where its vocabulary does not say that they fit (`ids_as`). Raises StreamError, `dtype-unfit`.
    """
    if asked is None:
        return stored
    try:
        dtype = np.dtype(asked)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind in "iu" and dtype.isnative:
        is_looked_at = (dtype, stored) == (np.dtype(np.int32), np.dtype(np.uint32))
        if is_looked_at or np.iinfo(dtype).max >= np.iinfo(stored).max:
            return dtype
    raise StreamError(
        f"ids of a store of {stored} can not be given as {asked}",
        code="dtype-unfit",
        hint="int64 and int32 hold them",
        asked=str(asked),
        stored=str(stored),
    )


def ids_as(ids: Ids, dtype: np.dtype, vocabulary: int | None) -> Ids:
    """Ids in another type, without a copy where the bytes are the same. Raises StreamError, `id-too-large`.

    vocabulary: every id is below it; None: that is not known
    """
    if ids.dtype == dtype:
        return ids
    if dtype == np.int32 and ids.dtype == np.uint32:
        seen = ids.view(np.int32)
        if (vocabulary is None or vocabulary > 1 << 31) and seen.min(initial=0) < 0:
            raise StreamError(f"id {ids.max()} is more than int32 holds", code="id-too-large", hint="ask for int64")
        return seen
    return ids.astype(dtype)
