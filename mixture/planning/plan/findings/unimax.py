"""What UniMax came to: which domains have all of their epochs, and how much the others have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mixture.planning.plan.findings.finding import Finding, named
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.weights.unimax import Division
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import FindingCode, Spec
from mixture.units import decimal, format_count
from mixture.wording import counted


def divided_tokens(spec: Spec, phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]) -> Iterator[Finding]:
    """One finding for each phase that UniMax divides; its facts have each division."""
    for phase, own in zip(phases, weights, strict=True):
        if not own.divided:
            continue
        path = own.divided[0].path if len(own.divided) == 1 else f"phases[{phase.index}].weights"
        said = "; ".join(_words(one) for one in own.divided[:_SHOWN])
        more = len(own.divided) - _SHOWN
        yield Finding(
            FindingCode.UNIMAX_DIVIDED,
            f"unimax in phase {phase.name!r} divides {said}{f'; and {more} more' if more > 0 else ''}",
            spec.place(path),
            None,
            {"phase": phase.name, "divided": [_facts(one) for one in own.divided]},
        )


_SHOWN = 3


def _words(division: Division) -> str:
    parts = []
    if division.full:
        parts.append(
            f"{decimal(division.max_epochs)} epoch{'' if division.max_epochs == 1 else 's'} of {named(division.full)}"
        )
    if division.others:
        whom = counted(division.others, "other" if division.full else "domain")
        parts.append(f"{format_count(division.each)} tokens of each of {whom}")
    return f"{format_count(division.tokens)} tokens: {', '.join(parts)}"


def _facts(division: Division) -> dict[str, object]:
    return {
        "tokens": division.tokens,
        "max_epochs": division.max_epochs,
        "full": list(division.full),
        "others": division.others,
        "tokens_each": division.each,
    }
