"""The spec before the changes, and the weights of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from mixture.planning.catalog import Catalog
from mixture.planning.plan import Plan
from mixture.schedule import WHOLE, ScheduleData, apportion
from mixture.units import quote


@dataclass(frozen=True, slots=True)
class PhaseWeights:
    """A phase of the plan, with its weights by domain, exact; over a transition their mean."""

    phase: str
    first_step: int
    steps: int
    weights: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Original:
    """A spec that changes are made to.

    text:    the spec file
    path:    its path, which paths of tables start from
    source:  what the heading of the changed spec calls it
    mixture: its name
    """

    text: str
    path: Path
    source: str
    mixture: str
    catalog: Catalog
    data: ScheduleData
    phases: Sequence[PhaseWeights]

    def weights_at_end(self, index: int) -> dict[str, Fraction]:
        """A phase's weights by domain at its last step, in parts of 10^15 as locks have them.

        A phase without steps has no weights in a lock: its planned weights are rounded in the same way.
        """
        phase = self.phases[index]
        if phase.steps:
            segment = self.data.segment_at(phase.first_step + phase.steps - 1)
            names = (domain.name for domain in self.data.domains)
            return {name: Fraction(part, WHOLE) for name, part in zip(names, segment.weights, strict=True)}
        total = sum(phase.weights.values())
        parts = apportion([weight / total for weight in phase.weights.values()], WHOLE)
        return {name: Fraction(part, WHOLE) for name, part in zip(phase.weights, parts, strict=True)}

    def weighted_domains(self) -> set[str]:
        """The domains that have a weight above 0 in a phase."""
        return {name for phase in self.phases for name, weight in phase.weights.items() if weight}


def original_of(plan: Plan, text: str) -> Original:
    """The original of a plan; text: the spec file that it was made from."""
    names = [domain.name for domain in plan.domains]
    return Original(
        text=text,
        path=plan.spec.path,
        source=quote(plan.spec.path.name)[1:-1],
        mixture=plan.spec.mixture,
        catalog=plan.catalog,
        data=plan.data,
        phases=[
            PhaseWeights(
                phase.name, phase.laid.first_step, phase.laid.steps, dict(zip(names, phase.shares, strict=True))
            )
            for phase in plan.phases
        ],
    )
