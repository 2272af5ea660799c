"""How fast a schedule answers (ranges, one position, one find), its memory, how soon a lock is there, and its shares.

    python -m benchmarks.schedule [--json] [--rounds N] [--rows N]

One core. Rows are full ones (domain, draw, epoch, sequence); the reference, in the same rounds, is NumPy's
`Generator.choice` with `p`, which draws a domain only. Every round reads another part of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from mixture.lock import read_lock
from mixture.schedule import WHOLE, Batch, Domain, Schedule, ScheduleData, Segment, apportion
from mixture.schedule.permute import key64
from mixture.schedule.tree import Tree

ROOT = Path(__file__).resolve().parents[1]
MARIN = ROOT / "mixtures" / "marin-535b-a23b"
LENGTH, BLOCK, WINDOW = 4_096, 65_536, 64
RUN_SEQUENCES = 2 * 10**12
POSITIONS = (0, 10**12)
COLD = 200
BATCHES = (8, 64, 512, 1_024)
STEPS_AT_START, STEPS_BETWEEN = 5_000, 20_000
"""Steps of each segment after which shares are looked at."""
MEMORY_PARTS = 40


@dataclass(frozen=True, slots=True)
class Rate:
    """Rows per second of one case, and how many times the reference's that is: medians over the rounds."""

    case: str
    domains: int
    batch: int
    position: int
    rows_per_second: float
    to_reference: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one cold question, each to a fresh schedule."""

    question: str
    median_ms: float
    worst_ms: float


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory while parts all along a run are read, in MiB: the most in the first and in the last half."""

    rows: int
    early_mib: float
    late_mib: float


@dataclass(frozen=True, slots=True)
class Stray:
    """How many sequences a domain of a mixture is from its share at most, after the steps looked at, in any segment."""

    mixture: str
    batch: int
    steps: int
    worst: float


@dataclass(frozen=True, slots=True)
class Locking:
    """Seconds of `mixture lock` from process start, median of the rounds; or why there is no figure."""

    seconds: float | None
    problem: str = ""


