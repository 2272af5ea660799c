"""Temperature: shares in proportion to tokens^(1/T), as seqio and mT5 define it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mixture.planning.plan.weights.powers import power


def softened(tokens: Sequence[int], temperature: Fraction) -> list[Fraction]:
    """tokens^(1/temperature) as parts of the largest, 1; 0 for 0 tokens. Exact at 1, else to 50 digits.

    temperature: above 0
    """
    largest = max(tokens, default=0)
    if temperature == 1 or not largest:
        return [Fraction(n, largest or 1) for n in tokens]
    parts = {0: Fraction(0)}
    for n in set(tokens) - {0}:
        parts[n] = Fraction(power(Fraction(n, largest), 1 / temperature))
    return [parts[n] for n in tokens]
