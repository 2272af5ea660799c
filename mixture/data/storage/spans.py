"""Ranges of bytes of objects: which are asked for together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from mixture.data.storage.facts import StoredObject

NEAR_BYTES = 1 << 16
"""Bytes between two spans that may be read along rather than asked for apart, where they are fewer than the next span
has: a request costs some 10 to 30 ms, and a connection gives these in 1. So no more than half of a body is thrown away,
and no block is read along with others."""
MOST_BYTES = 1 << 22
"""Of one request, but for a span that is larger itself: what is larger comes sooner as several at a time."""


class Span(NamedTuple):
    """Bytes of an object, from `start` up to `stop`. A tuple: thousands a second are looked up."""

    object: StoredObject
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many bytes."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Run:
    """Spans of one object, in order, that one request gets."""

    spans: tuple[Span, ...]

    @property
    def whole(self) -> Span:
        """From the first one's start to the last one's end."""
        return Span(self.spans[0].object, self.spans[0].start, max(span.stop for span in self.spans))


def runs(spans: Iterable[Span]) -> Iterator[Run]:
    """Put spans together that are near (NEAR_BYTES), up to MOST_BYTES in all."""
    kept: list[Span] = []
    stop = 0
    for span in sorted(set(spans), key=_ORDER):
        if kept and (
            span.object != kept[0].object
            or span.start - stop >= min(NEAR_BYTES, span.size)
            or max(stop, span.stop) - kept[0].start > MOST_BYTES
        ):
            yield Run(tuple(kept))
            kept = []
        stop = max(stop, span.stop) if kept else span.stop
        kept.append(span)
    if kept:
        yield Run(tuple(kept))


_ORDER = attrgetter("object.address.root", "object.address.path", "start", "stop")
