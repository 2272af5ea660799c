"""Print a digest of what some runs read: `python tests/schedule/print_digest.py LOCK…`. The same everywhere."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import fields
from pathlib import Path

from making import from_fields

from mixture.schedule import Rows, Schedule


def digest(schedule: Schedule) -> str:
    """Of 20,000 rows at the beginning, in the middle and at the end, and of counts, finds, handoffs and histories."""
    seen = hashlib.sha256()
    count = min(20_000, schedule.num_sequences)
    for start in (0, (schedule.num_sequences - count) // 2, schedule.num_sequences - count):
        rows = schedule.rows(start, count)
        for field in fields(Rows):
            seen.update(getattr(rows, field.name).astype("<i8").tobytes())
        seen.update(str(schedule.find(schedule.names[rows.domain[0]], int(rows.first_token[0]))).encode())
    for step in (0, schedule.steps // 3, schedule.steps):
        seen.update(str((schedule.counts(step).tolist(), schedule.history(step))).encode())
    seen.update(str([handoff.tokens_skipped for handoff in schedule.handoffs()]).encode())
    return seen.hexdigest()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        lock = json.loads(Path(name).read_text(encoding="utf-8"))
        print(digest(Schedule(from_fields(lock))), Path(name).parent.name)
