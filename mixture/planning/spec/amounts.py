"""Shares that sum to one, or amounts of tokens: what the entries of a map and the groups of a list have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import Place
from mixture.planning.yamlfile import refuse
from mixture.units import Quantity, Unit, format_exact, quote

SUM_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Amount:
    """A share or an amount of tokens, whose it is, and where it stands."""

    name: str
    quantity: Quantity
    place: Place


@dataclass(frozen=True, slots=True)
class Settled:
    """Amounts of one unit, in the order given: shares that sum to exactly 1, or tokens as written."""

    unit: Unit
    values: tuple[Fraction, ...]
    written_sum: Fraction


def settle(amounts: Sequence[Amount], place: Place) -> Settled:
    """Shares divided by their exact sum, which is 1 within 1e-9; or amounts of tokens. 0 fits with both.

    Raises SpecError where the two are mixed, where all are 0, and where shares sum to something else.
    """
    above = [amount for amount in amounts if amount.quantity.value]
    if not above:
        refuse(place, "all weights are 0", code="weights-all-zero", hint="at least one above 0 is right here")
    first = above[0]
    other = next((amount for amount in above if amount.quantity.unit is not first.quantity.unit), None)
    if other is not None:
        share, tokens = (first, other) if first.quantity.unit is Unit.PERCENT else (other, first)
        message = f"{quote(share.name)} is a share, {quote(tokens.name)} an amount of tokens"
        refuse(other.place, message, code="weights-mixed", hint="all are shares, or all are tokens")
    values = tuple(amount.quantity.value for amount in amounts)
    total = sum(values, Fraction(0))
    if first.quantity.unit is Unit.TOKENS:
        return Settled(Unit.TOKENS, values, total)
    if abs(total - 1) > SUM_TOLERANCE:
        message = f"the shares sum to {format_exact(total)} ({format_exact(100 * total)}%)"
        refuse(place, message, code="weights-sum", hint=_right_shares(amounts, total), sum=total)
    return Settled(Unit.PERCENT, tuple(value / total for value in values), total)


_SHOWN = 5
_DIGITS = 12  # after the point: those of a thousand shares are together within SUM_TOLERANCE


def _right_shares(amounts: Sequence[Amount], total: Fraction) -> str:
    """What to write instead: of parts in whole numbers, as 3 to 1, what they come to."""
    tokens = "an amount of tokens has a unit or a suffix, as in 4.51T"
    if total < 1 or any(amount.quantity.value.denominator != 1 for amount in amounts):
        return f"they sum to 1 or 100%; {tokens}"
    shares = [
        f"{amount.name}: {format_exact(round(amount.quantity.value / total, _DIGITS))}" for amount in amounts[:_SHOWN]
    ]
    more = f" and {len(amounts) - _SHOWN:,} more" if len(amounts) > _SHOWN else ""
    return f"divide by {format_exact(total)}: {', '.join(shares)}{more}; {tokens}"
