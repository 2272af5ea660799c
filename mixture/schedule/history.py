"""The digest of all that decides what a run reads before a step."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from mixture.json_text import digest
from mixture.schedule.fields import Batch, Domain, ScheduleData, Segment


def agreed_steps(a: ScheduleData, b: ScheduleData) -> int:
    """The first step that two schedules do not read alike; the shorter one's steps where they do to its end."""
    low, high = 0, min(a.steps, b.steps)
    probes = [min(_parted(a, b), high), min(_parted(a, b) + 1, high)]  # nearly always all that is to be looked at
    while low < high:
        middle = probes.pop(0) if probes else (low + high + 1) // 2
        if low < middle <= high:
            low, high = (middle, high) if history(a, middle) == history(b, middle) else (low, middle - 1)
    return low


def _parted(a: ScheduleData, b: ScheduleData) -> int:
    """The first step at which segments or batches are others; domains are not looked at."""
    return min(a.steps, b.steps, _first_other(a.segments, b.segments), _first_other(a.batches, b.batches))


def _first_other(a: Sequence[Segment | Batch], b: Sequence[Segment | Batch]) -> int:
    for x, y in zip(a, b, strict=False):
        if x == y:
            continue
        first = min(x.first_step, y.first_step)
        if isinstance(x, Segment) and isinstance(y, Segment) and replace(x, steps=y.steps) == y:
            return first + min(x.steps, y.steps)  # the longer one goes on where the other ends
        return first
    more = [*a[len(b) :], *b[len(a) :]]
    return more[0].first_step if more else sys.maxsize


def _domain(domain: Domain) -> dict[str, object]:
    known: dict[str, object] = {"name": domain.name, "tokens": domain.tokens}
    if domain.pool_tokens is not None:
        known["pool_tokens"] = domain.pool_tokens
    return known


def history(data: ScheduleData, step: int) -> str:
    """SHA-256 (lower-case hex): equal in all schedules that read the same before `step`."""
    segments, keep = data.segments_before(step), data.drawn_before(step)
    keeps_all = len(keep) == len(data.domains)
    known = {
        "format": 1,
        "step": step,
        "seed": data.seed,
        "block_tokens": data.block_tokens,
        "window_blocks": data.window_blocks,
        "domains": [_domain(data.domains[d]) for d in keep],
        "segments": [
            {
                "first_step": segment.first_step,
                "steps": min(segment.steps, step - segment.first_step),
                "skip": segment.skip,
                "sequence_length": segment.sequence_length,
                "weights": segment.weights if keeps_all else [segment.weights[d] for d in keep],
            }
            for segment in segments
        ],
        "batches": [
            {"first_step": batch.first_step, "sequences": batch.sequences}
            for batch in data.batches
            if batch.first_step < step
        ],
    }
    return digest(known)
