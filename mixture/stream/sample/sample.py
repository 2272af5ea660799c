"""A sample of a run: fewer of its sequences, in the shares that its phases and domains have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mixture.errors import StreamError, nearest
from mixture.lock import Lock, LockPhase
from mixture.schedule import Rows, Schedule
from mixture.stream.masks import masks_for
from mixture.stream.table_rounding import round_table
from mixture.units import format_count

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Chosen sequences of a run.

    phases:    those that it is chosen from, in order
    sequences: of each domain in each phase, int64 [phases, domains]
    drawn:     what the run reads, of the same shape
    rows:      the sequences, in order of position
    step, phase: int64 [n], of each row its step, and its phase's place in `phases`
    """

    lock: Lock
    phases: tuple[LockPhase, ...]
    sequences: I64
    drawn: I64
    rows: Rows
    step: I64
    phase: I64

    @property
    def tokens(self) -> int:
        """Tokens of all rows."""
        return int(self.rows.tokens.sum())

    @property
    def masked_rows(self) -> int:
        """How many rows hold text that the lock takes down, from whatever step on."""
        masks, schedule, rows = masks_for(self.lock), self.lock.schedule(), self.rows
        if masks is None:
            return 0
        found = 0
        for d in np.unique(rows.domain).tolist():
            of = rows.domain == d
            down = masks.count(schedule.steps, schedule.names[d], rows.first_token[of], rows.tokens[of])
            found += int(np.count_nonzero(down))
        return found


def choose_sample(lock: Lock, tokens: int, *, phase: str | None = None) -> Sample:
    """Choose sequences of a run, or of one phase of it, of at most so many tokens, but for less than one a phase.

    In sequences, each domain has its share of the sample exact to one, in each phase and over all of them, and so has
    each phase: that which it has of what the run reads. Of the d sequences that a phase reads of a domain, the i-th of
    n that are chosen is number floor((2i + 1) · d / 2n), so that they are spread over the phase. The same lock and
    tokens give the same sample.

    Raises StreamError: `unknown-phase`, `sample-too-large` for more tokens than there are, `sample-too-small` for less
    than a sequence.
    """
    schedule = lock.schedule()
    phases = _phases(lock, phase)
    before, drawn = _drawn(schedule, phases)
    ends = ((schedule.tokens(one.end_step), schedule.tokens(one.first_step)) for one in phases)
    there, whole = sum(int((after - first).sum()) for after, first in ends), int(drawn.sum())
    what = "the run" if phase is None else f"phase {phase!r}"
    if tokens > there:
        raise StreamError(
            f"{what} reads {format_count(there)} tokens, and {format_count(tokens)} are asked for",
            code="sample-too-large",
            hint=f"at most {format_count(there)}",
            tokens=tokens,
            most=there,
        )
    count = tokens * whole // there
    if not count:
        raise StreamError(
            f"{format_count(tokens)} tokens are not a sequence",
            code="sample-too-small",
            hint=f"the sequences of {what} have {' or '.join(map(format_count, _lengths(schedule, phases)))}",
            tokens=tokens,
        )
    chosen = np.array(round_table([[n * count for n in row] for row in drawn.tolist()], whole), dtype=np.int64)
    rows = schedule.nth(*_numbers(chosen, before, drawn))
    order = np.argsort(rows.position)
    rows = Rows(
        rows.position[order],
        rows.domain[order],
        rows.draw[order],
        rows.epoch[order],
        rows.sequence[order],
        rows.tokens[order],
    )
    step, _ = schedule.steps_and_slots(rows.position)
    begins = np.array([one.first_step for one in phases])
    return Sample(lock, phases, chosen, drawn, rows, step, np.searchsorted(begins, step, side="right") - 1)


def _phases(lock: Lock, name: str | None) -> tuple[LockPhase, ...]:
    phases = tuple(phase for phase in lock.phases if phase.steps and name in (None, phase.name))
    if not phases:
        names = [phase.name for phase in lock.phases if phase.steps]
        raise StreamError(
            f"the run has no phase {name!r}",
            code="unknown-phase",
            hint=nearest(name or "", names) or f"its phases: {', '.join(names)}",
            phase=name,
        )
    return phases


def _lengths(schedule: Schedule, phases: tuple[LockPhase, ...]) -> list[int]:
    return sorted({schedule.length_of(phase.first_step) for phase in phases})


def _drawn(schedule: Schedule, phases: tuple[LockPhase, ...]) -> tuple[I64, I64]:
    """Sequences of each domain before each phase, and in it: int64 [phases, domains]."""
    before = np.array([schedule.counts(phase.first_step) for phase in phases])
    after = np.array([schedule.counts(phase.end_step) for phase in phases])
    return before, after - before


def _numbers(chosen: I64, before: I64, drawn: I64) -> tuple[I64, I64]:
    """The domains, and which sequence of each, that stand evenly over every phase."""
    domains: list[int] = []
    numbers: list[int] = []
    for p, d in zip(*(at.tolist() for at in np.nonzero(chosen)), strict=True):
        n, here, first = int(chosen[p, d]), int(drawn[p, d]), int(before[p, d])
        domains += [d] * n
        numbers += [first + (2 * i + 1) * here // (2 * n) for i in range(n)]
    return np.array(domains, dtype=np.int64), np.array(numbers, dtype=np.int64)
