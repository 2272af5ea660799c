"""Amendments: what a lock has fixed before a step, and the schedule that goes on from there in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mixture.errors import AmendError
from mixture.lock.lock import Lock, Mask
from mixture.names import is_blank, odd_character
from mixture.schedule import ScheduleData, Segment
from mixture.units import format_count, quote


@dataclass(frozen=True, slots=True)
class Amendment:
    """From `step` on a run no longer reads what its lock says. What comes before stays.

    skip_steps:    so many steps' worth of text is left out at the step, as after a loss spike; 0: what the lock leaves
                   out there already
    masks:         text taken down from the step on
    consumed_step: the first step that the run has not read yet; no amendment comes before it
    reason:        why; it stays in the new lock
    keep_weights:  phases that the lock has keep its weights where a rule of the new spec (`curve`, `unimax`) would fit
                   them to their tokens again

    Raises AmendError: `amend-outside-run`, `amend-consumed`, `amend-invalid`.
    """

    lock: Lock
    step: int
    skip_steps: int = 0
    masks: tuple[Mask, ...] = ()
    consumed_step: int = 0
    reason: str | None = None
    keep_weights: bool = False

    @classmethod
    def going_on(
        cls,
        lock: Lock,
        step: int,
        *,
        skip_steps: int = 0,
        masks: Sequence[Mask] = (),
        consumed_step: int = 0,
        reason: str | None = None,
    ) -> Amendment:
        """An amendment under what the lock was made of, without another spec: weights that were kept stay kept."""
        return cls(lock, step, skip_steps, tuple(masks), consumed_step, reason, lock.keeps_weights)

    def __post_init__(self) -> None:
        steps = self.lock.data.steps
        if not 0 <= self.step <= steps:
            raise AmendError(
                f"step {format_count(self.step)} is not in the lock's run of {format_count(steps)} steps",
                code="amend-outside-run",
                hint=f"steps are 0 to {format_count(steps)}; an amendment at the last one makes the run longer",
                step=self.step,
                steps=steps,
            )
        if self.step < self.consumed_step:
            raise AmendError(
                f"an amendment at step {format_count(self.step)} changes what was read: the run has consumed everything"
                f" before step {format_count(self.consumed_step)}",
                code="amend-consumed",
                hint=f"amend at step {format_count(self.consumed_step)} or later, or go back to a checkpoint before",
                step=self.step,
                consumed_step=self.consumed_step,
            )
        if self.skip_steps < 0:
            raise AmendError(f"{self.skip_steps:,} steps can not be skipped", code="amend-invalid")
        if self.reason is not None and is_blank(self.reason):
            raise AmendError("the reason is empty", code="amend-invalid", hint="leave it out or say it")
        odd = None if self.reason is None else odd_character(self.reason)
        if odd is not None:
            raise AmendError(f"the reason has the character {quote(odd)}, which is not seen", code="amend-invalid")


def joined(amendment: Amendment, new: ScheduleData | None) -> ScheduleData:
    """The lock's schedule up to the amendment's step, and `new` from there on.

    new: a schedule of the same domains, with those that are new behind them; its steps before the amendment's count for
         nothing, and what it leaves out at the step itself is left out unless the amendment says how much. None where
         the run ends at the step.

    Raises AmendError, `skip-not-here`, where text can not be left out at this step, with the next one where it can.
    """
    old, step = amendment.lock.data, amendment.step
    domains = old.domains if new is None else new.domains
    extra = (0,) * (len(domains) - len(old.domains))
    past = [_until(one, step) for one in old.segments_before(step)]
    if extra:
        past = [replace(one, weights=one.weights + extra) for one in past]
    coming = [] if new is None else [_from(segment, step) for segment in new.segments if segment.end_step > step]
    skip = amendment.skip_steps * (new.batch_at(step).sequences if new is not None and coming else 0)
    if amendment.skip_steps and not (past and coming and _go_on(past[-1], coming[0])):
        raise _no_skip(amendment, past, coming)
    # What the lock leaves out at this very step stays left out, unless it is said anew.
    held = next((segment.skip for segment in old.segments if segment.first_step == step), 0)
    segments = _merged([*past, *([replace(coming[0], skip=skip or held), *coming[1:]] if coming else [])])
    batches = [batch for batch in old.batches if batch.first_step < step]
    if new is not None and coming:
        here = replace(new.batch_at(step), first_step=step)
        for one in [here, *(batch for batch in new.batches if batch.first_step > step)]:
            if not batches or batches[-1].sequences != one.sequences:
                batches.append(one)
    return replace(old, domains=domains, segments=tuple(segments), batches=tuple(batches))


def goes_on(data: ScheduleData, step: int) -> bool:
    """Whether a run goes on at a step as before: with the same weights, length and batch; text may be skipped there."""
    is_parted = any(segment.first_step == step and not segment.skip for segment in data.segments)
    return not is_parted and all(batch.first_step != step for batch in data.batches)


def goes_on_as_locked(amendment: Amendment, data: ScheduleData) -> bool:
    """Whether an amended run changes weights at the step inside of a phase, and as the lock does: at a stair."""
    lock, step = amendment.lock, amendment.step
    is_inside = any(phase.first_step < step < phase.end_step for phase in lock.phases)
    was, now = (
        next((segment for segment in run.segments if segment.first_step == step), None) for run in (lock.data, data)
    )
    if not is_inside or was is None or now is None or any(batch.first_step == step for batch in data.batches):
        return False
    extra = (0,) * (len(now.weights) - len(was.weights))
    return _go_on(replace(was, weights=was.weights + extra), now)


def _until(segment: Segment, step: int) -> Segment:
    steps = step - segment.first_step
    return segment if segment.steps <= steps else replace(segment, steps=steps)


def _from(segment: Segment, step: int) -> Segment:
    """The part of a segment from a step on. A skip before that part is no longer there."""
    if segment.first_step >= step:
        return segment
    return Segment(step, segment.end_step - step, segment.sequence_length, segment.weights)


def _go_on(segment: Segment, following: Segment) -> bool:
    return (segment.sequence_length, segment.weights) == (following.sequence_length, following.weights)


def _merged(segments: Sequence[Segment]) -> list[Segment]:
    """Segments as a lock has them: neighbours alike are one, unless text is skipped between them, and only there."""
    out: list[Segment] = []
    for segment in segments:
        is_same = bool(out) and _go_on(out[-1], segment)
        if is_same and not segment.skip:
            out[-1] = replace(out[-1], steps=out[-1].steps + segment.steps)
        else:
            out.append(replace(segment, skip=0) if segment.skip and not is_same else segment)
    return out


def _no_skip(amendment: Amendment, past: Sequence[Segment], coming: Sequence[Segment]) -> AmendError:
    step = amendment.step
    following = _next_skip(amendment, coming)
    return AmendError(
        f"no text can be skipped at step {format_count(step)}: weights or sequence length change there"
        if past and coming
        else f"no text can be skipped at step {format_count(step)}: the run {'ends' if past else 'begins'} there",
        code="skip-not-here",
        hint=f"the next step at which it can be is {format_count(following)}"
        if following is not None
        else "amend first, and skip at a later step of the new lock",
        step=step,
        next_step=following,
    )


def _next_skip(amendment: Amendment, coming: Sequence[Segment]) -> int | None:
    """The first step behind the amendment's at which the old run's text goes on in the new one's weights and length."""
    for before in amendment.lock.data.segments:
        for after in coming:
            first = max(before.first_step + 1, after.first_step, amendment.step + 1)
            if first <= before.end_step and first < after.end_step:
                extra = (0,) * (len(after.weights) - len(before.weights))
                if _go_on(replace(before, weights=before.weights + extra), after):
                    return first
    return None
