"""Caps on epochs: how much of a domain is drawn past what its cap lets through."""

from __future__ import annotations

from fractions import Fraction
from math import floor


def tokens_over_cap(drawn: int, tokens: int, cap: Fraction | None) -> int:
    """The tokens that are drawn of a domain past its cap, exact; 0 where it is not read too often.

    drawn: tokens drawn, with repeats; tokens: those that the domain holds; cap: the epochs it may be read, None: any
    """
    return 0 if cap is None else max(0, drawn - floor(cap * tokens))
