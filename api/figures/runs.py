"""What a run has read so far, and what comes next: figures of its schedule at a step, exact until they are divided.

A step here counts the steps that are done: 0 before the first, `steps` at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from mixture.api.models import NextBoundary, Standing
from mixture.lock import Lock
from mixture.planning.plan import Groups

FIGURES = (
    "domains",
    "tokens",
    "planned_tokens",
    "weight",
    "planned_weight",
    "epochs",
    "planned_epochs",
    "planned_tokens_so_far",
    "planned_weight_so_far",
)
"""What `read_by` says of a group."""


def next_boundary(lock: Lock, step: int) -> NextBoundary | None:
    """The first boundary behind so many steps; None where the run goes on to its end as it is."""
    data, phases = lock.data, {phase.first_step: phase.name for phase in lock.phases if phase.steps}
    ahead = min((first for first in (*phases, *data.boundaries) if step < first < data.steps), default=None)
    if ahead is None:
        return None
    return NextBoundary(
        step=ahead,
        steps_left=ahead - step,
        phase=phases.get(ahead),
        sequence_length=lock.schedule().length_of(ahead),
        batch_sequences=lock.schedule().batch_of(ahead),
    )


def standing(lock: Lock, step: int) -> Standing:
    """Where in its mixture a run is that has done so many steps."""
    phase = lock.phase_of(step)
    return Standing(
        steps=lock.data.steps,
        tokens=tokens_read(lock, step),
        planned_tokens=tokens_read(lock, lock.data.steps),
        phase=None if phase is None else phase.name,
        next_boundary=next_boundary(lock, step),
    )


def tokens_read(lock: Lock, step: int) -> int:
    """Tokens of all domains that so many steps read."""
    return int(lock.schedule().tokens(step).sum())


def read_by(lock: Lock, groups: Groups, step: int) -> pa.Table:
    """One row a group of domains: what so many steps read, against the whole run and the plan up to there.

    The groups' columns, then: domains int64 · tokens, planned_tokens int64 · weight, planned_weight double, shares of
    the tokens of all domains · epochs, planned_epochs double, tokens read ÷ tokens of the group ·
    planned_tokens_so_far int64, planned_weight_so_far double. A quotient of nothing is null.

    A run reads what its lock says, so what is read and what is planned so far are the same figures here.
    """
    schedule = lock.schedule()
    read, planned = schedule.tokens(step), schedule.tokens(schedule.steps)
    own, all_own = groups.sums(read), groups.sums(planned)
    tokens, weight = pa.array(own, pa.int64()), _quotients(own, [int(read.sum())] * len(own))
    keys = {
        name: pa.array([key[i] for key in groups.keys], kind)
        for i, (name, kind) in enumerate(zip(groups.columns, groups.types, strict=True))
    }
    figures = (
        pa.array(groups.domains, pa.int64()),
        tokens,
        pa.array(all_own, pa.int64()),
        weight,
        _quotients(all_own, [int(planned.sum())] * len(own)),
        _quotients(own, groups.tokens),
        _quotients(all_own, groups.tokens),
        tokens,
        weight,
    )
    return pa.table(keys | dict(zip(FIGURES, figures, strict=True)))


def _quotients(parts: Sequence[int], wholes: Sequence[int]) -> pa.Array:
    values = [part / whole if whole else None for part, whole in zip(parts, wholes, strict=True)]
    return pa.array(values, pa.float64())
