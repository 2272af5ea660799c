"""Integers from exact shares, by largest remainder (Hamilton's method)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

WHOLE = 10**15
"""What the integer weights of a segment sum to."""


def apportion(weights: Sequence[Fraction], total: int) -> list[int]:
    """Integers that sum to `total`, each within one of ``weight * total``; equal remainders go to the earlier one.

    `weights` are exact and sum to exactly 1. Raises ValueError where they do not.
    """
    if sum(weights) != 1 or min(weights) < 0:
        raise ValueError(f"weights must be at least 0 and sum to exactly 1, got a sum of {sum(weights)}")
    shares = [weight * total for weight in weights]
    floors = [share.numerator // share.denominator for share in shares]
    by_remainder = sorted(range(len(shares)), key=lambda i: (floors[i] - shares[i], i))
    for i in by_remainder[: total - sum(floors)]:
        floors[i] += 1
    return floors
