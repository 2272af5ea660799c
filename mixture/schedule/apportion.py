"""Integers from exact shares, by largest remainder (Hamilton's method)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

WHOLE = 10**15
"""What the integer weights of a segment sum to."""


def apportion(weights: Sequence[Fraction], total: int) -> list[int]:
    """Integers that sum to `total`, each within one of ``weight * total``; equal remainders go to the earlier one.

    `weights` are exact and sum to exactly 1. Raises ValueError where they do not.
    """
    common = lcm(*(weight.denominator for weight in weights))
    scaled = [weight.numerator * (common // weight.denominator) for weight in weights]
    if sum(scaled) != common or min(scaled) < 0:
        raise ValueError("weights must be at least 0 and sum to exactly 1")
    return apportion_amounts(scaled, total)


def apportion_amounts(amounts: Sequence[int], total: int) -> list[int]:
    """The same of weights that are amounts, at least 0, of which one is above 0: each has its part of their sum."""
    whole = sum(amounts)
    parts = [divmod(amount * total, whole) for amount in amounts]
    out = [floor for floor, _ in parts]
    by_remainder = sorted(range(len(parts)), key=lambda i: (-parts[i][1], i))
    for i in by_remainder[: total - sum(out)]:
        out[i] += 1
    return out
