"""What a plan finds: a code, its level, a message with the figures, the place in the spec, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mixture.errors import Place
from mixture.planning.spec import FindingCode


class Level(StrEnum):
    """How much a finding matters: an error stops a lock unless the spec accepts it."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


LEVELS: Mapping[FindingCode, Level] = {
    FindingCode.BUDGET_MISMATCH: Level.ERROR,
    FindingCode.OVER_EPOCHS: Level.ERROR,
    FindingCode.NEVER_READ: Level.ERROR,
    FindingCode.DOMAIN_EMPTY: Level.ERROR,
    FindingCode.DOMAIN_TOO_SMALL: Level.ERROR,
    FindingCode.PHASE_VANISHED: Level.ERROR,
    FindingCode.TOKENIZER_DIFFERS: Level.ERROR,
    FindingCode.CATALOG_CHANGED: Level.ERROR,
    FindingCode.BATCH_NOT_DIVISIBLE: Level.ERROR,
    FindingCode.PACKED_LENGTH_DIFFERS: Level.ERROR,
    FindingCode.PHASE_SHORT: Level.WARNING,
    FindingCode.DRAWS_NOTHING: Level.WARNING,
    FindingCode.SHARE_DIFFERS: Level.WARNING,
    FindingCode.DOMAIN_UNUSED: Level.WARNING,
    FindingCode.DOMAIN_MISSING_IN_PHASE: Level.WARNING,
    FindingCode.NAMES_ALIKE: Level.WARNING,
    FindingCode.STEP_TOKENS_CHANGED: Level.WARNING,
    FindingCode.WEIGHTS_MOVED: Level.WARNING,
    FindingCode.BATCH_FILLS_WINDOW: Level.WARNING,
    FindingCode.BOUNDARY_ROUNDED: Level.NOTE,
    FindingCode.EPOCHS_ROUNDED: Level.NOTE,
    FindingCode.WEIGHTS_SCALED: Level.NOTE,
    FindingCode.TEMPERATURE_SHARPENS: Level.NOTE,
    FindingCode.UNIMAX_DIVIDED: Level.NOTE,
    FindingCode.CURVE_FITTED: Level.NOTE,
    FindingCode.WEIGHTS_KEPT: Level.NOTE,
    FindingCode.TOKENS_SKIPPED: Level.NOTE,
    FindingCode.ZERO_WEIGHT: Level.NOTE,
    FindingCode.LONGEST_CONTEXT: Level.NOTE,
}

# A domain without one whole sequence has nothing to draw: a lock could only be made by dropping its weight, and nothing
# is dropped. `catalog-changed` is found when a lock is checked, where there is nothing left to let through. Packed rows
# are read in their length, or not at all.
NEVER_ACCEPTED = frozenset(
    {
        FindingCode.DOMAIN_EMPTY,
        FindingCode.DOMAIN_TOO_SMALL,
        FindingCode.CATALOG_CHANGED,
        FindingCode.PACKED_LENGTH_DIFFERS,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a plan found.

    message:  what was found, with its figures
    place:    where its cause stands in the spec
    hint:     what to do about it, or None where there is nothing to do
    facts:    the figures and names that the message is made of: integers, exact fractions, names, lists of names
    accepted: whether the spec lets it through by name
    """

    code: FindingCode
    message: str
    place: Place | None = None
    hint: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    accepted: bool = False

    @property
    def level(self) -> Level:
        """The level of its code."""
        return LEVELS[self.code]

    @property
    def refuses(self) -> bool:
        """Whether no lock can be made while it stands."""
        return self.level is Level.ERROR and not self.accepted

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None and str(self.place) else ""
        hint = f" ({self.hint})" if self.hint and not self.accepted else ""
        accepted = ", accepted" if self.accepted else ""
        return f"{where}{self.level}{accepted}: {self.code}: {self.message}{hint}"


def named(names: Sequence[str], *, most: int = 3) -> str:
    """Names for a message: the first few, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
