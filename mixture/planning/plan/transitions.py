"""Transitions: a phase's first steps as stairs, from the weights of the phase before to its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from mixture.errors import SpecError
from mixture.lock import LockPhase
from mixture.planning.plan.phases import PhaseSteps, round_half_up
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import Spec
from mixture.schedule import ScheduleData
from mixture.units import format_count, format_written


@dataclass(frozen=True, slots=True)
class Part:
    """Steps of a phase with one set of weights: a stair, or what follows. `laid` has its own first step and steps.

    old, new: weights of the phase before, and of the phase; toward: how far the part is from the one to the other, 0 to
              1; path: of the transition in the spec
    """

    laid: PhaseSteps
    old: PhaseWeights
    new: PhaseWeights
    toward: Fraction
    path: str

    @property
    def weights(self) -> PhaseWeights:
        """The part's own: old + (new − old)·toward."""
        return _between(self, self.toward)


def parts_of(spec: Spec, phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]) -> tuple[Part, ...]:
    """All phases in parts: stair j of P ends at round half up(j·S/P) and has weights old + (new − old)·j/(P + 1).

    `old` are the weights that the last phase with a step has behind its own transition.

    Raises SpecError: `transition-too-long` for more steps than the phase has, `transition-first` where no phase before
    has a step.
    """
    parts: list[Part] = []
    old: PhaseWeights | None = None
    for phase, own in zip(phases, weights, strict=True):
        parts += _stairs(spec, phase, old, own)
        old = own if phase.steps else old
    return tuple(parts)


def _stairs(spec: Spec, phase: PhaseSteps, old: PhaseWeights | None, new: PhaseWeights) -> Iterator[Part]:
    transition = spec.phases[phase.index].transition
    if transition is None or not phase.steps:
        yield Part(phase, new, new, Fraction(1), "")
        return
    path = f"phases[{phase.index}].transition"
    if old is None:
        raise SpecError(
            f"phase {phase.name!r} has a transition, and no phase before it has a step",
            code="transition-first",
            place=spec.place(path),
            phase=phase.name,
        )
    if transition.steps > phase.steps:
        raise SpecError(
            f"the transition has {format_count(transition.steps)} steps, phase {phase.name!r} has"
            f" {format_count(phase.steps)}",
            code="transition-too-long",
            place=spec.place(f"{path}.steps"),
            hint=f"at most {format_written(phase.steps)} steps, all of the phase",
            phase=phase.name,
            steps=transition.steps,
            most=phase.steps,
        )
    ends = [round_half_up(Fraction(j * transition.steps, transition.parts)) for j in range(transition.parts + 1)]
    for j in range(1, transition.parts + 1):
        laid = replace(phase, first_step=phase.first_step + ends[j - 1], steps=ends[j] - ends[j - 1])
        yield Part(laid, old, new, Fraction(j, transition.parts + 1), path)
    if transition.steps < phase.steps:
        laid = replace(phase, first_step=phase.first_step + transition.steps, steps=phase.steps - transition.steps)
        yield Part(laid, old, new, Fraction(1), path)


def drawn_weights(parts: Sequence[Part]) -> list[PhaseWeights]:
    """The weights of each phase as it is drawn: the mean over the steps of its parts."""
    return [_mean(list(own)) for _, own in groupby(parts, key=lambda part: part.laid.index)]


def _mean(parts: Sequence[Part]) -> PhaseWeights:
    whole = sum(part.laid.steps for part in parts)
    if not whole:
        return parts[0].new
    return _between(parts[0], sum((part.toward * part.laid.steps for part in parts), Fraction(0)) / whole)


def _between(part: Part, toward: Fraction) -> PhaseWeights:
    """What the new weights do not speak of is there because of the transition."""
    old, new = part.old, part.new
    if toward == 1:
        return new
    shares = {d: share * (1 - toward) for d, share in old.shares.items()}
    for d, share in new.shares.items():
        shares[d] = shares.get(d, Fraction(0)) + share * toward
    return replace(new, shares=shares, paths=dict.fromkeys(old.shares, part.path) | dict(new.paths))


def changes_inside(data: ScheduleData, phase: PhaseSteps | LockPhase) -> tuple[int, ...]:
    """The steps inside of a phase, behind its first, from which a schedule has other weights."""
    later = data.segments_before(phase.end_step)
    return tuple(one.first_step for one in later if one.first_step > phase.first_step and not one.skip)
