"""Amendments without a spec: other weights, text left out, text taken down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from mixture.errors import AmendError, ScheduleError, nearest
from mixture.lock import Amendment, Lock, LockPhase, Mask, goes_on, joined, look_up, with_digest
from mixture.planning.plan import amends_of, free_name, lineage_of, masks_of, plain_name
from mixture.planning.spec import SUM_TOLERANCE
from mixture.schedule import WHOLE, Schedule, ScheduleData, Segment, apportion
from mixture.units import decimal, format_count

Share = Fraction | Decimal | int | float | str


def amend(
    lock: Lock,
    step: int,
    weights: Mapping[str, Share] | None = None,
    *,
    skip_steps: int = 0,
    masks: Sequence[Mask] = (),
    consumed_step: int = 0,
    reason: str | None = None,
) -> Lock:
    """The lock that reads the same before a step, and from there on something else. Quick: online methods call it.

    weights:    token shares by domain of the lock, up to the end of the phase that the step is in; they sum to 1 within
                1e-9, and a domain that is left out has 0. A float counts as the shortest decimal that reads back to it.
                None: the weights go on
    skip_steps: so many steps' worth of text is left out at the step; 0: what the lock leaves out there already
    masks:      text taken down from the step on, from whatever step each of them says
    consumed_step: the first step that the run has not read

    A new budget, length, batch or domain takes a spec: `make_plan(spec, amends=Amendment(lock, step))`, which looks at
    `max_epochs`, too.

    Raises AmendError: those of `Amendment`, `amend-outside-run`, `skip-not-here`, `mask-invalid`, `unknown-domain`,
    `weights-sum`, `weight-invalid`, `domain-too-small`, `phase-again`.
    """
    amendment = Amendment.going_on(
        lock, step, skip_steps=skip_steps, masks=masks, consumed_step=consumed_step, reason=reason
    )
    # A phase without a step says nothing of what was before; a plan of an amended run does not have it, either.
    data, phases = lock.data, tuple(one for one in lock.phases if one.steps or one.first_step > step)
    if step == data.steps:
        raise AmendError(
            f"the run ends at step {format_count(step)}: nothing is to come",
            code="amend-outside-run",
            hint="a spec with a larger budget makes it longer",
            step=step,
            steps=data.steps,
        )
    if weights is None:
        data = joined(amendment, _from(data, step))
    else:
        index = next(i for i, one in enumerate(phases) if one.first_step <= step < one.end_step)
        phase, end = phases[index], phases[index].end_step
        data = joined(amendment, _from(data, step, until=end, weights=_integers(lock, weights)))
        if not goes_on(data, step) and phase.first_step < step:
            taken = {one.name for one in phases}
            fresh = LockPhase(free_name(plain_name(phase.name, phase.first_step), step, taken), step, end - step)
            phases = (*phases[:index], replace(phase, steps=step - phase.first_step), fresh, *phases[index + 1 :])
    try:
        schedule = Schedule(data, like=lock.schedule())
    except ScheduleError as error:
        name = error.facts.get("name")
        message = error.message if name is None else f"domain {name!r}: {error.message}"
        raise AmendError(message, code=error.code, hint=error.hint) from error
    return with_digest(
        replace(
            lock,
            amends=amends_of(amendment),
            lineage=lineage_of(amendment),
            data=data,
            phases=phases,
            masks=masks_of(amendment, data),
            check=look_up(schedule),
            _schedule=schedule,
        )
    )


def _from(data: ScheduleData, step: int, *, until: int = 0, weights: tuple[int, ...] | None = None) -> ScheduleData:
    """The segments of a run from a step on, those before `until` with other weights."""
    segments: list[Segment] = []
    for one in data.segments:
        first, end = max(one.first_step, step), one.end_step
        if first >= end:
            continue
        parts = [first, *([until] if first < until < end else []), end]
        for a, b in pairwise(parts):
            own = weights if weights is not None and a < until else one.weights
            segments.append(Segment(a, b - a, one.sequence_length, own, one.skip if a == one.first_step else 0))
    return replace(data, segments=tuple(segments))


def _integers(lock: Lock, weights: Mapping[str, Share]) -> tuple[int, ...]:
    names = lock.schedule().names
    unknown = next((name for name in weights if name not in names), None)
    if unknown is not None:
        hint = nearest(unknown, names) or "a new domain takes a spec, whose catalog says how large it is"
        raise AmendError(f"the lock has no domain {unknown!r}", code="unknown-domain", hint=hint, domain=unknown)
    shares = {name: _share(name, share) for name, share in weights.items()}
    whole = sum(shares.values(), Fraction(0))
    if abs(whole - 1) > SUM_TOLERANCE:
        raise AmendError(
            f"the weights sum to {decimal(whole)}, not to 1",
            code="weights-sum",
            hint="divide them by their sum, as fractions or 64-bit floats: 32-bit ones miss 1 by more than 1e-9",
            sum=whole,
        )
    return tuple(apportion([shares.get(name, Fraction(0)) / whole for name in names], WHOLE))


def _share(name: str, share: Share) -> Fraction:
    try:
        # numpy's floats write themselves in as many digits as tell them apart, too.
        exact = Fraction(share) if isinstance(share, Fraction | Decimal | int) else Fraction(str(share))
    except (ValueError, OverflowError, ZeroDivisionError):
        exact = Fraction(-1)
    if exact < 0 or isinstance(share, bool):
        raise AmendError(
            f"the weight of {name!r} is {share!r}",
            code="weight-invalid",
            hint="a share is a number from 0 to 1",
            domain=name,
        )
    return exact
