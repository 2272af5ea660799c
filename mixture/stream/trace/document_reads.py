"""Backwards: every step and slot at which a document, or a token, is read, and how often in all or still to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from mixture.data.store import Store, require_agreement
from mixture.errors import StoreError, nearest
from mixture.lock import Lock
from mixture.schedule import Read, Schedule
from mixture.stream.masks import Masks
from mixture.stream.trace.trace import StoredDocument, stored_documents


@dataclass(frozen=True, slots=True)
class TracedRead:
    """A sequence that reads of the document or the token.

    first_token, tokens:  of the sequence, within the domain
    from_token, to_token: the part that it reads, counted from the first token of what is traced
    masked_tokens:        how many of them the stream hides, since they were taken down before
    is_down:              whether nothing is read of the text: all of it was taken down, but for a document's end
    """

    position: int
    step: int
    slot: int
    draw: int
    epoch: int
    sequence: int
    first_token: int
    tokens: int
    from_token: int
    to_token: int
    masked_tokens: int
    is_down: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a range of a domain's tokens is read, by steps from `first_step` on.

    document: what the range is, where it is one
    """

    domain: str
    first_token: int
    tokens: int
    first_step: int
    document: StoredDocument | None
    _schedule: Schedule | None
    """None: the run draws nothing from the domain."""
    _masks: Masks | None
    """None: nothing is taken down."""

    @property
    def times(self) -> int:
        """How many sequences read of it; of a document that lies over several, each counts. Whole epochs at once."""
        if self._schedule is None:
            return 0
        return self._schedule.count_reads(self.domain, self.first_token, self.tokens, first_step=self.first_step)

    @property
    def times_down(self) -> int:
        """How many of `times` read nothing of its text, since all of it that they have was taken down before.

        Whole epochs at once from the step on at which all of it is down; before that, one read after the other.
        """
        schedule, parts = self._schedule, self._down_since()
        since = [step for step in parts if step is not None]
        if schedule is None or not since:
            return 0
        first = max(self.first_step, min(since))
        down = schedule.steps if None in parts else max(self.first_step, *since)
        begun = 0
        if first < down:
            before = takewhile(lambda read: read.step < down, replace(self, first_step=first).reads())
            begun = sum(read.is_down for read in before)
        if down >= schedule.steps:
            return begun
        return begun + replace(self, first_step=down).times

    @property
    def is_masked(self) -> bool:
        """Whether any of it is taken down at some step of the run."""
        return any(step is not None for step in self._down_since())

    def _down_since(self) -> list[int | None]:
        """From which step on its parts are taken down, None: never; of a document without its end."""
        if self._schedule is None or self._masks is None:
            return []
        parts = self._masks.parts(self._schedule.steps, self.domain, self.first_token, self._text_tokens)
        return [since for _, _, since in parts]

    @property
    def _text_tokens(self) -> int:
        """Of a document, whose end is no text and stays, all but that."""
        return self.tokens if self.document is None else max(1, self.tokens - 1)

    def reads(self) -> Iterator[TracedRead]:
        """The sequences that read of it, in order, each worked out when asked for."""
        schedule = self._schedule
        if schedule is None:
            return iter(())
        found = schedule.reads(self.domain, self.first_token, self.tokens, first_step=self.first_step)
        return (self._traced(schedule, read) for read in found)

    def _traced(self, schedule: Schedule, read: Read) -> TracedRead:
        from_token = max(0, read.first_token - self.first_token)
        to_token = min(self.tokens, read.first_token + read.tokens - self.first_token)
        return TracedRead(
            position=schedule.positions_before(read.step) + read.slot,
            step=read.step,
            slot=read.slot,
            draw=read.draw,
            epoch=read.epoch,
            sequence=read.sequence,
            first_token=read.first_token,
            tokens=read.tokens,
            from_token=from_token,
            to_token=to_token,
            masked_tokens=self._masked(read.step, from_token, to_token),
            is_down=self._is_down(read.step, from_token, to_token),
        )

    def _masked(self, step: int, from_token: int, to_token: int) -> int:
        return sum(end - begin for begin, end, since in self._parts(step, from_token, to_token) if since is not None)

    def _is_down(self, step: int, from_token: int, to_token: int) -> bool:
        end = min(to_token, self._text_tokens)
        begin = min(from_token, end - 1)  # a sequence that has the end alone is down as the token before it is
        return self._masks is not None and all(since is not None for *_, since in self._parts(step, begin, end))

    def _parts(self, step: int, from_token: int, to_token: int) -> Iterator[tuple[int, int, int | None]]:
        if self._masks is None:
            return iter(())
        return self._masks.parts(step, self.domain, self.first_token + from_token, to_token - from_token)


def trace_documents(lock: Lock, store: Store, ids: Iterable[str], *, first_step: int = 0) -> list[Trace]:
    """Where documents are read from a step on: for each id, in the order given, its places in the store in order.

    Documents of domains that the run draws nothing from, such as those held out, are there, and read 0 times.

    Errors: StoreError `unknown-document`, with the nearest id, and where the store is not the lock's or can not be
    read; ScheduleError `step-out-of-range`.
    """
    require_agreement(store, lock)
    schedule, masks = lock.schedule(), _masks(lock)
    schedule.positions_before(first_step)
    wanted = list(dict.fromkeys(ids))
    found = stored_documents(store.documents_named(wanted).to_pylist())
    drawn = schedule.counts(schedule.steps)
    read = {name for name, count in zip(schedule.names, drawn.tolist(), strict=True) if count}
    by_id = {
        identity: list(documents)
        for identity, documents in groupby(sorted(found, key=lambda one: one.id), key=lambda one: one.id)
    }
    _refuse_unknown(store, [identity for identity in wanted if identity not in by_id])
    return [
        Trace(
            domain=one.domain,
            first_token=one.first_token,
            tokens=one.tokens,
            first_step=first_step,
            document=one,
            _schedule=schedule if one.domain in read else None,
            _masks=masks,
        )
        for identity in wanted
        for one in by_id[identity]
    ]


def trace_range(lock: Lock, domain: str, first_token: int, tokens: int, *, first_step: int = 0) -> Trace:
    """Where `tokens` tokens of a domain, the first an offset from 0, are read from a step on.

    Errors: ScheduleError `unknown-domain`, `token-out-of-range`, `step-out-of-range`.
    """
    schedule = lock.schedule()
    schedule.reads(domain, first_token, tokens, first_step=first_step)
    return Trace(domain, first_token, tokens, first_step, None, schedule, _masks(lock))


def trace_token(lock: Lock, domain: str, token: int, *, first_step: int = 0) -> Trace:
    """Where a token of a domain, an offset from 0, is read from a step on. Errors: those of `trace_range`."""
    return trace_range(lock, domain, token, 1, first_step=first_step)


def _masks(lock: Lock) -> Masks | None:
    return Masks(lock) if lock.masks else None


def _refuse_unknown(store: Store, unknown: list[str]) -> None:
    if not unknown:
        return
    first, more = unknown[0], len(unknown) - 1
    raise StoreError(
        f"the store has no document '{first}'" + (f", nor {more} more of those asked for" if more else ""),
        code="unknown-document",
        hint=nearest(first, store.ids_near(first)),
        ids=tuple(unknown),
    )
