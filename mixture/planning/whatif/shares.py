"""A share in a change: the new share itself, or points that are added to the present share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import SpecError, UnitError
from mixture.planning.spec import SUM_TOLERANCE
from mixture.units import Unit, decimal, parse_quantity, percent

_POINTS = re.compile(r"\s*(?P<sign>[-+\u2212])\s*(?P<number>[^%]*?)\s*(?:%|points?|pp)?\s*")


@dataclass(frozen=True, slots=True)
class Points:
    """Percentage points to add to a share; below 0 they are taken off. The value is a share: 10 points are 0.1."""

    value: Fraction

    def __str__(self) -> str:
        return f"{'+' if self.value >= 0 else ''}{decimal(self.value * 100, digits=6)} points"


Share = Fraction | Points


def parse_share(name: str, text: str) -> Share:
    """Read `10%`, `0.1`, or `+10`, `-5%`, `+10 points`. name: of the domain or group, for messages.

    Raises SpecError: the code of the UnitError, or `share-above-one` for a number above 1 without a unit.
    """
    points = _POINTS.fullmatch(text)
    try:
        if points is not None:
            value = parse_quantity(f"{points['number']}%", units=(Unit.PERCENT,)).value
            return Points(value if points["sign"] == "+" else -value)
        share = parse_quantity(text, units=(Unit.PERCENT,), bare=Unit.PERCENT).value
    except UnitError as error:
        raise SpecError(f"{name!r}: {error.message}", code=error.code, hint=error.hint) from error
    if share > 1 + SUM_TOLERANCE and "%" not in text:
        message = f"{name!r}: {text.strip()} without a unit is {percent(share, digits=6)}"
        raise SpecError(message, code="share-above-one", hint=f"did you mean '{text.strip()}%'?")
    return share


def share_after(name: str, change: Share, present: Fraction) -> Fraction:
    """The share after a change to the present one. Raises SpecError, `share-below-zero`."""
    share = present + change.value if isinstance(change, Points) else change
    if share < 0:
        message = f"{name!r}: {change} from {percent(present, digits=6)} is below 0"
        raise SpecError(message, code="share-below-zero", hint="0% takes all of it off")
    return share


def format_share(change: Share) -> str:
    """A share or points, short."""
    return str(change) if isinstance(change, Points) else percent(change, digits=6)
