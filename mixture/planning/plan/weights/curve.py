"""Quality curves: an upsampling factor that grows with quality, bounded at the top, its integral what is to be read.

The family and the search are those of Olmo 3 (arXiv 2512.13961; allenai/dolma3, `mixing_utils.py`). A pool of text lies
on [0, 1], worst first, each bucket as wide as its part of the pool's tokens. From a on, text at x is read
f(x) = C·(x - a)^p·e^(lambda·(x - a)) times, before a not at all; a bucket's factor is the mean of f over its width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise

from mixture.planning.plan.weights.powers import CONTEXT, power, quotient

POWERS = tuple(Fraction(1, 100) + Fraction(199, 1900) * i for i in range(20))
"""The p that are tried: 20 evenly from 0.01 to 2, as the published search does."""

LARGEST_LAMBDA = Fraction(2)

_HALVINGS = 40  # of lambda's range: to 2e-12; the published search stops at 1e-8
_SMALLEST_TERM = Decimal(10) ** -55


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve over the buckets of a pool, worst first.

    p, lam:   its parameters, both at least 0
    dropped:  how many buckets lie before it, and are not read
    begin:    a: the edge of the bucket where it begins
    scale:    C, to 50 digits
    shares:   what each bucket has of the tokens that are read; they sum to exactly 1
    factors:  tokens read ÷ tokens of the bucket: never less than in the bucket before
    """

    p: Fraction
    lam: Fraction
    dropped: int
    begin: Fraction
    scale: Fraction
    shares: tuple[Fraction, ...]
    factors: tuple[Fraction, ...]


def fitted(
    tokens: Sequence[int],
    wanted: Fraction,
    *,
    start: Fraction,
    max_factor: Fraction | None,
    p: Fraction | None = None,
    lam: Fraction | None = None,
) -> Curve:
    """The steepest curve that reads `wanted` tokens of a pool and no bucket more than `max_factor` times.

    p is the largest of `POWERS` that keeps to `max_factor` with a lambda of 0, or 0 where none does; lambda is then the
    largest up to `LARGEST_LAMBDA` that does. What is given is not searched for. Where nothing keeps to it, this is the
    flattest curve, and `factors[-1]` is above `max_factor`: that is for the caller to see.

    tokens: of each bucket, worst first; all above 0
    wanted: tokens to read, with repeats
    start:  below 1; buckets that lie wholly below it are not read: the curve begins where the first other one does
    """
    total = sum(tokens)
    edges = [Fraction(edge, total) for edge in accumulate(tokens, initial=0)]
    dropped = sum(edge <= start for edge in edges[1:])
    begin = edges[dropped]
    width = 1 - begin
    kept = [(edge - begin) / width for edge in edges[dropped:]]

    def keeps(p: Fraction, lam: Fraction) -> bool:
        best = 1 - _part_below(kept[-2], p, lam * width)
        return max_factor is None or best * wanted <= max_factor * tokens[-1]

    if p is None:
        p = next((one for one in reversed(POWERS) if keeps(one, lam or Fraction(0))), Fraction(0))
    if lam is None:
        found = p
        lam = _largest(lambda one: keeps(found, one))
    below = [_part_below(edge, p, lam * width) for edge in kept]
    shares = (*[Fraction(0)] * dropped, *(right - left for left, right in pairwise(below)))
    factors = tuple(share * wanted / amount for share, amount in zip(shares, tokens, strict=True))
    return Curve(p, lam, dropped, begin, wanted / total / _integral(width, p, lam), shares, factors)


def _largest(keeps: Callable[[Fraction], bool]) -> Fraction:
    """The largest lambda that keeps to the bound, or 0, by halving: a larger lambda puts more into the last bucket."""
    if keeps(LARGEST_LAMBDA):
        return LARGEST_LAMBDA
    low, high = 0, 1 << _HALVINGS
    step = LARGEST_LAMBDA / high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle * step) else (low, middle)
    return low * step


def _part_below(v: Fraction, p: Fraction, lam: Fraction) -> Fraction:
    """The part of the integral of t^p·e^(lambda·t) over [0, 1] that lies below v."""
    if v in (0, 1):
        return v
    if not lam and p.denominator == 1:
        exact: Fraction = v ** (p.numerator + 1)
        return exact
    with localcontext(CONTEXT):
        return Fraction(power(v, p + 1) * _series(lam * v, p) / _series(lam, p))


def _integral(width: Fraction, p: Fraction, lam: Fraction) -> Fraction:
    """The integral of t^p·e^(lambda·t) over [0, width]."""
    with localcontext(CONTEXT):
        return Fraction(power(width, p + 1) * _series(lam * width, p))


def _series(y: Fraction, p: Fraction) -> Decimal:
    """The sum over n of y^n / (n!·(n + p + 1)): the integral of t^p·e^(y·t) over [0, 1]. All terms are positive."""
    with localcontext(CONTEXT):
        at, above = quotient(y), quotient(p + 1)
        term, out, n = Decimal(1), 1 / above, 0
        while term > out * _SMALLEST_TERM:
            n += 1
            term = term * at / n
            out += term / (n + above)
        return out
