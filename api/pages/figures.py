"""Figures as pages print them. Exact ones stand beside them, in the data of the page and in titles."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

SHORT_UNITS = (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3))
NOTHING = "–"


def tokens(count: int | None) -> str:
    """Four digits and a decimal unit: `18.75T`, `92.39B`, `512`. Three would make 18.7T of a budget of 18.75T."""
    if count is None:
        return NOTHING
    for unit, size in SHORT_UNITS:
        # 999,960 is 1.000M: the unit follows from the rounded figure.
        if abs(count) >= size - size // 20000:
            return f"{_digits(Decimal(count) / size, 4)}{unit}"
    return str(count)


def integer(count: int | None) -> str:
    """Digits in groups of three: `390,251`."""
    return NOTHING if count is None else f"{count:,}"


def percent(share: float | None) -> str:
    """A share of 1 as a percentage of three digits: `7.52%`, `0.0012%`."""
    if share is None:
        return NOTHING
    if share == 0:
        return "0%"
    value = Decimal(repr(share)) * 100
    return "<0.0001%" if value < Decimal("0.0001") else f"{_digits(value, 3)}%"


def epochs(count: float | None) -> str:
    """Passes over a domain: `2.09`, `0.0412`."""
    if count is None:
        return NOTHING
    if 0 < count < 0.0001:
        return "<0.0001"
    return _digits(Decimal(repr(count)), 3) if count else "0"


def times(ratio: float | None) -> str:
    """A ratio: `1.8×`."""
    return NOTHING if ratio is None else f"{epochs(ratio)}×"


def _digits(value: Decimal, significant: int) -> str:
    """So many significant digits, never an exponent."""
    places = max(0, significant - 1 - value.adjusted())
    rounded = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    if places and rounded.adjusted() > value.adjusted():  # 9.996 is 10.0, not 10.00
        rounded = rounded.quantize(Decimal(1).scaleb(1 - places))
    return f"{rounded:,f}"
