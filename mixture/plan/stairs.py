"""Transitions: a phase's first steps as stairs, from the weights of the phase before to its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from mixture.errors import SpecError
from mixture.plan.lock import LockPhase
from mixture.plan.phases import PhaseSteps, round_half_up
from mixture.plan.weights import PhaseWeights
from mixture.schedule import ScheduleData
from mixture.spec import Spec
from mixture.units import format_count


@dataclass(frozen=True, slots=True)
class Part:
    """Steps of a phase with one set of weights: a stair, or what follows. `laid` has its own first step and steps."""

    laid: PhaseSteps
    weights: PhaseWeights


def parts_of(spec: Spec, phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]) -> tuple[Part, ...]:
    """All phases in parts: stair j of P ends at round half up(j·S/P) and has weights old + (new − old)·j/(P + 1).

    `old` are the weights that the last phase with a step has behind its own transition.

    Raises SpecError: `transition-too-long` for more steps than the phase has, `transition-first` where no phase before
    has a step.
    """
    parts: list[Part] = []
    old: PhaseWeights | None = None
    for phase, own in zip(phases, weights, strict=True):
        if phase.steps:
            parts += _stairs(spec, phase, old, own)
            old = own
        else:
            parts.append(Part(phase, own))
    return tuple(parts)


def _stairs(spec: Spec, phase: PhaseSteps, old: PhaseWeights | None, new: PhaseWeights) -> Iterator[Part]:
    asked = spec.phases[phase.index].transition
    if asked is None:
        yield Part(phase, new)
        return
    path = f"phases[{phase.index}].transition"
    if old is None:
        raise SpecError(
            f"phase {phase.name!r} has a transition, and no phase before it has a step",
            code="transition-first",
            place=spec.place(path),
            phase=phase.name,
        )
    if asked.steps > phase.steps:
        raise SpecError(
            f"the transition has {format_count(asked.steps)} steps, phase {phase.name!r} has"
            f" {format_count(phase.steps)}",
            code="transition-too-long",
            place=spec.place(f"{path}.steps"),
            hint=f"at most {format_count(phase.steps)} steps, all of the phase",
            phase=phase.name,
            steps=asked.steps,
            most=phase.steps,
        )
    ends = [round_half_up(Fraction(j * asked.steps, asked.parts)) for j in range(asked.parts + 1)]
    for j in range(1, asked.parts + 1):
        laid = replace(phase, first_step=phase.first_step + ends[j - 1], steps=ends[j] - ends[j - 1])
        yield Part(laid, _between(old, new, Fraction(j, asked.parts + 1), path))
    if asked.steps < phase.steps:
        laid = replace(phase, first_step=phase.first_step + asked.steps, steps=phase.steps - asked.steps)
        yield Part(laid, new)


def _between(old: PhaseWeights, new: PhaseWeights, part: Fraction, path: str) -> PhaseWeights:
    """old + (new − old)·part. What the new weights do not speak of is there because of the transition."""
    shares = {d: share * (1 - part) for d, share in old.shares.items()}
    for d, share in new.shares.items():
        shares[d] = shares.get(d, Fraction(0)) + share * part
    return replace(new, shares=shares, paths=dict.fromkeys(old.shares, path) | dict(new.paths))


def drawn_weights(parts: Sequence[Part]) -> list[PhaseWeights]:
    """The weights of each phase as it is drawn: the mean over the steps of its parts."""
    return [_mean(list(own)) for _, own in groupby(parts, key=lambda part: part.laid.index)]


def _mean(parts: Sequence[Part]) -> PhaseWeights:
    if len(parts) == 1:
        return parts[0].weights
    whole = sum(part.laid.steps for part in parts)
    shares: dict[int, Fraction] = {}
    paths: dict[int, str] = {}
    for part in parts:
        for d, share in part.weights.shares.items():
            shares[d] = shares.get(d, Fraction(0)) + share * part.laid.steps / whole
        paths |= part.weights.paths
    return replace(parts[-1].weights, shares=shares, paths=paths)


def changes_inside(data: ScheduleData, phase: PhaseSteps | LockPhase) -> tuple[int, ...]:
    """The steps inside of a phase, behind its first, from which a schedule has other weights."""
    first, end = phase.first_step, phase.first_step + phase.steps
    return tuple(one.first_step for one in data.segments if first < one.first_step < end and not one.skip)
