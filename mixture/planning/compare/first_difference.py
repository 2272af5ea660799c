"""From which step two runs part, and why: which of the fields that decide it differ there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from mixture.lock import Mask
from mixture.schedule import Batch, ScheduleData, Segment, agreed_steps

T = TypeVar("T", Segment, Batch)


class Parting(StrEnum):
    """A field that differs, in words."""

    SEED = "the seed"
    BLOCK = "the block"
    WINDOW = "the window"
    LENGTH = "the sequence length"
    BATCH = "the batch"
    WEIGHTS = "the weights"
    SKIP = "the text left out"
    SIZES = "the tokens of domains"
    POOLS = "the pools of domains"
    DOMAINS = "the order of domains"
    START = "where a segment or a batch begins"


@dataclass(frozen=True, slots=True)
class TakenDown:
    """Text that one of two runs alone has taken down, from the first step on at which any of it is."""

    first_step: int
    a_tokens: int
    b_tokens: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two runs, of a_steps and b_steps, read alike.

    steps:       the first step that they do not read alike, or the shorter one's steps, by history
    parts_by:    what differs at that step; empty where one or both end there
    taken_down:  None where both hide the same text
    resume_step: a checkpoint of either up to and at this step goes on under the other: both read and hide the same
                 before it, of domains with the same text
    """

    a_steps: int
    b_steps: int
    steps: int
    parts_by: tuple[Parting, ...]
    taken_down: TakenDown | None
    resume_step: int

    @property
    def to_end(self) -> bool:
        """Whether they read the same to the end of the shorter one."""
        return self.steps == min(self.a_steps, self.b_steps)

    @property
    def is_whole(self) -> bool:
        """Whether every step of both reads the same sequences."""
        return self.steps == max(self.a_steps, self.b_steps)


def agreement_of(
    a: ScheduleData,
    b: ScheduleData,
    *,
    masks: tuple[Collection[Mask], Collection[Mask]] = ((), ()),
    retexted: Collection[str] = (),
) -> Agreement:
    """From which step two runs part, and in what.

    masks: of both; retexted: domains whose text is another
    """
    steps = agreed_steps(a, b)
    parts = steps < min(a.steps, b.steps)
    hidden = _taken_down(*map(set, masks))
    # Of domains with other text nothing may have been read: their first segment is as late as it can be.
    read = [
        segment.first_step
        for data in (a, b)
        for domain, weights in zip(data.domains, zip(*(one.weights for one in data.segments), strict=True), strict=True)
        if domain.name in retexted
        for segment, weight in zip(data.segments, weights, strict=True)
        if weight
    ]
    return Agreement(
        a.steps,
        b.steps,
        steps,
        tuple(_differing(a, b, steps)) if parts else (),
        hidden,
        min([steps, *read, *([hidden.first_step] if hidden else [])]),
    )


def _taken_down(a: set[Mask], b: set[Mask]) -> TakenDown | None:
    if a == b:
        return None
    tokens = [sum(mask.tokens for mask in own) for own in (a - b, b - a)]
    return TakenDown(min(mask.first_step for mask in a ^ b), *tokens)


def _differing(a: ScheduleData, b: ScheduleData, step: int) -> Iterator[Parting]:
    """What differs at the first step that the two do not read alike; both have the step."""
    whole = ((Parting.SEED, "seed"), (Parting.BLOCK, "block_tokens"), (Parting.WINDOW, "window_blocks"))
    found = [what for what, name in whole if getattr(a, name) != getattr(b, name)]
    s, t = _at(a.segments, step), _at(b.segments, step)
    m, n = _at(a.batches, step), _at(b.batches, step)
    found += [Parting.LENGTH] if s.sequence_length != t.sequence_length else []
    found += [Parting.BATCH] if m.sequences != n.sequences else []
    weights, other_weights = _weights(a, s), _weights(b, t)
    found += [Parting.WEIGHTS] if weights != other_weights else []
    found += [Parting.SKIP] if s.skip != t.skip else []
    for what, field in ((Parting.SIZES, "tokens"), (Parting.POOLS, "pool_tokens")):
        sizes, other_sizes = ({d.name: getattr(d, field) for d in data.domains} for data in (a, b))
        found += [what] if any(sizes[n] != other_sizes[n] for n in weights.keys() & other_weights.keys()) else []
    if not found:
        # Trees break ties by a domain's place.
        found = [Parting.DOMAINS if list(weights) != list(other_weights) else Parting.START]
    yield from found


def _at(held: tuple[T, ...], step: int) -> T:
    return next(part for part in reversed(held) if part.first_step <= step)


def _weights(data: ScheduleData, segment: Segment) -> dict[str, int]:
    named = zip(data.domains, segment.weights, strict=True)
    return {domain.name: weight for domain, weight in named if weight}
