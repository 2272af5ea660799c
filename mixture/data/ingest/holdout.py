"""Which documents are held out: those whose chance, a keyed hash of their id, is below a bound.

A document's chance follows from the seed and its id alone, so that it stays on its side whatever comes to a domain, and
the same document of two domains is held out of both. Documents with one id are on one side.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mixture.planning.yamlfile import Key, Keys, Node, count, number, read_share, read_tokens, refuse
from mixture.units import Unit

CHANCES = 2**64
"""Chances are from 0 below this."""
_BUCKETS = 2**16


@dataclass(frozen=True, slots=True)
class Holdout:
    """How much of a domain is held out.

    share: of its documents, each taken with this probability, exactly
    most:  tokens that are held out, ends of documents counted; None: any number
    """

    share: Fraction
    most: int | None

    @property
    def bound(self) -> int:
        """Documents whose chance is below may be held out; all of them are where `most` does not cut."""
        return -(-self.share.numerator * CHANCES // self.share.denominator) if self.most != 0 else 0


NOTHING = Holdout(Fraction(0), None)


@dataclass(frozen=True, slots=True)
class Holdouts:
    """How much of each domain is held out: by name, and of all others."""

    own: Mapping[str, Holdout]
    others: Holdout

    def of(self, domain: str) -> Holdout:
        """How much of a domain."""
        return self.own.get(domain, self.others)


def read_holdout(node: Node) -> Holdout:
    """`{share: 0.1%, max: 10M tokens}`. Raises SpecError."""
    fields = HOLDOUT.read(node)
    return Holdout(fields["share"], fields.get("max"))


def _read_share(node: Node) -> Fraction:
    share = read_share(node)
    if share > 1:
        refuse(node.place, "more than all documents can not be held out", code="out-of-range", hint="at most 100%")
    return share


HOLDOUT = Keys(
    {
        "share": Key(_read_share, number([Unit.PERCENT], minimum=0, maximum=1), "Of the documents.", ("0.1%",)),
        "max": Key(read_tokens, count([Unit.TOKENS], least=0), "Tokens at most, of each domain.", ("10M tokens",)),
    },
    required=("share",),
)
"""The keys of `holdout`."""


class Chances:
    """The chances of documents under a seed: the first 8 bytes of BLAKE2b over seed and id."""

    def __init__(self, seed: int) -> None:
        self._base = hashlib.blake2b(f"mixture-holdout/1\x1f{seed}\x1f".encode(), digest_size=8)

    def of(self, identity: str) -> int:
        """The chance of the document with this id."""
        key = self._base.copy()
        key.update(identity.encode())
        return int.from_bytes(key.digest(), "big")


Parts = Callable[[], Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]]


def cut(parts: Parts, *, bound: int, most: int) -> int:
    """The bound below which documents, taken by the smallest chance first, have at most `most` tokens; 0: none fits.

    Documents with one chance are taken together, or not. parts: chance and tokens of documents below `bound`, no
    document twice; gone through twice, in memory that does not grow with their number.
    """
    width = np.uint64(-(-bound // _BUCKETS))
    sums = np.zeros(_BUCKETS, np.int64)
    for chance, tokens in parts():
        np.add.at(sums, (chance // width).astype(np.int64), tokens)
    ends = np.cumsum(sums)
    bucket = int(np.searchsorted(ends, most, side="right"))
    if bucket == _BUCKETS:
        return bound
    left = most - int(ends[bucket] - sums[bucket])
    inside: Counter[int] = Counter()
    for chance, tokens in parts():
        mine = chance // width == bucket
        for value, size in zip(chance[mine].tolist(), tokens[mine].tolist(), strict=True):
            inside[value] += size
    for value, size in sorted(inside.items()):
        left -= size
        if left < 0:
            return value if left + size < most else 0
    raise AssertionError("the bucket holds more than is left")
