"""What can be changed in a spec: the budget, and of each phase its extent and its weights."""

from __future__ import annotations

from dataclasses import dataclass

from mixture.planning.spec import Form
from mixture.planning.whatif.shares import Share


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """Changes to a phase: shares by domain, shares by group, and where the phase ends.

    weights: shares of single domains
    groups:  shares of all domains with a value in the column `Changes.by`, together
    extent:  the form and its value as a spec has it: (Form.UNTIL, "80%")
    """

    weights: tuple[tuple[str, Share], ...] = ()
    groups: tuple[tuple[str, Share], ...] = ()
    extent: tuple[Form, str] | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes to a spec. Hashable.

    phases: changes by the name of the phase
    budget: the value as a spec has it: "17T tokens"
    by:     the column of the catalog that `groups` are values of
    """

    phases: tuple[tuple[str, PhaseChange], ...] = ()
    budget: str | None = None
    by: str | None = None
