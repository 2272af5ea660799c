"""Words for a domain that is read too often: what would fit, and which key of the spec is the cause."""

from __future__ import annotations

import re
from fractions import Fraction
from math import floor

from mixture.planning.catalog import CatalogDomain
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import (
    GroupRule,
    Groups,
    QualityCurve,
    ReplayGroup,
    Rule,
    Spec,
    TableColumn,
    Temperature,
    Unimax,
)
from mixture.units import decimal, format_count, percent, quote

SHARE_DIGITS = 4
_PATH = re.compile(r"phases\[(\d+)\]\.weights(?:\[(\d+)\])?")


def share_that_fits(phase: PhaseSteps, weights: PhaseWeights, d: int, drawn: int, over: int) -> str | None:
    """How much of a phase a domain may be at most, beside how much it is; None where no share of it is enough.

    drawn: the domain's tokens in the phase; over: those that the run draws past its cap
    """
    if drawn < over or not phase.tokens:
        return None
    scale = 10 ** (SHARE_DIGITS + 2)
    most, now = Fraction(floor(Fraction(drawn - over, phase.tokens) * scale), scale), weights.shares[d]
    return f"{percent(most)} of phase {phase.name!r} in place of {percent(now, digits=SHARE_DIGITS)}"


def fitting(domain: CatalogDomain, cap: Fraction, over: int, needed: int | None, share: str | None) -> str:
    """What the message says of a domain that `over` tokens too many are read of.

    needed: the tokens that it would have to hold; None where it may not grow, since an amended run has read of it
    """
    ways = [share] if share else []
    if needed is not None:
        ways.append(f"{format_count(needed - domain.tokens)} more tokens of it")
    would_fit = f"; {', or '.join(ways)}{',' if len(ways) > 1 else ''} would fit" if ways else ""
    return f"allowed are {decimal(cap, digits=4)}: {format_count(over)} tokens too many{would_fit}"


def above(epochs: Fraction, cap: Fraction) -> str:
    """Epochs in four digits, or in as many as tell them from the cap that they are above."""
    digits = 4
    while decimal(epochs, digits=digits) == decimal(cap, digits=digits):
        digits += 2
    return decimal(epochs, digits=digits)


def causes(spec: Spec, domain: CatalogDomain, path: str, *, may_grow: bool) -> str:
    """The keys to change: of the rule at a path of the spec, which gives most of the domain, and of its cap."""
    if domain.name in spec.domain_max_epochs:
        cap = "its `max_epochs.domains`"
    elif domain.max_epochs is not None:
        cap = "its `max_epochs` in the catalog"
    else:
        cap = "`max_epochs`"
    lower, rest = f"lower {_cause(spec, path)}", f"raise {cap}"
    return f"{lower}, {rest}, or find more of it" if may_grow else f"{lower}, or {rest}"


def _cause(spec: Spec, path: str) -> str:
    found = _PATH.match(path)
    assert found is not None, path
    weights = spec.phases[int(found[1])].weights
    if not isinstance(weights, Groups):
        return _of_rule(weights, "its weight")
    group = weights.groups[int(found[2] or 0)]
    if isinstance(group, ReplayGroup):
        return f"the share of `replay: {group.replay}`"
    return _of_rule(group.within, f"the share of its group, `where: {group.where}`")


def _of_rule(rule: GroupRule, otherwise: str) -> str:
    match rule:
        case QualityCurve():
            return (
                f"{otherwise}, give the curve `max_factor`" if rule.max_factor is None else "`max_factor` of the curve"
            )
        case Unimax():
            return "`unimax.max_epochs`"
        case TableColumn():
            return f"its weight in column {quote(rule.column)}"
        case Rule() | Temperature():
            return otherwise
    return "its weight"
