"""Weights that a rule fits to the tokens of a phase, in an amended run: fitted again, or kept as the lock has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from mixture.lock import Amendment, Lock
from mixture.planning.plan.amended.past import plain_name
from mixture.planning.plan.findings.finding import Finding, named
from mixture.planning.plan.inputs import Inputs
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.transitions import Part
from mixture.planning.plan.weights.weights import PhaseWeights, drawable, weigh
from mixture.planning.spec import (
    FindingCode,
    GroupRule,
    Groups,
    QualityCurve,
    ReplayGroup,
    Rule,
    ShareMap,
    Spec,
    Unimax,
    Weights,
    WhereGroup,
    rules_of,
)
from mixture.schedule import WHOLE, apportion
from mixture.units import decimal
from mixture.wording import NAMED, listed

Integers = tuple[int, ...]
"""Weights as a lock has them: parts of 10^15 by domain."""


def fitted_rules(spec: Spec) -> Mapping[int, tuple[str, ...]]:
    """The phases whose weights depend on how many tokens they read, by index, and the keys of the rules that do it."""
    fitted: dict[int, tuple[str, ...]] = {}
    for i, phase in enumerate(spec.phases):
        rules = {_KEYS[type(rule)] for _, rule in rules_of(phase.weights, "") if type(rule) in _KEYS}
        names = {spec.phases[j].phase for j in fitted}
        groups = phase.weights.groups if isinstance(phase.weights, Groups) else ()
        rules |= {"replay" for group in groups if isinstance(group, ReplayGroup) and group.replay in names}
        if rules:
            fitted[i] = tuple(sorted(rules))
    return fitted


_KEYS: Mapping[type, str] = {QualityCurve: "curve", Unimax: "unimax"}


def locked_weights(lock: Lock, spec: Spec) -> Mapping[str, Sequence[Integers]]:
    """The sets of weights that a lock has of each phase of a spec, by its name there, one after the other."""
    names = {phase.phase for phase in spec.phases}
    sets: dict[str, list[Integers]] = {}
    for phase in lock.phases:
        if not phase.steps:
            continue
        own = sets.setdefault(phase.name if phase.name in names else plain_name(phase.name, phase.first_step), [])
        end = phase.first_step + phase.steps
        for segment in lock.data.segments:
            is_inside = segment.first_step < end and phase.first_step < segment.first_step + segment.steps
            if is_inside and segment.weights not in own[-1:]:
                own.append(segment.weights)
    return sets


def weigh_as_locked(lock: Lock, spec: Spec, inputs: Inputs, phases: Sequence[PhaseSteps]) -> tuple[PhaseWeights, ...]:
    """The weights of every phase, as `weigh` gives them, but where a rule would be fitted those of the lock.

    A phase that the lock does not have, that weighs other domains than there, or that has a transition after which the
    lock has no weights, is fitted all the same; `moved_weights` reports it. Raises what `weigh` does.
    """
    # Without a fit the rules say which domains they weigh, and nothing of the budget can refuse them.
    unfitted = {i: _unfitted(spec.phases[i].weights) for i in fitted_rules(spec)}
    members = weigh(_with_weights(spec, unfitted), inputs, phases)
    names, domains = [domain.name for domain in lock.data.domains], drawable(inputs.catalog)
    locked = locked_weights(lock, spec)
    kept: dict[int, Weights] = {}
    for i in unfitted:
        own, sets = members[i], locked.get(spec.phases[i].phase, ())
        if not _has_end(spec, i, sets):
            continue
        shares = {name: Fraction(weight, WHOLE) for name, weight in zip(names, sets[-1], strict=True) if weight}
        if shares.keys() == {domains[d].name for d, share in own.shares.items() if share}:
            kept[i] = ShareMap(shares={domains[d].name: shares.get(domains[d].name, Fraction(0)) for d in own.shares})
    weighed = weigh(_with_weights(spec, kept), inputs, phases)
    return tuple(
        replace(own, paths=members[i].paths, listed=None) if i in kept else own for i, own in enumerate(weighed)
    )


def as_locked(lock: Lock, weights: Sequence[Integers]) -> list[Integers]:
    """Sets of weights, each of which is the lock's own where the lock has one that differs by rounding alone.

    A transition's stairs lie between the weights of two phases, which a lock has rounded.
    """
    known = dict.fromkeys(segment.weights for segment in lock.data.segments)
    return [
        next(
            ((*locked, *own[len(locked) :]) for locked in known if _is_rounded(locked, own)), own
        )  # new domains follow
        for own in weights
    ]


def moved_weights(
    spec: Spec, amendment: Amendment, names: Sequence[str], phases: Sequence[PhaseSteps], coming: Sequence[Part]
) -> Iterator[Finding]:
    """Phases to come whose weights a rule fits to their tokens: those that moved, and those that are the lock's.

    names: of the run's domains; phases: of the whole spec, laid out; coming: their parts from the amendment's step on
    """
    rules = fitted_rules(spec)
    locked = locked_weights(amendment.lock, spec) if rules else {}
    for i, weights in sorted(_ends(phases, coming).items()):
        if i not in rules:
            continue
        phase = spec.phases[i].phase
        sets = locked.get(phase, ())
        fit = f"the weights of phase {phase!r} ({', '.join(rules[i])})"
        place, facts = spec.place(f"phases[{i}].weights"), {"phase": phase, "rules": list(rules[i])}
        if not sets:
            if amendment.keep_weights:
                message = f"{fit} cannot be kept, and are fitted: the lock has no such phase"
                yield Finding(FindingCode.WEIGHTS_MOVED, message, place, None, facts)
            continue
        before = (*sets[-1], *[0] * (len(names) - len(sets[-1])))
        after = tuple(apportion(weights.dense(len(names)), WHOLE))
        if before == after:
            if amendment.keep_weights:
                message = f"{fit} are kept as the lock has them: nothing is fitted again"
                yield Finding(FindingCode.WEIGHTS_KEPT, message, place, None, facts)
            continue
        why = _not_kept(spec, i, sets, dict(zip(names, zip(before, after, strict=True), strict=True)))
        cause = f" cannot be kept, since {why or _TOO_SMALL}: they" if amendment.keep_weights else ""
        apart = sorted((-abs(b - a), name, a, b) for name, a, b in zip(names, before, after, strict=True) if a != b)
        distance = Fraction(-sum(one[0] for one in apart), 2 * WHOLE)
        moved = [(name, Fraction(a, WHOLE), Fraction(b, WHOLE)) for _, name, a, b in apart[:NAMED]]
        said = [f"{name!r} {_both(a, b)}" for name, a, b in moved]
        yield Finding(
            FindingCode.WEIGHTS_MOVED,
            f"{fit}{cause} are fitted again and move: total variation distance (TV) {decimal(distance, digits=4)}, the"
            f" share of tokens that would have to move; {listed(said, more=len(apart) - len(moved))}",
            place,
            None
            if why or amendment.keep_weights
            else "`--keep-weights`, over HTTP `keep_weights`, keeps the weights of the lock",
            facts
            | {
                "total_variation": distance,
                "domains_moved": len(apart),
                "movers": [{"domain": name, "before": a, "after": b} for name, a, b in moved],
            },
        )


def weight_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Those of `moved_weights`: none, and no rule fits weights to come, where the lock's weights are to be kept."""
    return [finding for finding in findings if finding.code in (FindingCode.WEIGHTS_KEPT, FindingCode.WEIGHTS_MOVED)]


