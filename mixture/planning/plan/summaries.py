"""Findings for people: one kind in many domains or phases is one message, with the count, the worst five and the total.

The findings themselves stay as they are, for programs and for locks, which keep those that were accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from mixture.planning.plan.findings.finding import Finding
from mixture.planning.plan.findings.over_epochs import above
from mixture.planning.spec import FindingCode
from mixture.units import decimal, format_count
from mixture.wording import NAMED, counted, listed

MOST_HINTS = 3


def summarized(findings: Sequence[Finding], num_domains: int, command: str) -> tuple[Finding, ...]:
    """Findings in their order, where more than five of a code are one, at the place of the worst.

    num_domains: of the plan; command: the one that lists all findings
    """
    kinds = groupby(findings, key=lambda one: (one.code, one.accepted))
    return tuple(finding for _, kind in kinds for finding in _summary([*kind], num_domains, command))


def _summary(findings: Sequence[Finding], num_domains: int, command: str) -> Sequence[Finding]:
    if len(findings) <= NAMED:
        return findings
    worst = sorted(findings, key=_size, reverse=True)
    hint = "; ".join([*_hints(worst), f"`{command}` lists all {len(findings):,}"])
    return [replace(worst[0], message=_message(worst, num_domains), hint=hint, facts={})]


def _hints(worst: Sequence[Finding]) -> list[str]:
    """What to do, for the most of them first; where it is other for nearly each, what to do about the worst."""
    hints = Counter(one.hint for one in worst if one.hint)
    if len(hints) > MOST_HINTS:
        return [worst[0].hint] if worst[0].hint else []
    return list(hints) if len(hints) < 2 else [f"for {count:,}: {hint}" for hint, count in hints.most_common()]


def _size(finding: Finding) -> Fraction:
    """How bad a finding is among those of its kind."""
    facts: Mapping[str, Any] = finding.facts
    match finding.code:
        case FindingCode.OVER_EPOCHS:
            return Fraction(facts["tokens_missing"])
        case FindingCode.DOMAIN_TOO_SMALL:
            return Fraction(-facts["tokens"])
        case FindingCode.TOKENS_SKIPPED:
            return Fraction(facts["tokens"])
        case FindingCode.BOUNDARY_ROUNDED if "asked" in facts:
            return abs(Fraction(facts["asked"] - facts["step"]))
    return Fraction(len(facts.get("domains", ())))


def _message(worst: Sequence[Finding], domains: int) -> str:
    facts: list[Mapping[str, Any]] = [one.facts for one in worst]
    more = len(worst) - NAMED
    of_all = f"{len(worst):,} of {counted(domains, 'domain')}"
    match worst[0].code:
        case FindingCode.OVER_EPOCHS:
            total = sum(one["tokens_missing"] for one in facts)
            shown = [
                f"{one['domain']!r} {above(one['epochs'], one['max_epochs'])} times, allowed"
                f" {decimal(one['max_epochs'], digits=4)}, {format_count(one['tokens_missing'])} tokens too many"
                for one in facts[:NAMED]
            ]
            head = f"{of_all} are read more often than allowed, {format_count(total)} tokens too many in all"
            return f"{head}: {listed(shown, more=more, between='; ')}"
        case FindingCode.DOMAIN_EMPTY:
            shown = [repr(one["domain"]) for one in facts[:NAMED]]
            return f"{of_all} have no tokens and are weighed: {listed(shown, more=more)}"
        case FindingCode.DOMAIN_TOO_SMALL:
            shown = [
                f"{one['domain']!r} with {counted(one['tokens'], 'token')} for sequences of"
                f" {format_count(one['sequence_length'])}"
                for one in facts[:NAMED]
            ]
            return f"{of_all} have not one whole sequence and are weighed: {listed(shown, more=more)}"
    shown = [one.message for one in worst[:NAMED]]
    return f"{len(worst):,} times: {listed(shown, more=more, between='; ')}"
