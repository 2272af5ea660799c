"""Schedule and store together: batches for one rank, from any step, with a state that fits any number of ranks."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mixture.errors import StoreError, StreamError
from mixture.plan import Lock, read_lock
from mixture.schedule import Rows
from mixture.store import Store, disagreements, open_store
from mixture.stream.batch import Batch, Tokens
from mixture.stream.ranks import check_divisible, check_rank, rank_slots
from mixture.stream.state import (
    AcceptedContent,
    StreamState,
    boundaries,
    check_history,
    content_digest,
    digest_of,
    read_state,
)

I64 = npt.NDArray[np.int64]

MOST_ROWS_AHEAD = 1 << 16
"""Rows of the schedule that are worked out at once. The first call does one step, each further one twice as many."""


class Stream:
    """Batches of one rank, a step at a time: an iterator, made by `open_stream`.

    domains: names of the lock's domains; `Batch.domain` counts in them
    step:    the next step to read
    steps:   where the run ends
    """

    def __init__(
        self,
        lock: Lock,
        store: Store,
        *,
        rank: int,
        world_size: int,
        first_step: int,
        next_token: bool,
        documents: bool,
        uneven: bool,
        accept_content: str | None,
    ) -> None:
        schedule = lock.schedule()
        check_rank(rank, world_size)
        schedule.positions_before(first_step)
        if not uneven:
            check_divisible(schedule.data, world_size, first_step)
        self.lock, self.store, self.rank, self.world_size = lock, store, rank, world_size
        self.domains = schedule.names
        self.step, self.steps = first_step, schedule.steps
        self._schedule = schedule
        self._next_token, self._documents, self._uneven = next_token, documents, uneven
        self._accept_content = accept_content
        self._accepted: list[AcceptedContent] = []
        if accept_content and disagreements(store, lock):
            self._accepted.append(
                AcceptedContent(step=first_step, content=digest_of(lock.content), reason=accept_content)
            )
        self._drawn_from = np.flatnonzero(np.any(_weights(lock), axis=0))
        self._names = [schedule.names[d] for d in self._drawn_from.tolist()]
        self._tokens = np.array([domain.tokens for domain in schedule.data.domains], np.int64)
        self._number = np.zeros(len(schedule.names), np.int64)
        self._number[self._drawn_from] = np.arange(len(self._names))
        self._reader = store.reader(self._names)
        self._batches: Iterator[Batch] | None = None
        self._begun = False

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Batch:
        """The rank's rows of the next step. Raises StopIteration behind the last one."""
        if self.step >= self.steps:
            raise StopIteration
        self._begun = True
        if self._batches is None:
            self._batches = self._read(self.step)
        try:
            batch = next(self._batches)
        except BaseException:
            self._batches = None  # a generator that raised has ended: asked again, the step is read again
            raise
        self.step = batch.step + 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Where the stream stands, as JSON has it: {step, history, content, boundaries}.

        It is small, and the same for all ranks, workers and world sizes. `accepted` is there where other content was
        accepted.
        """
        return StreamState(
            step=self.step,
            history=self._schedule.history(self.step),
            content=content_digest(self._schedule, self.store, self.step),
            boundaries=boundaries(self._schedule, self.step),
            accepted=self._accepted,
        ).as_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a saved state stands; only before the first batch.

        Raises StreamError: `stream-started`, `state-invalid`, `history-differs`, `content-differs`,
        `batch-not-divisible`.
        """
        if self._begun:
            raise StreamError(
                f"the stream has begun: it stands at step {self.step}",
                code="stream-started",
                hint="open a new stream and load the state before the first batch",
                step=self.step,
            )
        saved = read_state(state)
        check_history(self._schedule, saved)
        if not self._uneven:
            check_divisible(self._schedule.data, self.world_size, saved.step)
        content = content_digest(self._schedule, self.store, saved.step)
        accepted = list(saved.accepted)
        if content != saved.content:
            if not self._accept_content:
                raise StreamError(
                    f"the store's content is not what was read before step {saved.step}: {content} here, "
                    f"{saved.content} in the state",
                    code="content-differs",
                    hint="open the store that the run began with, or open this one with accept_content='a reason'",
                    found=content,
                    expected=saved.content,
                )
            accepted.append(AcceptedContent(step=saved.step, content=saved.content, reason=self._accept_content))
        else:
            # What was accepted on opening stands, though the domains that differ may not have been read yet.
            known = {kept.content for kept in accepted}
            accepted += [
                own.model_copy(update={"step": saved.step}) for own in self._accepted if own.content not in known
            ]
        self._accepted = accepted
        self.step = saved.step

    def _read(self, step: int) -> Iterator[Batch]:
        ahead = 1
        changes = [batch.first_step for batch in self._schedule.data.batches] + [self.steps]
        while step < self.steps:
            slots = rank_slots(self._schedule.batch_of(step), self.rank, self.world_size)
            stop = min(step + ahead, changes[bisect_right(changes, step)])
            for rows in self._schedule.step_rows(step, stop - step, slots):
                here = len(rows) // len(slots) if slots else stop - step
                for i in range(here):
                    yield self._batch(step + i, rows, slice(i * len(slots), (i + 1) * len(slots)))
                step += here
            ahead = max(1, min(2 * ahead, MOST_ROWS_AHEAD // max(1, len(slots))))

    def _batch(self, step: int, rows: Rows, part: slice) -> Batch:
        domain, length = rows.domain[part], self._schedule.length_of(step)
        first_token = rows.sequence[part] * length
        numbers = self._number[domain]
        spans = self.store.spans(self._names, numbers, first_token, length) if self._documents else None
        if self._next_token:
            ids = self._with_next(numbers, first_token, length, self._tokens[domain])
        else:
            ids = self._reader.rows(numbers, first_token, length)
        return Batch(step, ids, domain, rows.position[part], rows.epoch[part], first_token, spans)

    def _with_next(self, numbers: I64, first_token: I64, length: int, tokens: I64) -> Tokens:
        """Rows [n, length + 1]; behind the very last token of a domain stands the end of a document."""
        last = first_token + length == tokens
        if not last.any():
            return self._reader.rows(numbers, first_token, length + 1)
        ids: Tokens = np.full((len(numbers), length + 1), self.store.end_of_document, self.store.dtype)
        ids[~last] = self._reader.rows(numbers[~last], first_token[~last], length + 1)
        ids[last, :length] = self._reader.rows(numbers[last], first_token[last], length)
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
    accept_content: str | None = None,
) -> Stream:
    """Open the batches of one rank, from a step on.

    lock, store: as objects or as paths
    next_token:  rows have one token more, the one that follows; their stride stays the sequence length
    documents:   batches say where documents begin and end in each row
    uneven:      ranks may have one row more or less where the world size does not divide the batch
    accept_content: a reason to read a store whose content is not what the lock was made from, or what was read before
                 a saved state; states keep it from then on

    Raises StoreError where the store is not complete or not the lock's, naming the first domain with both figures, and
    StreamError, `rank-invalid` or `batch-not-divisible`.
    """
    lock = lock if isinstance(lock, Lock) else read_lock(lock)
    store = store if isinstance(store, Store) else open_store(store)
    wrong = [error for error in disagreements(store, lock) if not (accept_content and error.code == "content-differs")]
    if wrong:
        first, more = wrong[0], len(wrong) - 1
        raise StoreError(
            f"{first.message}, and {more} more" if more else first.message,
            code=first.code,
            place=first.place,
            hint=first.hint,
            **first.facts,
        )
    return Stream(
        lock,
        store,
        rank=rank,
        world_size=world_size,
        first_step=first_step,
        next_token=next_token,
        documents=documents,
        uneven=uneven,
        accept_content=accept_content,
    )


def _weights(lock: Lock) -> list[tuple[int, ...]]:
    return [segment.weights for segment in lock.data.segments]
