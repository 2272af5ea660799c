"""A lock explained: what its run is, each amendment that made it, and which checkpoints may go on under it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import LockError
from mixture.plan.lineage import lineage_of, parting_step
from mixture.plan.lock import Amends, Lock
from mixture.schedule import WHOLE, SegmentHandoff

MOST_MOVERS = 5
"""Domains whose shares moved most, that a change names."""


@dataclass(frozen=True, slots=True)
class PhaseExplained:
    """A phase of a lock, as its first step has it. tokens: those that all of its steps read."""

    name: str
    first_step: int
    steps: int
    sequence_length: int
    batch_sequences: int
    tokens: int


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
    moved, movers:  how many domains' weights changed, and those that moved most, the largest change first
    skip_sequences: left out as text that a loss spike came from, in all
    tokens_skipped: tokens that domains leave unread there, by a skip or at a hand-off to another length
    masked_tokens, masked_domains: text that is hidden from the step on
    """

    sequence_length: tuple[int, int]
    batch_sequences: tuple[int, int]
    mix_steps: tuple[int, int]
    half_l1: Fraction
    moved: int
    movers: tuple[Mover, ...]
    skip_sequences: int
    tokens_skipped: int
    masked_tokens: int
    masked_domains: int

    @property
    def is_any(self) -> bool:
        """Whether anything changes at all."""
        pairs = (self.sequence_length, self.batch_sequences, self.mix_steps)
        figures = (self.moved, self.skip_sequences, self.tokens_skipped, self.masked_tokens)
        return any(a != b for a, b in pairs) or any(figures)


@dataclass(frozen=True, slots=True)
class AmendmentExplained:
    """One amendment of a lineage.

    number:        from 1, the oldest first
    amended:       the digest of the lock that was amended; made: of the lock that came of it
    steps, steps_before: of the run with the amendment, and without
    domains_added: names, in the lock's order
    change:        what the explained lock has at the step; None where its run begins there, or ends before or there
    superseded_by: the number of a later amendment that takes over at this step or before; None: it stands
    parts_at:      the step at which the explained lock parts from the amended one; None where that was not given
    """

    number: int
    step: int
    amended: str
    made: str
    history: str
    reason: str | None
    steps_before: int
    steps: int
    domains_added: tuple[str, ...]
    change: Change | None
    superseded_by: int | None
    parts_at: int | None

    @property
    def is_void(self) -> bool:
        """Whether a later amendment left nothing at this step."""
        return self.superseded_by is not None and not (self.change and self.change.is_any)


