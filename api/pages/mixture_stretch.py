"""A stretch of a mixture that another can be compared with: a phase of it, or its whole run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from api.library import LoadedMixture
from api.queries import wrong_query
from api.what_if import weights_at
from mixture.errors import nearest


class Stretch:
    """A phase of a mixture or its whole run: weights by domain as integers, exact, and the tokens drawn."""

    def __init__(self, mixture: LoadedMixture, phase: str | None) -> None:
        plan: Any = mixture.plan_json
        self.sizes: dict[str, int] = {one["domain"]: one["tokens"] for one in plan["domains"]}
        if phase is None:
            self.tokens: dict[str, int] = {one["domain"]: one["tokens_drawn"] for one in plan["domains"]}
            self.weights: Mapping[str, int] = self.tokens
        else:
            found = next(one for one in plan["phases"] if one["phase"] == phase)
            self.tokens = {one["domain"]: one["tokens"] for one in found["domains"]}
            self.weights = weights_at(mixture, found["first_step"])
        self.whole = sum(self.weights.values())

    def weight(self, names: Sequence[str]) -> float | None:
        """The share of these domains together; None where the mixture has none of them."""
        known = [name for name in names if name in self.sizes]
        return sum(self.weights[name] for name in known) / self.whole if known else None

    def drawn(self, names: Sequence[str]) -> int | None:
        """The tokens that the stretch draws of them."""
        known = [name for name in names if name in self.sizes]
        return sum(self.tokens[name] for name in known) if known else None

    def epochs(self, names: Sequence[str]) -> float | None:
        """Those tokens as a multiple of all of theirs."""
        there = sum(self.sizes.get(name, 0) for name in names)
        return sum(self.tokens.get(name, 0) for name in names) / there if there else None


def phases_of(mixture: LoadedMixture) -> tuple[str, ...]:
    """The phases that have a step."""
    return tuple(phase.name for phase in mixture.lock.phases if phase.steps)


def known_phase(mixture: LoadedMixture, phase: str | None, *, parameter: str) -> str | None:
    """The phase that is asked for, None: the whole run. Raises Problem 422 `unknown-phase`, of this parameter."""
    names = phases_of(mixture)
    if phase and phase not in names:
        hint = nearest(phase, names) or f"its phases: {', '.join(names)}"
        raise wrong_query(parameter, f"{mixture.name} has no phase {phase!r}", "unknown-phase", hint=hint)
    return phase or None
