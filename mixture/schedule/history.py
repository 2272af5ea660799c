"""The digest of all that decides what a run reads before a step."""

from __future__ import annotations

from mixture.json_text import digest
from mixture.schedule.fields import Domain, ScheduleData


def agreed_steps(a: ScheduleData, b: ScheduleData) -> int:
    """The first step that two schedules do not read alike; the shorter one's steps where they do to its end."""
    low, high = 0, min(a.steps, b.steps)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if history(a, middle) == history(b, middle) else (low, middle - 1)
    return low


def _domain(domain: Domain) -> dict[str, object]:
    known: dict[str, object] = {"name": domain.name, "tokens": domain.tokens}
    if domain.pool_tokens is not None:
        known["pool_tokens"] = domain.pool_tokens
    return known


def history(data: ScheduleData, step: int) -> str:
    """SHA-256 (lower-case hex): equal in all schedules that read the same before `step`."""
    segments = [segment for segment in data.segments if segment.first_step < step]
    keep = [d for d in range(len(data.domains)) if any(segment.weights[d] for segment in segments)]
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
                "weights": [segment.weights[d] for d in keep],
            }
            for segment in segments
        ],
        "batches": [
            {"first_step": batch.first_step, "sequences": batch.sequences, "mix_steps": batch.mix_steps}
            for batch in data.batches
            if batch.first_step < step
        ],
    }
    return digest(known)
