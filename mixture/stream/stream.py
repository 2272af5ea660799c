"""What every stream is: batches for one rank, from any step, with a state that fits any number of ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from mixture.data.layout import StoreDescription
from mixture.data.store import disagreements
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.stream.batch import Batch
from mixture.stream.dtypes import ids_as, ids_dtype
from mixture.stream.masks import masks_for
from mixture.stream.options import StreamOptions
from mixture.stream.state import (
    AcceptedContent,
    StreamState,
    boundaries,
    check_history,
    content_differs,
    content_digest,
    digest_of,
    kind_of,
    read_state,
)


class Stream(ABC):
    """Batches of one rank, a step at a time: an iterator, made by `open_stream` or `mixture.client.open_remote_stream`.

    Schedule, states and refusals are worked out here, from the lock and what is known of the store; where rows come
    from is a matter of each kind of stream.

    options: what it was opened with
    domains: names of the lock's domains; `Batch.domain` counts in them
    step:    the next step to read
    steps:   where the run ends
    """

    def __init__(self, lock: Lock, store: StoreDescription, options: StreamOptions) -> None:
        schedule, first_step, accept_content = lock.schedule(), options.first_step, options.accept_content
        schedule.positions_before(first_step)
        options.check_batches(schedule.data, first_step)
        self.lock, self.store, self.options = lock, store, options
        self.rank, self.world_size = options.rank, options.world_size
        self.domains = schedule.names
        self.step, self.steps = first_step, schedule.steps
        self._schedule = schedule
        self._masks = masks_for(lock)
        self._dtype = ids_dtype(options.dtype, store.dtype)
        self._wrap: Callable[[Iterator[Batch]], Iterator[Batch]] | None = None
        self._accepted: list[AcceptedContent] = []
        if accept_content and disagreements(store, lock):
            expected = digest_of(lock.content, kind=kind_of(store, lock.content))
            self._accepted.append(AcceptedContent(step=first_step, content=expected, reason=accept_content))
        self._batches: Iterator[Batch] | None = None
        self._begun = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch:
        """The rank's rows of the next step. Raises StopIteration behind the last one."""
        if self.step >= self.steps:
            raise StopIteration
        self._begun = True
        if self._batches is None:
            self._batches = self._from_here()
        try:
            batch = next(self._batches)
        except BaseException:
            self._batches = None  # a generator that raised has ended: asked again, the step is read again
            raise
        self.step = batch.step + 1
        return batch

    def read(self, steps: range) -> Iterator[Batch]:
        """The rank's rows of any steps, such as every third one; the stream stays where it stands.

        Any number of threads may read a local stream so. A remote one asks for consecutive steps at once, for others
        one by one. Raises StreamError `steps-invalid`, `batch-not-divisible`.
        """
        if steps.step < 1 or (steps and not 0 <= steps[0] <= steps[-1] < self.steps):
            raise StreamError(
                f"{steps} are not steps of a run of {self.steps:,}", code="steps-invalid", hint="ascending, from 0"
            )
        self.options.check_batches(self._schedule.data, steps.start)
        return self._given_each(steps)

    def length_of(self, step: int) -> int:
        """Tokens of a step's rows, without the next one."""
        return self._schedule.length_of(step)

    def wrap_reading(self, wrap: Callable[[Iterator[Batch]], Iterator[Batch]]) -> None:
        """Put something between reading batches and handing them out, such as a thread that reads ahead.

        It must give the same batches in the same order. Raises StreamError, `stream-started`.
        """
        if self._begun:
            raise self._started("wrap its reading")
        self._wrap = wrap

    def close(self) -> None:
        """Leave what is open, and stop what reads ahead. Asked for another batch, the stream goes on."""
        batches, self._batches = self._batches, None
        close = getattr(batches, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the stream stands, as JSON has it: {step, history, content, boundaries}.

        It is small, and the same for all ranks, workers and world sizes. `masks` is there where some began before the
        step, `accepted` where other content was accepted.
        """
        return self.state_at(self.step)

    def state_at(self, step: int) -> dict[str, Any]:
        """The state of a stream of this run that has come to a step: for who counts the steps that it trained on."""
        return StreamState(
            step=step,
            history=self._schedule.history(step),
            content=self.content(step),
            boundaries=boundaries(self._schedule, step),
            masks=self._masks_before(step),
            accepted=self._accepted,
        ).as_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a saved state stands; only before the first batch.

        Raises StreamError: `stream-started`, `state-invalid`, `history-differs`, `content-differs`,
        `batch-not-divisible`.
        """
        if self._begun:
            raise self._started("load the state")
        saved = read_state(state)
        check_history(self._schedule, saved)
        self.options.check_batches(self._schedule.data, saved.step)
        content = self.content(saved.step)
        accepted = list(saved.accepted)
        if content != saved.content:
            if not (reason := self.options.accept_content):
                raise content_differs(self._schedule, self.store, saved, content)
            accepted.append(AcceptedContent(step=saved.step, content=saved.content, reason=reason))
        else:
            # What was accepted on opening stands, though the domains that differ may not have been read yet.
            known = {kept.content for kept in accepted}
            accepted += [
                own.model_copy(update={"step": saved.step}) for own in self._accepted if own.content not in known
            ]
        self._accepted = accepted
        self.step = saved.step

    def content(self, step: int) -> str:
        """The digest of the content that is read before a step, less what is taken down (`StreamState.content`)."""
        return content_digest(self._schedule, self.store, step, self._masks_before(step))

    def _masks_before(self, step: int) -> str | None:
        return None if self._masks is None else self._masks.digest(step)

    def _from_here(self) -> Iterator[Batch]:
        steps = range(self.step, self.steps)
        if self._wrap is None:
            return self._given_each(steps)
        # What reads in another thread holds a copy: else a stream that was dropped would be held by what it started.
        reader = copy(self)
        return self._wrap(reader._given_each(steps))

    def _given_each(self, steps: range) -> Iterator[Batch]:
        batches = self._read(steps)
        return batches if self._dtype == self.store.dtype else map(self._given, batches)

    def _given(self, batch: Batch) -> Batch:
        """The batch as it was asked for."""
        if batch.input_ids.dtype == self._dtype:
            return batch
        return replace(batch, input_ids=ids_as(batch.input_ids, self._dtype, self.store.vocabulary))

    def _started(self, purpose: str) -> StreamError:
        return StreamError(
            f"the stream has begun: it stands at step {self.step:,}",
            code="stream-started",
            hint=f"open a new stream and {purpose} before the first batch",
            step=self.step,
        )

    @abstractmethod
    def _read(self, steps: range) -> Iterator[Batch]:
        """The batches of ascending steps, as the store has them."""
