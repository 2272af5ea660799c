"""What a lock does otherwise from a step on: at the step of an amendment, and at the boundaries behind it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from mixture.plan.lock import Lock
from mixture.schedule import WHOLE, SegmentHandoff

MOST_MOVERS = 5
"""Domains whose shares moved most, that a change names."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A domain's token share before a step and from it on, exact."""

    domain: str
    before: Fraction
    after: Fraction


@dataclass(frozen=True, slots=True)
class Change:
    """What a lock does otherwise from a step on. Pairs are (before, after), and equal where nothing changes.

    half_l1:        how far the weights of the two sides are apart, exact, 0 to 1
    weights_until:  the step at which the weights from the step on are others again, or the run's steps
    moved, movers:  how many domains' weights changed, and those that moved most, the largest change first
    skip_sequences: left out as text that a loss spike came from, in all
    tokens_skipped: tokens that are left out there, by a skip or at a hand-off to another length
    masked_tokens, masked_domains: text that is taken down from the step on
    """

    sequence_length: tuple[int, int]
    batch_sequences: tuple[int, int]
    half_l1: Fraction
    moved: int
    movers: tuple[Mover, ...]
    skip_sequences: int
    tokens_skipped: int
    masked_tokens: int
    masked_domains: int
    weights_until: int = field(compare=False)

    @property
    def is_any(self) -> bool:
        """Whether anything changes at all."""
        pairs = (self.sequence_length, self.batch_sequences)
        figures = (self.moved, self.skip_sequences, self.tokens_skipped, self.masked_tokens)
        return any(a != b for a, b in pairs) or any(figures)


@dataclass(frozen=True, slots=True)
class Boundary:
    """A step behind an amendment's at which the run changes.

    phase: that begins there, None where none does; began: where it did in the lock that was amended, if elsewhere
    """

    step: int
    phase: str | None
    began: int | None
    change: Change


class Look:
    """Looks at a lock's steps, of which there may be many thousand."""

    def __init__(self, lock: Lock) -> None:
        self._lock, self._data = lock, lock.data
        self._segments = [one.first_step for one in lock.data.segments]
        self._batches = [one.first_step for one in lock.data.batches]
        self._handoffs: dict[int, SegmentHandoff] = {one.first_step: one for one in lock.schedule().handoffs()}
        self._masked: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for mask in lock.masks:
            self._masked[mask.first_step][mask.domain] += mask.tokens

    def change(self, step: int) -> Change:
        """What is other at a step than at the one before."""
        data = self._data
        before, after = (data.segments[bisect_right(self._segments, at) - 1] for at in (step - 1, step))
        batches = [data.batches[bisect_right(self._batches, at) - 1] for at in (step - 1, step)]
        apart = sorted(
            (
                (-abs(b - a), domain.name, a, b)
                for domain, a, b in zip(data.domains, before.weights, after.weights, strict=True)
                if a != b
            )
        )
        handoff, masked = self._handoffs.get(step), self._masked.get(step, {})
        return Change(
            sequence_length=(before.sequence_length, after.sequence_length),
            batch_sequences=(batches[0].sequences, batches[1].sequences),
            half_l1=Fraction(-sum(one[0] for one in apart), 2 * WHOLE),
            moved=len(apart),
            weights_until=self._weights_until(step),
            movers=tuple(Mover(name, Fraction(a, WHOLE), Fraction(b, WHOLE)) for _, name, a, b in apart[:MOST_MOVERS]),
            skip_sequences=after.skip if after.first_step == step else 0,
            tokens_skipped=sum(handoff.tokens_skipped) if handoff else 0,
            masked_tokens=sum(masked.values()),
            masked_domains=len(masked),
        )

    def later(self, start: int, end: int, before: Look | None) -> Iterator[Boundary]:
        """The boundaries behind a step and before another.

        before: of the lock that was amended; then only those that it does not have
        """
        data, names = self._data, self._phases()
        held = (data.segments, data.batches, self._lock.masks)
        steps = {one.first_step for part in held for one in part} | names.keys()
        known = {} if before is None else {name: step for step, name in before._phases().items()}
        for step in sorted(step for step in steps if start < step < end):
            change, name = self.change(step), names.get(step)
            began = known.get(name, step) if name is not None else step
            is_known = before is not None and step < before._data.steps and before.change(step) == change
            if began != step or (change.is_any and not is_known):
                yield Boundary(step, name, None if began == step else began, change)

    def dropped(self, start: int, before: Look) -> tuple[tuple[str, int], ...]:
        """Phases of the lock that was amended that began at a step or behind it and are no more, with their steps."""
        names = set(self._phases().values())
        return tuple((name, step) for step, name in before._phases().items() if step >= start and name not in names)

    def _phases(self) -> dict[int, str]:
        """Those that have a step, by their first one."""
        return {phase.first_step: phase.name for phase in self._lock.phases if phase.steps}

    def _weights_until(self, step: int) -> int:
        segments = self._data.segments
        s = bisect_right(self._segments, step) - 1
        others = (one.first_step for one in segments[s + 1 :] if one.weights != segments[s].weights)
        return next(others, self._data.steps)
