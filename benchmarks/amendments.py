"""How long it takes to amend, compare and scale down a run, and what a thousand amendments come to.

    python -m benchmarks.amendments [--json] [--rounds N] [--amendments N]

Commands are timed from the start of their process, on marin-535b-a23b (200 domains), beside `python -c pass` in the
same rounds. Amendments in a row change the weights of all 200 domains at every step, as online mixing does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from mixture.lock import lock_text, read_lock
from mixture.planning.amend import amend
from mixture.schedule import WHOLE

ROOT = Path(__file__).resolve().parents[1]
MARIN = ROOT / "mixtures" / "marin-535b-a23b"
RUNGS = ("47.9B:1024", "128.1B:2048", "380.7B:6144", "926.1B:11264")


@dataclass(frozen=True, slots=True)
class Command:
    """Seconds from the start of the process to its end: median and worst of the rounds."""

    command: str
    median_s: float
    worst_s: float


@dataclass(frozen=True, slots=True)
class InARow:
    """Milliseconds of one amendment at some number of them, and the size of the lock then."""

    amendments: int
    median_ms: float
    lock_mb: float
    read_s: float


def _edited(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = (MARIN / "mixture.yaml").read_text()
    for old, new in changes:
        text = text.replace(old, new)
    (folder / "cells.csv").write_bytes((MARIN / "cells.csv").read_bytes())
    path = folder / name
    path.write_text(text)
    return path


def commands(folder: Path, rounds: int) -> list[Command]:
    """The commands of a run's life, each `rounds` times, in turns."""
    longer = _edited(
        folder,
        "longer.yaml",
        ("sequence_length: 4096", "sequence_length: 16384"),
        ("11264 sequences", "2816 sequences"),
    )
    program = str(Path(sys.executable).with_name("mixture"))
    spec, lock = str(MARIN / "mixture.yaml"), str(MARIN / "mixture.lock.json")
    rungs = [part for rung in RUNGS for part in ("--rung", rung)]
    asked = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "mixture amend": [program, "amend", lock, str(longer), "--step", "216000", "-o", str(folder / "new.json")],
        "mixture amend --skip-steps": [program, "amend", lock, "--step", "216000", "--skip-steps", "100"],
        "mixture diff, two specs": [program, "diff", spec, str(longer)],
        "mixture diff --by cluster, two locks": [
            program,
            "diff",
            lock,
            lock,
            "--by",
            "cluster",
            "--catalog",
            str(MARIN / "cells.csv"),
        ],
        "mixture ladder": [program, "ladder", spec, *rungs, "-o", str(folder / "rungs")],
        "mixture ladder --simulate-epochs": [
            program,
            "ladder",
            spec,
            *rungs,
            "--simulate-epochs",
            "-o",
            str(folder / "p"),
        ],
        "mixture explain": [program, "explain", lock],
    }
    taken: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, command in asked.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            taken[name].append(time.perf_counter() - begin)
    return [Command(name, statistics.median(times), max(times)) for name, times in taken.items()]


def in_a_row(folder: Path, most: int, marks: Sequence[int]) -> list[InARow]:
    """Amendments of all weights, one a step."""
    lock = read_lock(MARIN / "mixture.lock.json")
    names = lock.schedule().names
    weights = [Fraction(weight, WHOLE) for weight in lock.data.segments[0].weights]
    out, times = [], []
    for n in range(1, most + 1):
        nudged = [share * (1_000 + (7 * n + d) % 5) for d, share in enumerate(weights)]
        whole = sum(nudged)
        shares = {name: share / whole for name, share in zip(names, nudged, strict=True)}
        begin = time.perf_counter()
        lock = amend(lock, n, shares)
        times.append(time.perf_counter() - begin)
        if n in marks:
            text, path = lock_text(lock), folder / "many.lock.json"
            path.write_text(text)
            begin = time.perf_counter()
            read_lock(path)
            read = time.perf_counter() - begin
            out.append(InARow(n, statistics.median(times[-50:]) * 1_000, len(text) / 1e6, read))
    return out


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--amendments", type=int, default=1_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        ran = commands(Path(name), arguments.rounds)
        marks = [n for n in (10, 100, 500, 1_000) if n <= arguments.amendments]
        row = in_a_row(Path(name), arguments.amendments, marks)
    if arguments.json:
        print(json.dumps({"commands": [asdict(one) for one in ran], "in_a_row": [asdict(one) for one in row]}))
        return
    print("from process start, marin-535b-a23b        median    worst")
    for one in ran:
        print(f"{one.command:<38}  {one.median_s:6.2f} s {one.worst_s:6.2f} s")
    print("\namendments in a row, 200 domains   each one     lock   reading it")
    for made in row:
        size, read = f"{made.lock_mb:5.2f} MB", f"{made.read_s:7.2f} s"
        print(f"{made.amendments:>10,}                      {made.median_ms:7.1f} ms {size} {read}")


if __name__ == "__main__":
    main()
