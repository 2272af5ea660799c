"""Weights become integers: the exact shares of phases and stairs, as a lock and the schedule have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import lcm

from mixture.planning.plan.transitions import Part
from mixture.schedule import WHOLE, apportion_amounts


def integer_weights(parts: Sequence[Part], num_domains: int) -> list[tuple[int, ...]]:
    """The weights of each part as a lock has them: integers that sum to 10^15, by largest remainder.

    What the parts of a phase lie between is brought to one denominator once: fractions of a thousand stairs would be
    reduced one by one.
    """
    weights: list[tuple[int, ...]] = []
    for _, group in groupby(parts, key=lambda part: part.laid.index):
        stairs = list(group)
        old, new = (side.dense(num_domains) for side in (stairs[0].old, stairs[0].new))
        common = lcm(*(share.denominator for share in (*old, *new)))
        pairs = [tuple(x.numerator * (common // x.denominator) for x in pair) for pair in zip(old, new, strict=True)]
        for part in stairs:
            done, whole = part.toward.as_integer_ratio()
            amounts = [before * (whole - done) + after * done for before, after in pairs]
            weights.append(tuple(apportion_amounts(amounts, WHOLE)))
    return weights
