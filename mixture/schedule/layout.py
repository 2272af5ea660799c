"""Where each domain stands at the start of every stretch: follows the run once, a segment at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mixture.schedule.fields import Batch, ScheduleData, Segment
from mixture.schedule.order import DomainOrder
from mixture.schedule.permute import I64, key64
from mixture.schedule.step_slots import Stretch
from mixture.schedule.tree import Tree


@dataclass(frozen=True, slots=True)
class SegmentHandoff:
    """Tokens that each domain leaves unread where a segment begins: at a change of length, or a skip."""

    first_step: int
    tokens_skipped: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaidSegment:
    """A segment with its stretches, and where every domain stands behind it.

    parts:       first step, end and batch of each stretch
    drawn:       sequences of each domain before the run's every stretch of it, and behind the last: int64 [domains]
    last_length: the length each domain was last drawn with, 0 where it was not yet: int64 [domains]
    next_draw:   its next draw of that length: int64 [domains]
    """

    segment: Segment
    parts: tuple[tuple[int, int, Batch], ...]
    tree: Tree
    stretches: tuple[Stretch, ...]
    drawn: tuple[I64, ...]
    handoff: SegmentHandoff
    last_length: I64
    next_draw: I64

    @property
    def origin(self) -> int:
        """The item of the tree that comes after the segment's last sequence."""
        return self.stretches[-1].origin + self.stretches[-1].sequences


def lay_segments(
    data: ScheduleData, order: Callable[[int, int], DomainOrder], known: Sequence[LaidSegment] = ()
) -> list[LaidSegment]:
    """Lay out all segments. Those that a schedule of the same domains has laid before (`known`) are taken over."""
    laid: list[LaidSegment] = []
    for i, segment in enumerate(data.segments):
        parts = _parts(data, segment)
        is_known = len(laid) == i < len(known) and (known[i].segment, known[i].parts) == (segment, parts)
        if is_known and (i == 0 or laid[-1] is known[i - 1]):
            laid.append(known[i])
        else:
            laid.append(_lay(data, order, segment, parts, laid[-1] if laid else None))
    return laid


def _parts(data: ScheduleData, segment: Segment) -> tuple[tuple[int, int, Batch], ...]:
    """The segment's steps by batch."""
    batches = data.batches_of(range(segment.first_step, segment.end_step))
    bounds = [segment.first_step, *(batch.first_step for batch in batches[1:]), segment.end_step]
    return tuple((a, b, batch) for (a, b), batch in zip(pairwise(bounds), batches, strict=True))


def _lay(
    data: ScheduleData,
    order: Callable[[int, int], DomainOrder],
    segment: Segment,
    parts: tuple[tuple[int, int, Batch], ...],
    before: LaidSegment | None,
) -> LaidSegment:
    num, length = len(data.domains), segment.sequence_length
    last_length = np.zeros(num, dtype=np.int64) if before is None else before.last_length.copy()
    next_draw = np.zeros(num, dtype=np.int64) if before is None else before.next_draw.copy()
    base = np.where(last_length == length, next_draw, 0)
    left_out = np.zeros(num, dtype=np.int64)
    moving = (last_length > 0) & (last_length != length) & (np.array(segment.weights) > 0)
    for d in np.flatnonzero(moving).tolist():
        handoff = order(d, int(last_length[d])).next_window(int(next_draw[d]))
        left_out[d] = handoff.skipped * last_length[d]
        base[d] = order(d, length).first_draw(handoff.epoch, handoff.window)
    origin, used = 0, np.zeros(num, dtype=np.int64)
    if segment.skip and before is not None:
        tree, origin = before.tree, before.origin + segment.skip
        used = tree.counts(origin) - tree.counts(before.origin)
        base += used
        left_out += used * length
    else:
        tree = Tree(segment.weights, key64(data.seed, "split", segment.first_step))
    for d in tree.leaves.tolist():
        order(d, length)  # refuses a domain that has no whole sequence
    stretches: list[Stretch] = []
    drawn = [np.zeros(num, dtype=np.int64) if before is None else before.drawn[-1]]
    for first, following, batch in parts:
        stretch = Stretch(
            data.seed, tree, origin=origin, length=length, first_step=first, steps=following - first,
            batch=batch.sequences, base=base,
        )  # fmt: skip
        here = stretch.drawn(stretch.steps)
        base, used = base + here, used + here
        stretches.append(stretch)
        drawn.append(drawn[-1] + here)
        origin += stretch.sequences
    # A domain of which the segment reads and skips nothing stays where it was, and leaves nothing out.
    last_length[used > 0] = length
    next_draw[used > 0] = base[used > 0]
    left_out[used == 0] = 0
    return LaidSegment(
        segment=segment,
        parts=parts,
        tree=tree,
        stretches=tuple(stretches),
        drawn=tuple(drawn),
        handoff=SegmentHandoff(segment.first_step, tuple(left_out.tolist())),
        last_length=last_length,
        next_draw=next_draw,
    )
