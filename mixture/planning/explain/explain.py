"""A lock explained: what its run is, each amendment that made it, and which checkpoints may go on under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mixture.errors import LockError
from mixture.lock import Amends, Lock, lineage_of, parting_step
from mixture.planning.explain.changes import Boundary, Change, Look
from mixture.planning.plan import changes_inside


@dataclass(frozen=True, slots=True)
class PhaseExplained:
    """A phase of a lock, as its first step has it.

    tokens:         those that all of its steps read
    weights_change: the steps behind its first from which it has other weights
    """

    name: str
    first_step: int
    steps: int
    sequence_length: int
    batch_sequences: int
    tokens: int
    weights_change: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AmendmentExplained:
    """One amendment of a lineage.

    number:        from 1, the oldest first
    amended:       the digest of the lock that was amended; made: of the lock that came of it
    steps, steps_before: of the run with the amendment, and without
    domains_added: names, in the lock's order
    keep_weights:  whether rules that are fitted to tokens keep the weights that the run had
    change:        what the explained lock has at the step, or, of one that was replaced, the lock that came of it; None
                   where that is not at hand, and where the run begins there, or ends before or there. Beside it is
                   what the amended lock has at the step, where that is at hand and no later amendment took over, else
                   the step before
    later:         what the explained lock has behind the step, up to that of the next amendment; where the amended
                   lock is at hand, only what that does not have
    dropped:       phases of the amended lock that the lock that came of it no longer has, and their first steps, where
                   both are at hand
    superseded_by: the number of a later amendment that takes over at this step or before; None: it stands
    replaced_by:   of the last one at the very step
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
    keep_weights: bool
    change: Change | None
    later: tuple[Boundary, ...]
    dropped: tuple[tuple[str, int], ...]
    superseded_by: int | None
    replaced_by: int | None
    parts_at: int | None

    @property
    def is_void(self) -> bool:
        """Whether a later amendment left nothing at this step."""
        stands = self.replaced_by is None and self.change is not None and self.change.is_any
        return self.superseded_by is not None and not stands


@dataclass(frozen=True, slots=True)
class Resumable:
    """Whose checkpoints may go on under the explained lock: those of a lock, up to and at a step.

    is_own: of the explained lock itself, and then the step is its last
    """

    lock: str
    up_to_step: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class Pools:
    """Domains that are kept to pools: how many, the tokens of the pools, and those that the domains have whole."""

    domains: int
    pool_tokens: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a lock is and came from: the phases of its run, its amendments and resumable checkpoints, oldest first.

    masked_tokens: text that is taken down from some step on, in all
    pools:         of domains that are kept to some of their tokens; None without any
    """

    mixture: str
    digest: str
    steps: int
    sequences: int
    tokens: int
    domains: int
    masked_tokens: int
    pools: Pools | None
    phases: tuple[PhaseExplained, ...]
    amendments: tuple[AmendmentExplained, ...]
    resumable: tuple[Resumable, ...]


def explain(lock: Lock, *, ancestors: Iterable[Lock] = ()) -> Explanation:
    """What a lock is and came from, by its own fields.

    ancestors: locks of its lineage that are at hand. They say where the runs really part, which may be later than the
               amendment's step, and what an amendment changed behind it

    Raises LockError, `not-an-ancestor`, where one of them is no lock that this one was amended from.
    """
    schedule, line = lock.schedule(), lineage_of(lock)
    bounds = [phase.first_step for phase in lock.phases] + [lock.data.steps]
    read = [int(schedule.tokens(step).sum()) for step in bounds]
    held = {ancestor.digest: ancestor for ancestor in ancestors}
    parts = _parts(lock, line, held.values())
    pooled = [domain for domain in lock.data.domains if domain.pool_tokens is not None]
    return Explanation(
        mixture=lock.mixture,
        digest=lock.digest,
        steps=lock.data.steps,
        sequences=schedule.num_sequences,
        tokens=read[-1],
        domains=len(lock.data.domains),
        masked_tokens=sum(mask.tokens for mask in lock.masks),
        pools=Pools(len(pooled), sum(one.held for one in pooled), sum(one.tokens for one in pooled))
        if pooled
        else None,
        phases=tuple(
            PhaseExplained(
                name=phase.name,
                first_step=phase.first_step,
                steps=phase.steps,
                sequence_length=schedule.length_of(phase.first_step),
                batch_sequences=schedule.batch_of(phase.first_step),
                tokens=after - before,
                weights_change=changes_inside(lock.data, phase),
            )
            for phase, before, after in zip(lock.phases, read, read[1:], strict=False)
            if phase.steps
        ),
        amendments=tuple(_amendments(lock, line, held, parts)),
        resumable=resumable(lock, parts),
    )


def resumable(lock: Lock, parts_at: Mapping[str, int] | None = None) -> tuple[Resumable, ...]:
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
    for ancestor in ancestors:
        if ancestor.digest not in known:
            raise LockError(
                f"the lock {ancestor.digest} is none that {lock.digest} was amended from",
                code="not-an-ancestor",
                hint="`mixture diff` compares any two locks",
                digest=ancestor.digest,
            )
        found[ancestor.digest] = parting_step(ancestor, lock)
    return found


def _amendments(
    lock: Lock, line: Sequence[Amends], held: Mapping[str, Lock], parts: Mapping[str, int]
) -> list[AmendmentExplained]:
    data = lock.data
    names = [domain.name for domain in data.domains]
    looks = {one.digest: Look(one) for one in (*held.values(), *([lock] if line else []))}
    made = [*(one.lock for one in line[1:]), lock.digest]
    steps = [*(one.steps for one in line[1:]), data.steps]
    domains = [*(one.domains for one in line[1:]), len(names)]
    over = _superseded([one.step for one in line])
    last = {one.step: i + 1 for i, one in enumerate(line)}
    ends = [*accumulate((one.step for one in reversed(line)), min, initial=data.steps)][-2::-1]
    found = []
    for i, one in enumerate(line):
        replaced = last[one.step] if last[one.step] != i + 1 else None
        before, after = looks.get(one.lock), looks.get(made[i])
        look = after if replaced else looks[lock.digest]
        steps_there = data.steps if replaced is None else steps[i]
        found.append(
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
                keep_weights=one.keep_weights,
                change=look.change(one.step, before if over[i] is None else None)
                if look and 0 < one.step < steps_there
                else None,
                later=tuple(looks[lock.digest].later(one.step, ends[i], before)),
                dropped=after.dropped(one.step, before) if before and after else (),
                superseded_by=over[i],
                replaced_by=replaced,
                parts_at=parts.get(one.lock),
            )
        )
    return found


def _superseded(steps: Sequence[int]) -> list[int | None]:
    """For each amendment the number of the last one behind it at the same step or an earlier one."""
    found: list[int | None] = [None] * len(steps)
    standing: list[int] = []
    for i, step in enumerate(steps):
        while standing and steps[standing[-1]] >= step:
            found[standing.pop()] = i + 1
        standing.append(i)
    return found
