"""What a request accepts: the media ranges of `Accept` (RFC 9110, 12.5.1), and which of some kinds is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixture.api.middleware.problems import Problem

LONGEST_SHOWN = 100
MOST_RANGES = 64
"""The next ones are not read: browsers send up to ten."""


@dataclass(frozen=True, slots=True)
class _Range:
    media: str
    weight: float
    place: int

    def precision(self, kind: str) -> int:
        """How closely it names a kind: 3 by its name, 2 by its type, 1 as anything; 0 not at all."""
        if self.media == kind:
            return 3
        if self.media == f"{kind.split('/')[0]}/*":
            return 2
        return 1 if self.media == "*/*" else 0


def _ranges(header: str) -> list[_Range]:
    found = []
    for place, part in enumerate(header.split(",", MOST_RANGES)[:MOST_RANGES]):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        said = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        try:
            weight = min(max(float(said), 0.0), 1.0)
        except ValueError:
            weight = 0.0
        found.append(_Range(media, weight, place))
    return found


def best_of(header: str | None, kinds: Sequence[str]) -> str | None:
    """The kind that a request likes best; None where it takes none of them.

    Of several ranges that a kind is in, the most specific holds: `*/*, application/json;q=0.1` likes all else better
    than JSON. Kinds that are liked the same are in order of the ranges that name them, then in their own.
    """
    ranges, best = _ranges(header or "*/*"), None
    for order, kind in enumerate(kinds):
        held = max(ranges, key=lambda one: one.precision(kind))
        if held.precision(kind) and held.weight:
            found = (-held.weight, held.place, order)
            best = found if best is None else min(best, found)
    return None if best is None else kinds[best[2]]


def not_acceptable(detail: str, kinds: Sequence[str]) -> Problem:
    """The problem 406, with the kinds that there are."""
    return Problem(406, detail, hint="Accept: " + ", ".join(kinds), facts={"offered": list(kinds)})


def required(header: str | None, kinds: Sequence[str]) -> str:
    """`best_of`. Raises Problem 406 `not-acceptable` where the request takes none."""
    best = best_of(header, kinds)
    if best is None:
        shown = (header or "")[:LONGEST_SHOWN]
        raise not_acceptable(f"nothing here is of the kind {shown!r}", kinds)
    return best