def made_up(num_domains: int, batch: int) -> ScheduleData:
    """A run of one phase over domains of 1 to 100 billion tokens, with uneven weights."""
    sizes = [10**9 + (i * 2_654_435_761) % (99 * 10**9) for i in range(num_domains)]
    shares = [1 + (i * 40_503) % 1_000_003 for i in range(num_domains)]
    whole = sum(shares)
    weights = tuple(apportion([Fraction(share, whole) for share in shares], WHOLE))
    return ScheduleData(
        seed=0,
        block_tokens=BLOCK,
        window_blocks=WINDOW,
        domains=tuple(Domain(f"d{i:04}", tokens) for i, tokens in enumerate(sizes)),
        segments=(Segment(0, RUN_SEQUENCES // batch, LENGTH, weights),),
        batches=(Batch(0, batch),),
    )


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def read(schedule: Schedule, start: int, count: int) -> None:
    """Go through some rows as a stream would: chunk by chunk, keeping none."""
    for _ in schedule.iter_rows(start, count):
        pass


def measure_rates(rounds: int, rows: int) -> list[Rate]:
    """Every case once a round, each after its reference, so that what else the machine does falls on all alike."""
    cases = [(domains, batch, position) for domains in (200, 2_000) for batch in (11_264, 8) for position in POSITIONS]
    schedules = {case: Schedule(made_up(case[0], case[1])) for case in cases}
    taken: dict[tuple[int, int, int], list[float]] = {case: [] for case in cases}
    ratio: dict[tuple[int, int, int], list[float]] = {case: [] for case in cases}
    reference: list[float] = []
    generator = np.random.default_rng(0)
    shares = {case: np.array(schedules[case].data.segments[0].weights) / WHOLE for case in cases}
    for number in range(rounds + 1):
        for case, schedule in schedules.items():
            chosen = seconds(partial(generator.choice, case[0], size=rows, p=shares[case]))
            took = seconds(partial(read, schedule, case[2] + number * rows, rows))
            if number == 0:
                continue  # the first round warms up
            taken[case].append(took)
            ratio[case].append(chosen / took)
            if case[0] == 200:
                reference.append(chosen)
    rates = [
        Rate("full rows", *case, rows / statistics.median(taken[case]), statistics.median(ratio[case]))
        for case in cases
    ]  # fmt: skip
    return [*rates, Rate("Generator.choice", 200, 0, 0, rows / statistics.median(reference), 1.0)]


def measure_cold(data: ScheduleData) -> list[Latency]:
    """One position, one find, and the schedule itself, each time anew."""
    total = Schedule(data).num_sequences
    opening, position, find = [], [], []
    for i in range(COLD):
        where = (i * 2_654_435_761 * 7_919 + i) % total
        start = time.perf_counter()
        schedule = Schedule(data)
        opened = time.perf_counter()
        row = schedule.at([where])
        answered = time.perf_counter()
        fresh = Schedule(data)
        name, token = fresh.names[row.domain[0]], int(row.first_token[0])
        again = time.perf_counter()
        found = fresh.find(name, token)
        find.append(time.perf_counter() - again)
        opening.append(opened - start)
        position.append(answered - opened)
        assert where in found
    named = {"one position": position, "one find": find, "the schedule from its fields": opening}
    return [Latency(name, statistics.median(times) * 1e3, max(times) * 1e3) for name, times in named.items()]


def resident_mib() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_memory(data: ScheduleData, rows: int) -> Memory:
    """Read parts all along a run and watch resident memory after every chunk."""
    schedule = Schedule(data)
    most = []
    for part in range(MEMORY_PARTS):
        start = part * (schedule.num_sequences - rows) // (MEMORY_PARTS - 1)
        most.append(max(resident_mib() for _ in schedule.iter_rows(start, rows)))
    half = MEMORY_PARTS // 2
    return Memory(rows * MEMORY_PARTS, max(most[1:half]), max(most[half:]))


def measure_locking(rounds: int) -> Locking:
    """`mixture lock` on the large mixture, into a folder of its own, from process start to exit."""
    command = shutil.which("mixture", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if command is None:
        return Locking(None, "there is no command `mixture` beside this Python")
    with tempfile.TemporaryDirectory() as folder:
        arguments = [command, "lock", str(MARIN / "mixture.yaml"), "-o", str(Path(folder) / "mixture.lock.json")]
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            done = subprocess.run(arguments, capture_output=True, text=True, check=False)
            times.append(time.perf_counter() - start)
            if done.returncode != 0:
                return Locking(None, f"exit {done.returncode}: {done.stderr.strip()}")
    return Locking(statistics.median(times))


def measure_strays() -> list[Stray]:
    """Every mixture of the repository, also in other batches: each segment's first steps, its end, and many between."""
    generator = np.random.default_rng(0)
    strays = []
    for path in sorted((ROOT / "mixtures").glob("*/mixture.lock.json")):
        schedule = read_lock(path).schedule()
        for batch in BATCHES:
            looked_at, worst = 0, 0.0
            for segment in schedule.data.segments:
                first, end = segment.first_step, segment.first_step + segment.steps
                last = max(1, (schedule.positions_before(end) - schedule.positions_before(first)) // batch)
                steps = {
                    *range(1, min(last, STEPS_AT_START) + 1),
                    *generator.integers(1, last + 1, STEPS_BETWEEN),
                    last,
                }
                items = np.array(sorted(steps)) * batch
                tree = Tree(segment.weights, key64(schedule.data.seed, "split", first))
                due = items[:, None] * (np.array(segment.weights)[tree.leaves] / WHOLE)
                worst = max(worst, float(np.abs(tree.leaf_counts(items) - due).max()))
                looked_at += items.size
            strays.append(Stray(path.parent.name, batch, looked_at, worst))
    return strays


def show(rates: list[Rate], cold: list[Latency], memory: Memory, locking: Locking, strays: list[Stray]) -> None:
    """Tables for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(
        "", "domains", "batch", "position", "M rows/s", "ratio",
        title="full rows a second on one core, and the ratio to NumPy's Generator.choice",
    )  # fmt: skip
    for rate in rates:
        batch = f"{rate.batch:,}" if rate.batch else ""
        table.add_row(
            rate.case, f"{rate.domains:,}", batch, f"{rate.position:,}",
            f"{rate.rows_per_second / 1e6:.1f}", f"{rate.to_reference:.2f}",
        )  # fmt: skip
    console.print(table)
    table = Table("", "median ms", "worst ms", title=f"cold, {MARIN.name}, {COLD} times")
    for latency in cold:
        table.add_row(latency.question, f"{latency.median_ms:.2f}", f"{latency.worst_ms:.2f}")
    console.print(table)
    console.print(
        f"memory over {memory.rows / 1e6:.0f} M rows all along {MARIN.name}: at most {memory.early_mib:.0f} MiB in the "
        f"first half, {memory.late_mib:.0f} MiB in the second"
    )
    took = f"{locking.seconds:.2f} s from process start" if locking.seconds is not None else f"– {locking.problem}"
    console.print(f"mixture lock {MARIN.relative_to(ROOT)}/mixture.yaml: {took}")
    table = Table("mixture", *(f"batch {batch:,}" for batch in BATCHES), title="sequences that a domain strays at most")
    for i in range(0, len(strays), len(BATCHES)):
        of_mixture = strays[i : i + len(BATCHES)]
        table.add_row(of_mixture[0].mixture, *(f"{stray.worst:.2f}" for stray in of_mixture))
    console.print(table)


def as_json(rates: list[Rate], cold: list[Latency], memory: Memory, locking: Locking, strays: list[Stray]) -> str:
    """The same, one JSON object."""
    return json.dumps(
        {
            "rows": [asdict(rate) for rate in rates],
            "cold": [asdict(latency) for latency in cold],
            "memory": asdict(memory),
            "locking": asdict(locking),
            "strays": [asdict(stray) for stray in strays],
        }
    )


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of every case; the medians are reported")
    parser.add_argument("--rows", type=int, default=1 << 21, help="rows of every case and round")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    marin = read_lock(MARIN / "mixture.lock.json").schedule().data
    cold = measure_cold(marin)
    memory = measure_memory(marin, args.rows)
    locking = measure_locking(args.rounds)
    rates = measure_rates(args.rounds, args.rows)
    strays = measure_strays()
    if args.json:
        print(as_json(rates, cold, memory, locking, strays))
    else:
        show(rates, cold, memory, locking, strays)


if __name__ == "__main__":
    main()
