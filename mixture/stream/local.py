"""Schedule and store together: batches for one rank, read from a store at hand."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, repeat
from typing import Literal

import numpy as np
import numpy.typing as npt

from mixture.data.layout import Spans
from mixture.data.storage import ObjectOptions
from mixture.data.store import Store, Verify, open_store, require_agreement
from mixture.errors import StoreError
from mixture.lock import Lock, read_lock
from mixture.schedule import Schedule
from mixture.stream.batch import Batch, Tokens
from mixture.stream.options import StreamOptions
from mixture.stream.planned_steps import PlannedSteps
from mixture.stream.ranks import rank_slots
from mixture.stream.reading_unit import unit_tokens
from mixture.stream.stream import Stream

I64 = npt.NDArray[np.int64]

MOST_ROWS_AHEAD = 1 << 16
"""Rows of the schedule that are worked out at once. The first call does the steps that are mixed with the first one,
each further one twice as many."""
BYTES_TOGETHER = 1 << 21
"""Bytes of short steps that are read in one call, whose cost they share: steps of 8 rows come 1.7 times as fast."""
STEPS_KEPT = 16
"""Steps whose rows of the schedule are kept for `LocalStream.at`."""


class LocalStream(Stream):
    """A stream that reads a store, made by `open_stream`.

    Batches of packed rows always say where documents are: padding is what is of none.
    """

    store: Store

    def __init__(self, lock: Lock, store: Store, options: StreamOptions, *, fetch_ahead: int = 0) -> None:
        super().__init__(lock, store, replace(options, documents=options.documents or store.packed is not None))
        schedule = self._schedule
        drawn = schedule.data.drawn_before(self.steps)
        self._names = [schedule.names[d] for d in drawn]
        self._tokens = np.array([domain.tokens for domain in schedule.data.domains], np.int64)
        self._number = np.zeros(len(schedule.names), np.int64)
        self._number[drawn] = np.arange(len(self._names))
        is_distant = store.is_distant
        unit = unit_tokens(lock, store, options.world_size, drawn) if is_distant else None
        self._reader = store.reader(self._names, unit_tokens=unit)
        self._fetch_ahead = fetch_ahead if is_distant else 0
        self._whole_step = lru_cache(maxsize=STEPS_KEPT)(partial(_whole_step, schedule))

    def _read(self, steps: range) -> Iterator[Batch]:
        if self._fetch_ahead:
            return self._fetched(steps)
        parts = (part for planned in self._planned(steps) for part in planned.parts(self._steps_together(planned)))
        return chain.from_iterable(map(self._apart, parts))

    def _fetched(self, steps: range) -> Iterator[Batch]:
        """The same out of an object store, a step at a time."""
        # What the next steps need is known and asked for at once, as far as half of the memory for objects holds it.
        most_bytes = self.store.object_options.memory_bytes // 2
        waiting: deque[PlannedSteps] = deque()
        sizes: deque[int] = deque()
        for one in (part for planned in self._planned(steps) for part in planned.parts(1)):
            waiting.append(one)
            sizes.append(self._ask(one))
            while len(waiting) > self._fetch_ahead or (len(waiting) > 1 and sum(sizes) > most_bytes):
                sizes.popleft()
                yield from self._read_together(waiting.popleft())
        for one in waiting:
            yield from self._read_together(one)

    def _ask(self, planned: PlannedSteps) -> int:
        """Ask the object store for rows of steps: how many bytes these are."""
        domain, first_token, length = planned.domain.reshape(-1), planned.first_token.reshape(-1), planned.length
        numbers = self._number[domain]
        more = self.options.next_token & (first_token + length < self._tokens[domain])
        for here, asked in ((~more, length), (more, length + 1)):
            if here.any():
                self._reader.prefetch(numbers[here], first_token[here], asked)
        return len(domain) * length * self.store.dtype.itemsize

    def _planned(self, steps: range) -> Iterator[PlannedSteps]:
        """Steps in order, as many together as the schedule works out at once."""
        step, changes = steps.start, [*self._schedule.data.boundaries, self.steps]
        ahead = 1
        while step < steps.stop:
            slots = rank_slots(self._schedule.batch_of(step), self.rank, self.world_size)
            stop = min(step + ahead, steps.stop, changes[bisect_right(changes, step)])
            length = self._schedule.length_of(step)
            for rows in self._schedule.step_rows(step, stop - step, slots):
                here = range(step, step + len(rows) // len(slots) if slots else stop)
                if here:
                    yield PlannedSteps.of(here, length, rows, steps)
                step = here.stop
            ahead = max(1, min(2 * ahead, MOST_ROWS_AHEAD // max(1, len(slots))))

    def _steps_together(self, planned: PlannedSteps) -> int:
        """How many of these steps are read in one call: objects of one step are waited for, not of many."""
        if self.store.is_distant or not planned.num_rows:
            return 1
        row_bytes = planned.length * self.store.dtype.itemsize
        return max(1, BYTES_TOGETHER * len(planned.steps) // (planned.num_rows * row_bytes))

    def at(self, position: int) -> Batch:
        """The one row at a position of the run, whichever rank's it is; rows of one step soon after each other are
        cheap. Any number of threads may call it. Raises ScheduleError, `position-out-of-range`."""
        step = self._schedule.step_of(position)
        slot = position - self._schedule.positions_before(step)
        return self._given(*self._read_together(self._whole_step(step).slot(slot)))

    def _apart(self, planned: PlannedSteps) -> Iterable[Batch]:
        """Batches that are read together, or one by one where they can not be: an error comes at the step it is of."""
        try:
            return self._read_together(planned)
        except StoreError:
            if len(planned.steps) == 1:
                raise
        return (batch for part in planned.parts(1) for batch in self._read_together(part))

    def _read_together(self, planned: PlannedSteps) -> list[Batch]:
        """The batches of steps, read in one call: one that is kept keeps the memory of all."""
        domain, first_token, length = planned.domain.reshape(-1), planned.first_token.reshape(-1), planned.length
        numbers = self._number[domain]
        if self.options.next_token:
            ids = self._with_next(numbers, first_token, length, self._tokens[domain])
        else:
            ids = self._rows(numbers, first_token, length)
        by_step = ids.reshape(*planned.domain.shape, ids.shape[1])
        return list(
            map(
                Batch,
                planned.steps,
                by_step,
                planned.domain,
                planned.position,
                planned.epoch,
                planned.first_token,
                self._spans(planned),
                self._hidden(planned, by_step),
                repeat(self.options.next_token),
            )
        )

    def _spans(self, planned: PlannedSteps) -> Iterable[Spans | None]:
        """The documents of each step, where they are asked for."""
        if not self.options.documents:
            return repeat(None)
        numbers, rows = self._number[planned.domain.reshape(-1)], planned.domain.shape[1]
        spans = self.store.spans(self._names, numbers, planned.first_token.reshape(-1), planned.length)
        return (spans.rows(slice(number * rows, (number + 1) * rows)) for number in range(len(planned.steps)))

    def _hidden(self, planned: PlannedSteps, ids: Tokens) -> Iterable[npt.NDArray[np.bool_] | None]:
        """What is taken down of each step, overwritten in ids [steps, n, width]."""
        if self._masks is None:
            return repeat(None)
        return map(self._hide, planned.steps, planned.domain, planned.first_token, ids)

    def _hide(
        self, step: int, domain: npt.NDArray[np.int32], first_token: I64, ids: Tokens
    ) -> npt.NDArray[np.bool_] | None:
        """Overwrite what is taken down at a step: where that is, None where the lock has no masks."""
        if self._masks is None:
            return None
        return self._masks.hide(step, domain, first_token, ids, self.store.end_of_document)

    def _rows(self, numbers: I64, first_token: I64, length: int) -> Tokens:
        """Rows [n, length] as the store has them."""
        return self._reader.rows(numbers, first_token, length)

    def _with_next(self, numbers: I64, first_token: I64, length: int, tokens: I64) -> Tokens:
        """Rows [n, length + 1]; behind the very last token of a domain stands the end of a document."""
        last = first_token + length == tokens
        if not last.any():
            return self._rows(numbers, first_token, length + 1)
        ids: Tokens = np.full((len(numbers), length + 1), self.store.end_of_document, self.store.dtype)
        ids[~last] = self._rows(numbers[~last], first_token[~last], length + 1)
        ids[last, :length] = self._rows(numbers[last], first_token[last], length)
        return ids


def open_stream(
    lock: Lock | str | os.PathLike[str],
    store: Store | str | os.PathLike[str],
    rank: int = 0,
    world_size: int = 1,
    first_step: int = 0,
    *,
    next_token: bool = False,
    documents: bool = False,
    uneven: bool = False,
    dtype: npt.DTypeLike | None = None,
    accept_content: str | None = None,
    verify: Verify | Literal["sizes", "full"] = Verify.SIZES,
    objects: ObjectOptions | None = None,
    fetch_ahead: int = 4,
) -> LocalStream:
    """Open the batches of one rank, from a step on.

    lock, store: as objects or as paths
    next_token:  rows have one token more, the one that follows; their stride stays the sequence length
    documents:   batches say where documents begin and end in each row; those of packed rows always do
    dtype:       of input_ids; by default the store's. int64 costs a copy of four or two times the store's bytes, int32
                 of a store of uint32 nothing
    uneven:      ranks may have one row more or less where the world size does not divide the batch
    accept_content: a reason to read a store whose content is not what the lock was made from, or what was read before
                 a saved state; states keep it from then on
    verify:      how much of the store is compared before the first batch (`Verify`); what was, `stream.store.verified`
                 says
    objects:     how a store at an address is read and kept here (`open_store`)
    fetch_ahead: steps whose blocks are asked of an object store before they are read, many at a time, so that a slow
                 one is not waited for; beside it, `read_ahead` makes batches ahead in a thread

    Raises StoreError where the store is not complete or not the lock's, naming the first domain with both figures, and
    StreamError, `rank-invalid`, `batch-not-divisible` or `dtype-unfit`.
    """
    lock = lock if isinstance(lock, Lock) else read_lock(lock)
    if not isinstance(store, Store):
        store = open_store(store, verify=verify, objects=objects)
    elif Verify(verify) is Verify.FULL and store.verified is not Verify.FULL:
        store = store.reopened(Verify.FULL)
    require_agreement(store, lock, accept_content=accept_content)
    options = StreamOptions(
        rank=rank, world_size=world_size, first_step=first_step, next_token=next_token, documents=documents,
        uneven=uneven, dtype=dtype, accept_content=accept_content,
    )  # fmt: skip
    return LocalStream(lock, store, options, fetch_ahead=fetch_ahead)


def _whole_step(schedule: Schedule, step: int) -> PlannedSteps:
    steps = range(step, step + 1)
    rows = schedule.rows(schedule.positions_before(step), schedule.batch_of(step))
    return PlannedSteps.of(steps, schedule.length_of(step), rows, steps)
