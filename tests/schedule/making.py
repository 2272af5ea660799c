"""Short ways to write a run down in a test, and to read one from a lock's fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from mixture.schedule import WHOLE, Batch, Domain, ScheduleData, Segment, apportion

ROOT = Path(__file__).resolve().parents[2]


def weights(shares: Sequence[int | str | Fraction]) -> tuple[int, ...]:
    """Integer weights from shares of any sum: numbers, or text such as "0.3" or "1/3"."""
    exact = [Fraction(share) for share in shares]
    whole = sum(exact)
    return tuple(apportion([share / whole for share in exact], WHOLE))


def make_run(
    domains: Mapping[str, int] | Sequence[Domain],
    segments: Sequence[tuple],
    batches: Sequence[tuple[int, int]] = ((0, 8),),
    *,
    seed: int = 0,
    block: int = 64,
    window: int = 64,
) -> ScheduleData:
    """A run from domains (name: tokens), segments (steps, length, shares[, skip]), batches (first, sequences)."""
    if isinstance(domains, Mapping):
        domains = [Domain(name, tokens) for name, tokens in domains.items()]
    made, step = [], 0
    for steps, length, shares, *skip in segments:
        made.append(Segment(step, steps, length, weights(shares), *skip))
        step += steps
    return ScheduleData(seed, block, window, tuple(domains), tuple(made), tuple(Batch(*batch) for batch in batches))


def from_fields(lock: Mapping) -> ScheduleData:
    """The order fields of a lock, as JSON gives them."""
    return ScheduleData(
        seed=lock["seed"],
        block_tokens=lock["block_tokens"],
        window_blocks=lock["window_blocks"],
        domains=tuple(Domain(d["name"], d["tokens"], d.get("pool_tokens")) for d in lock["domains"]),
        segments=tuple(
            Segment(s["first_step"], s["steps"], s["sequence_length"], tuple(s["weights"]), s.get("skip", 0))
            for s in lock["segments"]
        ),
        batches=tuple(Batch(b["first_step"], b["sequences"]) for b in lock["batches"]),
    )


def to_fields(data: ScheduleData) -> dict:
    """The order fields as a lock holds them: lists and plain integers, no pool where it is the whole."""
    fields = json.loads(json.dumps(asdict(data)))
    for domain in fields["domains"]:
        if domain["pool_tokens"] is None:
            del domain["pool_tokens"]
    for segment in fields["segments"]:
        if segment["skip"] == 0:
            del segment["skip"]
    return fields


def read_fields(path: Path) -> dict:
    """The fields of a lock file, unchecked."""
    return json.loads(path.read_text(encoding="utf-8"))


def lock_paths() -> list[Path]:
    """Every lock of the repository: of the mixtures, and of the golden files."""
    return sorted([*ROOT.glob("mixtures/*/mixture.lock.json"), *ROOT.glob("tests/golden/*.lock.json")])