def _unfitted(weights: Weights) -> Weights:
    """Weights over the same domains without a rule that is fitted to tokens."""

    def plain(rule: GroupRule) -> GroupRule:
        if isinstance(rule, QualityCurve):
            return rule.model_copy(update={"p": Fraction(0), "lam": Fraction(0), "max_factor": None})
        return Rule.PROPORTIONAL if isinstance(rule, Unimax) else rule

    if not isinstance(weights, Groups):
        return plain(weights)
    groups = tuple(
        group.model_copy(update={"within": plain(group.within)}) if isinstance(group, WhereGroup) else group
        for group in weights.groups
    )
    return weights.model_copy(update={"groups": groups})


def _with_weights(spec: Spec, weights: Mapping[int, Weights]) -> Spec:
    """The spec with other weights in some phases."""
    phases = tuple(
        phase.model_copy(update={"weights": weights.get(i, phase.weights)}) for i, phase in enumerate(spec.phases)
    )
    return spec.model_copy(update={"phases": phases})


def _has_end(spec: Spec, i: int, sets: Sequence[Integers]) -> bool:
    """Whether the last of a lock's sets of weights is that of the phase, and not of a stair that leads to it."""
    transition = spec.phases[i].transition
    return len(sets) > (transition.parts if transition else 0)


def _ends(phases: Sequence[PhaseSteps], coming: Sequence[Part]) -> Mapping[int, PhaseWeights]:
    """The last weights of each phase that is read from, by its index: stairs read from the phase before, too."""
    ends: dict[int, PhaseWeights] = {}
    for part in coming:
        if not part.laid.steps:
            continue
        if part.toward < 1:
            ends.setdefault(
                max(phase.index for phase in phases if phase.steps and phase.index < part.laid.index), part.old
            )
        ends[part.laid.index] = part.weights
    return ends


def _not_kept(spec: Spec, i: int, sets: Sequence[Integers], weights: Mapping[str, tuple[int, int]]) -> str | None:
    """Why the weights of the lock, the first of each pair, cannot be kept; None where they can."""
    if not _has_end(spec, i, sets):
        return "the lock has no weights after its transition"
    new = [name for name, (before, after) in weights.items() if after and not before]
    gone = [name for name, (before, after) in weights.items() if before and not after]
    if new:
        return f"the lock does not weigh {named(new)} there"
    return f"it no longer weighs {named(gone)}" if gone else None


_TOO_SMALL = "the lock has no share of a domain that is too small"


def _is_rounded(locked: Integers, weights: Integers) -> bool:
    """Whether weights differ by rounding alone, where the lock's may have fewer domains."""
    return all(abs(a - b) <= _ROUNDED for a, b in zip(locked, weights, strict=False)) and not any(
        weights[len(locked) :]
    )


_ROUNDED = 2
"""Parts of 10^15: what two weights lie between is exact to less than one, and both sides of it are rounded."""


def _both(before: Fraction, after: Fraction) -> str:
    """Shares in percent, in four digits or as many as tell them apart."""
    digits = 4
    while (a := decimal(before * 100, digits=digits)) == (b := decimal(after * 100, digits=digits)):
        digits += 2
    return f"{a}% → {b}%"
