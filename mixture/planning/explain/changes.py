"""What a lock does otherwise from a step on: at the step of an amendment, and at the boundaries behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest

from mixture.lock import Lock
from mixture.planning.plan import changes_inside
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
class Moves:
    """How weights moved: `half_l1`, `moved` and `movers` as `Change` has them."""

    half_l1: Fraction
    moved: int
    movers: tuple[Mover, ...]


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

    phase:   that begins there, None where none does; began: where it did in the lock that was amended, if elsewhere
    weights: what became of the weights that the phase had in that lock; None where that has no such phase, or is not at
             hand, and where the weights change inside of the phase
    """

    step: int
    phase: str | None
    began: int | None
    change: Change
    weights: Moves | None


class Look:
    """Looks at a lock's steps, of which there may be many thousand."""

    def __init__(self, lock: Lock) -> None:
        self._lock, self._data = lock, lock.data
        self._handoffs: dict[int, SegmentHandoff] = {
            handoff.first_step: handoff for handoff in lock.schedule().handoffs()
        }
        self._masked: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for mask in lock.masks:
            self._masked[mask.first_step][mask.domain] += mask.tokens

    def change(self, step: int, before: Look | None = None) -> Change:
        """What is other at a step than at the one before, or than what another lock has at the step."""
        old, old_step = (self, step - 1) if before is None or step >= before._data.steps else (before, step)
        segment, old_segment = self._data.segment_at(step), old._data.segment_at(old_step)
        moves = self._moves(old_segment.weights, segment.weights)
        handoff, masked = self._handoffs.get(step), self._masked.get(step, {})
        return Change(
            sequence_length=(old_segment.sequence_length, segment.sequence_length),
            batch_sequences=(old._data.batch_at(old_step).sequences, self._data.batch_at(step).sequences),
            half_l1=moves.half_l1,
            moved=moves.moved,
            weights_until=self._weights_until(step),
            movers=moves.movers,
            skip_sequences=segment.skip if segment.first_step == step else 0,
            tokens_skipped=sum(handoff.tokens_skipped) if handoff else 0,
            masked_tokens=sum(masked.values()),
            masked_domains=len(masked),
        )

    def later(self, start: int, end: int, before: Look | None) -> Iterator[Boundary]:
        """The boundaries behind a step and before another.

        before: of the lock that was amended; then only those that it does not have
        """
        names = self._phases()
        steps = {*self._data.boundaries, *(mask.first_step for mask in self._lock.masks), *names}
        known = {} if before is None else {name: step for step, name in before._phases().items()}
        for step in sorted(step for step in steps if start < step < end):
            change, name = self.change(step), names.get(step)
            began = known.get(name, step) if name is not None else step
            is_known = before is not None and step < before._data.steps and before.change(step) == change
            weights = None if before is None or name is None else self._moves_of_phase(step, before, known.get(name))
            is_moved = weights is not None and weights.moved
            if began != step or is_moved or (change.is_any and not is_known):
                yield Boundary(step, name, None if began == step else began, change, weights)

    def dropped(self, start: int, before: Look) -> tuple[tuple[str, int], ...]:
        """Phases of the lock that was amended that began at a step or behind it and are no more, with their steps."""
        names = set(self._phases().values())
        return tuple((name, step) for step, name in before._phases().items() if step >= start and name not in names)

    def _moves_of_phase(self, step: int, before: Look, began: int | None) -> Moves | None:
        """What became of the weights of the phase that begins at a step, and in another lock at `began`."""
        if began is None:
            return None
        own, old = self._weights_of_phase(step), before._weights_of_phase(began)
        return self._moves(old[0], own[0]) if len(own) == len(old) == 1 else None

    def _weights_of_phase(self, first_step: int) -> list[Sequence[int]]:
        """The weights of the phase that begins at a step, and those that it changes to, in order."""
        phase = next(phase for phase in self._lock.phases if phase.first_step == first_step and phase.steps)
        steps = [first_step, *changes_inside(self._data, phase)]
        return [self._data.segment_at(at).weights for at in steps]

    def _moves(self, old: Sequence[int], new: Sequence[int]) -> Moves:
        """Domains that only one side has come last, and weigh nothing on the other."""
        pairs = zip_longest(old, new, fillvalue=0)
        domains = (domain.name for domain in self._data.domains)
        apart = sorted((-abs(b - a), name, a, b) for name, (a, b) in zip(domains, pairs, strict=False) if a != b)
        return Moves(
            half_l1=Fraction(-sum(far for far, *_ in apart), 2 * WHOLE),
            moved=len(apart),
            movers=tuple(Mover(name, Fraction(a, WHOLE), Fraction(b, WHOLE)) for _, name, a, b in apart[:MOST_MOVERS]),
        )

    def _phases(self) -> dict[int, str]:
        """Those that have a step, by their first one."""
        return {phase.first_step: phase.name for phase in self._lock.phases if phase.steps}

    def _weights_until(self, step: int) -> int:
        segments = self._data.segments_from(step)
        others = (segment.first_step for segment in segments if segment.weights != segments[0].weights)
        return next(others, self._data.steps)
