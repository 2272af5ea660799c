"""What a run plans for each domain, in a phase or as a whole: the figures of its plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import nearest
from mixture.planning.plan import PlanReport, fraction_of, tokens_over_cap

RUN = None
"""The stretch that is the whole run."""


@dataclass(frozen=True, slots=True)
class PlannedSums:
    """What is planned for domains together.

    weight: the share of the stretch's tokens: by the spec in a phase, as drawn in the run
    tokens: drawn in the stretch; epochs: divided by the domains' tokens, None where they have none
    cap:    the epochs that the most restricted of them may be read in the run; None: no cap
    over:   whether a domain of them is read more often than it may, over the whole run
    """

    weight: float
    tokens: int
    epochs: float | None
    cap: float | None
    over: bool


class PlannedDomains:
    """A mixture's plan by domain. plan: what `mixture plan --json` prints."""

    def __init__(self, plan: PlanReport) -> None:
        self.phases: tuple[str, ...] = tuple(phase["phase"] for phase in plan["phases"])
        self._by_phase = {phase["phase"]: {one["domain"]: one for one in phase["domains"]} for phase in plan["phases"]}
        self._over_run = {one["domain"]: one for one in plan["domains"]}
        self._tokens = plan["tokens"]
        self._caps = {one["domain"]: fraction_of(cap) for one in plan["domains"] if (cap := one["max_epochs"])}

    def near(self, phase: str) -> str:
        """A hint where there is no such phase."""
        return nearest(phase, self.phases) or f"its phases: {', '.join(self.phases)}"

    def tokens_of(self, domain: str) -> int | None:
        """How many tokens the plan counts in a domain; None: it does not know it."""
        found = self._over_run.get(domain)
        return None if found is None else found["tokens"]

    def cap_of(self, domain: str) -> Fraction | None:
        """How many epochs a domain may be read, exact; None: any number."""
        return self._caps.get(domain)

    def sums(self, domains: Iterable[str], phase: str | None = RUN) -> PlannedSums:
        """What a phase, or the run, plans for these domains together; those that it does not know have no part."""
        known = [name for name in domains if name in self._over_run]
        drawn = sum(self._over_run[name]["tokens_drawn"] for name in known)
        there = sum(self._over_run[name]["tokens"] for name in known)
        weight, tokens = drawn / self._tokens, drawn
        if phase is not None:
            own = [self._by_phase[phase][name] for name in known]
            weight, tokens = sum(float(one["weight"]["decimal"]) for one in own), sum(one["tokens"] for one in own)
        cap = min((self._caps[name] for name in known if name in self._caps), default=None)
        over = any(self._is_over(name) for name in known)
        return PlannedSums(weight, tokens, tokens / there if there else None, None if cap is None else float(cap), over)

    def _is_over(self, domain: str) -> bool:
        own = self._over_run[domain]
        return tokens_over_cap(own["tokens_drawn"], own["tokens"], self.cap_of(domain)) > 0