@dataclass(frozen=True, slots=True)
class Resumable:
    """Whose checkpoints may go on under the explained lock: those of a lock, up to and at a step.

    is_own: of the explained lock itself, and then the step is its last
    """

    lock: str
    up_to_step: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a lock is and came from: the phases of its run, its amendments and resumable checkpoints, oldest first.

    masked_tokens: text that is hidden from some step on, in all
    """

    mixture: str
    digest: str
    steps: int
    sequences: int
    tokens: int
    domains: int
    masked_tokens: int
    phases: tuple[PhaseExplained, ...]
    amendments: tuple[AmendmentExplained, ...]
    resumable: tuple[Resumable, ...]


def explain(lock: Lock, *, ancestors: Iterable[Lock] = ()) -> Explanation:
    """What a lock is and came from, by its own fields.

    ancestors: locks of its lineage that are at hand. They say where the runs really part, which may be later than the
               amendment's step

    Raises LockError, `not-an-ancestor`, where one of them is no lock that this one was amended from.
    """
    schedule, line = lock.schedule(), lineage_of(lock)
    bounds = [phase.first_step for phase in lock.phases] + [lock.data.steps]
    read = [int(schedule.tokens(step).sum()) for step in bounds]
    parts = _parts(lock, line, ancestors)
    return Explanation(
        mixture=lock.mixture,
        digest=lock.digest,
        steps=lock.data.steps,
        sequences=schedule.num_sequences,
        tokens=read[-1],
        domains=len(lock.data.domains),
        masked_tokens=sum(mask.tokens for mask in lock.masks),
        phases=tuple(
            PhaseExplained(
                name=phase.name,
                first_step=phase.first_step,
                steps=phase.steps,
                sequence_length=schedule.length_of(phase.first_step),
                batch_sequences=schedule.batch_of(phase.first_step),
                tokens=after - before,
            )
            for phase, before, after in zip(lock.phases, read, read[1:], strict=False)
            if phase.steps
        ),
        amendments=tuple(_amendments(lock, line, parts)),
        resumable=resumable(lock, parts),
    )


def resumable(lock: Lock, parts_at: dict[str, int] | None = None) -> tuple[Resumable, ...]:
    """Whose checkpoints may go on under a lock: of each lock of its lineage, oldest first, then its own.

    parts_at: where the runs of locks, by digest, are known to part from it
    """
    known, found, least = parts_at or {}, list[Resumable](), lock.data.steps
    for one in reversed(lineage_of(lock)):
        least = min(least, one.step)
        found.append(Resumable(one.lock, known.get(one.lock, least), is_own=False))
    return (*reversed(found), Resumable(lock.digest, lock.data.steps, is_own=True))


def _parts(lock: Lock, line: Sequence[Amends], ancestors: Iterable[Lock]) -> dict[str, int]:
    known, found = {one.lock for one in line}, {}
    for one in ancestors:
        if one.digest not in known:
            raise LockError(
                f"the lock {one.digest} is none that {lock.digest} was amended from",
                code="not-an-ancestor",
                hint="`mixture diff` compares any two locks",
                digest=one.digest,
            )
        found[one.digest] = parting_step(one, lock)
    return found


def _amendments(lock: Lock, line: Sequence[Amends], parts: dict[str, int]) -> list[AmendmentExplained]:
    data = lock.data
    names = [domain.name for domain in data.domains]
    look = _Look(lock)
    made = [*(one.lock for one in line[1:]), lock.digest]
    steps = [*(one.steps for one in line[1:]), data.steps]
    domains = [*(one.domains for one in line[1:]), len(names)]
    over = _superseded([one.step for one in line])
    return [
        AmendmentExplained(
            number=i + 1,
            step=one.step,
            amended=one.lock,
            made=made[i],
            history=one.history,
            reason=one.reason,
            steps_before=one.steps,
            steps=steps[i],
            domains_added=tuple(names[one.domains : domains[i]]),
            change=look.change(one.step) if 0 < one.step < data.steps else None,
            superseded_by=over[i],
            parts_at=parts.get(one.lock),
        )
        for i, one in enumerate(line)
    ]


def _superseded(steps: Sequence[int]) -> list[int | None]:
    """For each amendment the number of the last one behind it at the same step or an earlier one."""
    found: list[int | None] = [None] * len(steps)
    standing: list[int] = []
    for i, step in enumerate(steps):
        while standing and steps[standing[-1]] >= step:
            found[standing.pop()] = i + 1
        standing.append(i)
    return found


class _Look:
    """Looks at a lock's steps, of which there may be many thousand."""

    def __init__(self, lock: Lock) -> None:
        self._data = lock.data
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
            mix_steps=(batches[0].mix_steps, batches[1].mix_steps),
            half_l1=Fraction(-sum(one[0] for one in apart), 2 * WHOLE),
            moved=len(apart),
            movers=tuple(Mover(name, Fraction(a, WHOLE), Fraction(b, WHOLE)) for _, name, a, b in apart[:MOST_MOVERS]),
            skip_sequences=after.skip if after.first_step == step else 0,
            tokens_skipped=sum(handoff.tokens_skipped) if handoff else 0,
            masked_tokens=sum(masked.values()),
            masked_domains=len(masked),
        )
