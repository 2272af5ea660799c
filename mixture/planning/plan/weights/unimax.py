"""UniMax (Chung et al. 2023, arXiv:2304.09151): tokens divided as evenly as can be, with no domain above its cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from math import floor


@dataclass(frozen=True, slots=True)
class Division:
    """What UniMax made of tokens: `full` have their epochs, `others` have `each` tokens, or one more.

    path: of the rule in the spec
    """

    path: str
    tokens: int
    max_epochs: Fraction
    full: tuple[str, ...]
    others: int
    each: int


def capped(total: int, caps: Sequence[int]) -> list[int]:
    """Whole tokens by domain that sum to `total`: each has its cap, or as many as all others without theirs.

    Those differ by one where they do not divide evenly: the earlier ones have the one more. The paper goes from the
    smallest domain up, and gives each its cap or an even share of what is left; so does this.

    caps: the most that each may have, at least 0; their sum is at least `total`
    """
    out = [0] * len(caps)
    left = total
    ascending = sorted(range(len(caps)), key=caps.__getitem__)
    for place, d in enumerate(ascending):
        others = len(caps) - place
        even, more = divmod(left, others)
        if caps[d] > even:
            for rank, free in enumerate(sorted(ascending[place:])):
                out[free] = even + (rank < more)
            return out
        out[d] = caps[d]
        left -= caps[d]
    return out


def epoch_caps(tokens: Sequence[int], max_epochs: Fraction) -> list[int]:
    """The whole tokens that so many epochs of each domain have."""
    return [floor(max_epochs * n) for n in tokens]


def least_epochs(total: int, tokens: Sequence[int]) -> Fraction:
    """Epochs, a number of six digits, at which the domains' caps hold `total` tokens; they hold at least one token."""
    whole = sum(tokens)
    up = Context(prec=6, rounding=ROUND_UP)
    least = Fraction(up.divide(Decimal(total), Decimal(whole)))
    if sum(epoch_caps(tokens, least)) >= total:
        return least
    # A cap leaves out less than a token of each domain.
    return Fraction(up.divide(Decimal(total + len(tokens)), Decimal(whole)))
