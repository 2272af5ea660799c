"""How far two mixtures are apart, whatever their sizes: amounts by name are divided by their sums first.

Both distances are 0 for the same shares and 1 where no name has a share in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction

Amounts = Mapping[str, int] | Mapping[str, Fraction]
"""Tokens, or exact shares, by domain; at least one is above 0, none below."""

DIGITS = 25
"""Of a distance that has no end: worked out in decimals, it is the same on every machine."""


def half_l1(amounts: Amounts, other: Amounts) -> Fraction:
    """Half the sum of the absolute differences of shares: the part of the tokens that would have to be exchanged.

    Exact. Also called the total variation distance.
    """
    whole, other_whole = _whole(amounts), _whole(other)
    # Over one denominator: integers are divided once, at the end.
    apart = sum(
        abs(amounts.get(name, 0) * other_whole - other.get(name, 0) * whole) for name in amounts.keys() | other.keys()
    )
    return Fraction(apart) / (2 * whole * other_whole)


def hellinger(amounts: Amounts, other: Amounts) -> Decimal:
    """The square root of 1 - Σ √(p·q) over shares p and q, in `DIGITS` decimals.

    It looks at small shares more closely than half the L1 distance does.
    """
    context = Context(prec=2 * DIGITS + 10)
    whole = _whole(amounts) * _whole(other)
    alike = Decimal(0)
    for name in sorted(amounts.keys() & other.keys()):
        root = context.sqrt(_decimal(Fraction(amounts[name] * other[name]) / whole, context))
        alike = context.add(alike, root)
    left = max(context.subtract(Decimal(1), alike), Decimal(0))
    # The digits behind are of the roundings above: equal shares are at 0.
    settled = left.quantize(Decimal(1).scaleb(-2 * DIGITS), context=context)
    return Context(prec=DIGITS).sqrt(settled)


def _whole(amounts: Amounts) -> Fraction:
    whole = Fraction(sum(amounts.values()))
    if whole <= 0:
        raise ValueError("amounts without a sum above 0 have no shares")
    return whole


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
