"""Figures as pages print them. Exact ones stand beside them, in the data of the page and in titles."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

SHORT_UNITS = (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3))
NOTHING = "–"
_LEAST = Decimal("0.0001")
_LONGEST = 24  # digits; a decimal has 28


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
    if share is None or not math.isfinite(share):
        return NOTHING
    return f"{_small(Decimal(repr(share)) * 100)}%"


def epochs(count: float | None) -> str:
    """Passes over a domain: `2.09`, `0.0412`."""
    if count is None or not math.isfinite(count):
        return NOTHING
    return _small(Decimal(repr(count)))


def times(ratio: float | None) -> str:
    """A ratio: `1.8×`."""
    shown = epochs(ratio)
    return shown if shown == NOTHING else f"{shown}×"


def loss(value: float | None) -> str:
    """A loss of four digits, `2.314`; `NaN` and `Infinity` where it diverged."""
    if value is None or math.isfinite(value):
        return NOTHING if value is None else f"{value:.4g}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "−Infinity"


def _small(value: Decimal) -> str:
    """Three digits, or that it is nearer to 0 than pages show."""
    if not value:
        return "0"
    if abs(value) < _LEAST:
        return f"<{_LEAST}" if value > 0 else f">-{_LEAST}"
    return _digits(value, 3)


def _digits(value: Decimal, significant: int) -> str:
    """So many significant digits, without an exponent where they can be read: `1,235`, `1.00e308`."""
    if value.adjusted() >= _LONGEST:
        return f"{value:.{significant - 1}e}".replace("e+", "e")
    places = max(0, significant - 1 - value.adjusted())
    rounded = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    if places and rounded.adjusted() > value.adjusted():  # 9.996 is 10.0, not 10.00
        rounded = rounded.quantize(Decimal(1).scaleb(1 - places))
    return f"{rounded:,f}"
