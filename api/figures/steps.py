"""What one step of a run reads: of which domains, and sequence by sequence with the documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mixture.api.answers import check_step, slots_batch, wrong_query
from mixture.api.middleware import Problem
from mixture.data.layout import PLACE, attribute_value
from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.schedule import Schedule
from mixture.stream import Masks, check_rank, rank_slots

MOST_DOCUMENTS = 10_000
"""Sequences that are asked for together end behind the one with which they have so many documents."""

PARTS = ("from_token", "to_token")
"""Which part of a document a sequence reads."""


def schedule_with(lock: Lock, step: int) -> Schedule:
    """The schedule, which has this step. Raises Problem 422 `step-out-of-range`."""
    schedule = lock.schedule()
    check_step(step, schedule.steps, where="path")
    return schedule


def asked_slots(size: int, rank: int | None, world_size: int | None) -> range:
    """The slots of a step of `size` sequences that are asked for: a rank's, or all.

    Raises Problem 422: `invalid-request` for a rank without a number of ranks or the other way round; `rank-invalid`.
    """
    if rank is None and world_size is None:
        return range(size)
    if rank is None or world_size is None:
        missing = "rank" if rank is None else "world_size"
        hint = "ranks count from 0 to world_size - 1"
        raise wrong_query(
            missing, f"rank and world_size go together: {missing} is missing", "invalid-request", hint=hint
        )
    try:
        check_rank(rank, world_size)
    except StreamError as error:
        raise wrong_query("rank", error.message, error.code, hint=error.hint, **error.facts) from error
    return rank_slots(size, rank, world_size)


def sequences_by_domain(schedule: Schedule, step: int, slots: range) -> dict[str, int]:
    """How many sequences slots of a step read of each domain."""
    drawn = [rows.domain for rows in schedule.step_rows(step, 1, slots)]
    counts = np.bincount(np.concatenate(drawn), minlength=len(schedule.names)) if slots else [0] * len(schedule.names)
    return dict(zip(schedule.names, map(int, counts), strict=True))


def weights_at(lock: Lock, step: int) -> npt.NDArray[np.int64]:
    """The weights of the domains at a step, in parts of 10^15: int64 [domains]."""
    return np.array(lock.data.segment_at(step).weights, dtype=np.int64)


def read_sequences(
    schedule: Schedule, step: int, slots: range, store: Store | None, masks: Masks | None
) -> list[dict[str, Any]]:
    """Slots of a step in order: a row's columns by name, and its `documents` from the store, None where there is none.

    A document has its columns, attributes, and which part of it is read: tokens `from_token` up to `to_token`,
    from its first.
    With masks each document has `masked_tokens` too: how many of its tokens are taken down at this step.

    Fewer than asked for where they have very many documents. Raises StoreError; Problem 503 `store-unreadable`.
    """
    rows = slots_batch(schedule, step, slots).to_pylist()
    if store is None:
        return [row | {"documents": None} for row in rows]
    shown: list[dict[str, Any]] = []
    documents = 0
    for row in rows:
        if documents >= MOST_DOCUMENTS:
            break
        try:
            found = store.documents(row["domain"], row["first_token"], row["tokens"])
        except (OSError, pa.ArrowException) as error:
            raise Problem(503, "the store's table of documents can not be read", code="store-unreadable") from error
        first, tokens = (found[name].to_numpy() for name in ("first_token", "tokens"))
        attributes = [name for name in found.column_names if name not in PLACE]
        part = row["first_token"] - first, row["first_token"] + row["tokens"] - first
        found = found.append_column(PARTS[0], pa.array(np.maximum(part[0], 0)))
        found = found.append_column(PARTS[1], pa.array(np.minimum(part[1], tokens)))
        if masks is not None:
            found = found.append_column("masked_tokens", pa.array(masks.count(step, row["domain"], first, tokens)))
        held = [one | {name: attribute_value(one[name]) for name in attributes} for one in found.to_pylist()]
        documents += len(held)
        shown.append(row | {"documents": held})
    return shown
