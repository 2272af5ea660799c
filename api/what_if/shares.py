"""A share as one asks for it: of a phase, or points that are added to the present one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from api.middleware import Problem
from mixture.errors import UnitError
from mixture.planning.plan import decimal
from mixture.planning.spec import SUM_TOLERANCE
from mixture.units import Unit, parse_quantity

_POINTS = re.compile(r"\s*(?P<sign>[-+\u2212])\s*(?P<number>[^%]*?)\s*(?:%|points?|pp)?\s*")


@dataclass(frozen=True, slots=True)
class Points:
    """What is added to a share, below 0 taken off; as a share: 10 points are 0.1."""

    value: Fraction

    def __str__(self) -> str:
        return f"{'+' if self.value >= 0 else ''}{decimal(self.value * 100, digits=6)} points"


Asked = Fraction | Points


def read_share(name: str, text: str) -> Asked:
    """Read `10%`, `0.1`, or `+10`, `-5%`, `+10 points`. name: whose share it is.

    Raises Problem 422: what the text has wrong, and `share-above-one` for a number above 1 that names no unit.
    """
    points = _POINTS.fullmatch(text)
    try:
        if points is not None:
            value = parse_quantity(f"{points['number']}%", units=(Unit.PERCENT,)).value
            return Points(value if points["sign"] == "+" else -value)
        share = parse_quantity(text, units=(Unit.PERCENT,), bare=Unit.PERCENT).value
    except UnitError as error:
        raise Problem(422, f"{name!r}: {error.message}", code=error.code, hint=error.hint) from error
    if share > 1 + SUM_TOLERANCE and "%" not in text:
        detail = f"{name!r}: {text.strip()} without a unit is {decimal(share * 100, digits=6)}%"
        raise Problem(422, detail, code="share-above-one", hint=f"did you mean '{text.strip()}%'?")
    return share


def share_of(name: str, asked: Asked, present: Fraction) -> Fraction:
    """The share that is asked for, where the present one is this. Raises Problem 422 `share-below-zero`."""
    share = present + asked.value if isinstance(asked, Points) else asked
    if share < 0:
        detail = f"{name!r}: {asked} from {decimal(present * 100, digits=6)}% is below 0"
        raise Problem(422, detail, code="share-below-zero", hint="0% takes all of it off")
    return share


def share_text(asked: Asked) -> str:
    """What is asked for, short."""
    return str(asked) if isinstance(asked, Points) else f"{decimal(asked * 100, digits=6)}%"
