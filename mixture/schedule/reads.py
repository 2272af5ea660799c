"""Where a range of a domain's tokens is read: every sequence that holds one of them, in order, and how many there are.

Nothing is kept of a run: each draw that yields one of the sequences is worked out when it is asked for, and whole
epochs are counted without looking at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mixture.schedule.order import DomainOrder
from mixture.schedule.permute import I64
from mixture.schedule.step_slots import Stretch
from mixture.schedule.windows import Windows

MOST_LOOKED_UP = 1 << 12
"""Sequences whose draws are looked up one by one and sorted; of more, the epoch's draws are gone through in order."""
DRAWS_AT_ONCE = 1 << 16
PLACED_AT_ONCE = 1 << 6
"""Draws of an epoch whose steps and slots are worked out together: few, since whoever asks may want the first."""


@dataclass(frozen=True, slots=True)
class Read:
    """A sequence at its place in the run. draw, epoch: of its domain; sequence: its number in storage."""

    step: int
    slot: int
    draw: int
    epoch: int
    sequence: int
    tokens: int

    @property
    def first_token(self) -> int:
        """Where it begins in its domain."""
        return self.sequence * self.tokens


@dataclass(frozen=True, slots=True)
class ReadPlace:
    """Where a sequence that was looked for is read. epoch: full passes over its domain before it."""

    position: int
    step: int
    slot: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws `first` to `first + count - 1` of a domain, at least one, all of one stretch."""

    domain: int
    stretch: Stretch
    order: DomainOrder
    windows: Windows
    first: int
    count: int

    def epochs(self) -> Iterator[tuple[int, int, int]]:
        """(epoch, low, high): draws low to high - 1 are those of the epoch."""
        size, end = self.order.per_epoch, self.first + self.count
        for epoch in range(self.first // size, (end - 1) // size + 1):
            yield epoch, max(self.first, epoch * size), min(end, (epoch + 1) * size)


def whole_epochs(first: int, end: int, size: int) -> range:
    """The epochs of `size` draws that lie whole in draws first to end - 1."""
    return range(-(-first // size), max(-(-first // size), end // size))


class TokenRange:
    """Tokens of a domain that are looked for in draws of it: `num_tokens`, at least one, from `first_token` on."""

    def __init__(self, first_token: int, num_tokens: int, domain_tokens: int) -> None:
        self._first, self._end, self._domain_tokens = first_token, first_token + num_tokens, domain_tokens
        self._known: tuple[DomainOrder, int] | None = None
        self._found: list[tuple[int, int]] = []

    def reads(self, draws: Draws) -> Iterator[Read]:
        """The draws that yield one of the tokens, in order of step and slot."""
        step, here = -1, list[Read]()  # draws go on from step to step, but not from slot to slot
        for epoch, low, high in draws.epochs():
            for k, sequence, j, slot in _placed(draws, self._hits(draws, epoch, low, high)):
                if j != step:
                    yield from sorted(here, key=lambda read: read.slot)
                    step, here = j, []
                here.append(Read(draws.stretch.first_step + j, slot, k, epoch, sequence, draws.stretch.length))
        yield from sorted(here, key=lambda read: read.slot)

    def count(self, draws: Draws) -> int:
        """How many draws yield one of the tokens."""
        size, end = draws.order.per_epoch, draws.first + draws.count
        whole = whole_epochs(draws.first, end, size)
        if not whole:
            return sum(1 for epoch, low, high in draws.epochs() for _ in self._hits(draws, epoch, low, high))
        every = sum(1 for _ in self._hits(draws, whole.start, whole.start * size, (whole.start + 1) * size))
        parts = ((whole.start - 1, draws.first, whole.start * size), (whole.stop, whole.stop * size, end))
        begun = sum(1 for epoch, low, high in parts if low < high for _ in self._hits(draws, epoch, low, high))
        return every * len(whole) + begun

    def _hits(self, draws: Draws, epoch: int, low: int, high: int) -> Iterator[tuple[int, int]]:
        """(draw, sequence) of the draws low to high - 1 of an epoch that yield one of the tokens, in order."""
        length = draws.stretch.length
        sequences = range(self._first // length, min(-(-self._end // length), self._domain_tokens // length))
        if len(sequences) > MOST_LOOKED_UP:
            yield from _gone_through(draws, sequences, low, high)
            return
        if self._known != (draws.order, epoch):  # a run of many short stretches asks for the same epoch again
            looked_up = ((draws.order.draw(epoch, sequence), sequence) for sequence in sequences)
            self._found = sorted((k, sequence) for k, sequence in looked_up if k is not None)
            self._known = draws.order, epoch
        yield from ((k, sequence) for k, sequence in self._found if low <= k < high)


def _placed(draws: Draws, hits: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """(draw, sequence, step of the stretch, slot) of draws with their sequences."""
    while some := list(islice(hits, PLACED_AT_ONCE)):
        k = np.array([k for k, _ in some])
        steps, slots = draws.stretch.where_each(np.full(k.size, draws.domain), k)
        for (draw, sequence), j, slot in zip(some, steps.tolist(), slots.tolist(), strict=True):
            yield draw, sequence, j, slot


def _gone_through(draws: Draws, sequences: range, low: int, high: int) -> Iterator[tuple[int, int]]:
    for start in range(low, high, DRAWS_AT_ONCE):
        there = drawn_sequences(draws, start, min(start + DRAWS_AT_ONCE, high))
        wanted = np.flatnonzero((there >= sequences.start) & (there < sequences.stop))
        yield from zip((start + wanted).tolist(), there[wanted].tolist(), strict=True)


def drawn_sequences(draws: Draws, low: int, high: int) -> I64:
    """The sequences that draws low to high - 1 of the domain yield: int64 [high - low]."""
    flat, starts = draws.windows.sequences([(draws.order, low, high)])
    found: I64 = flat[int(starts[0]) : int(starts[0]) + high - low]
    return found
