"""What a long run asks of a stream: its first batch wherever it begins, and memory that does not grow."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.peers.loader import Loader, Running
from benchmarks.peers.text import Text
from benchmarks.stream import MARIN, RANKS, seconds
from mixture.data.store import open_store, write_holes
from mixture.lock import read_lock
from mixture.stream import open_stream


@dataclass(frozen=True, slots=True)
class LongRun:
    """A run of so many sequences: milliseconds to open lock, store and stream and to read one rank's first batch."""

    sequences: int
    ranks: int
    first_step_ms: float
    last_step_ms: float


def first_batches(folder: Path, rounds: int) -> LongRun:
    """At the first and at the last step of marin-535b-a23b, over files of holes in the size of its catalog."""
    lock = read_lock(MARIN)
    holes = folder / "holes"
    if not holes.exists():
        domains = {domain.name: domain.tokens for domain in lock.data.domains}
        write_holes(holes, domains, file_tokens=1 << 42, tokenizer=lock.tokenizer or "holes")

    def open_and_read(step: int) -> None:
        next(open_stream(read_lock(MARIN), open_store(holes), 0, RANKS, step))

    schedule = lock.schedule()
    times: dict[int, list[float]] = {0: [], schedule.steps - 1: []}
    for _ in range(rounds):
        for step, kept in times.items():
            kept.append(seconds(partial(open_and_read, step)) * 1e3)
    first, last = map(statistics.median, times.values())
    return LongRun(schedule.num_sequences, RANKS, first, last)


def memory(text: Text, rows: int, epochs: int) -> list[float]:
    """Anonymous and shared memory of a process, in MB, after each pass over the text."""
    one = Running(Loader("memory", "ours"), text.folder, {})
    try:
        batches = text.num_rows // rows
        answer = one.ask(question="epochs", way="in process", rows=rows, epochs=epochs, batches=batches)
        found: list[float] = answer["anonymous_mb"]
        return found
    finally:
        one.stop()
