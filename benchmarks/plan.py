"""How long `plan`, `lock`, `lock --check`, `diff` and `amend` take on specs of thousands of domains, and how it grows.

    python -m benchmarks.plan [--json] [--rounds N] [--domains N …]

Each is a process of its own, timed from its start. The specs have three phases over the same domains: weights as
columns of a table, as a map in the spec, as groups by conditions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HEAD = """\
mixture: many
catalog: cells.csv
sequence_length: 4096
batch: 1024 sequences
budget: 3000000 steps
max_epochs: 1000000
phases:
"""
NAMES = ("first", "second", "third")
GROUPS = """
      - {where: quality >= 3, share: 60%, within: proportional}
      - {where: quality < 3 and tokens < 5_000_000_000, share: 20%, within: {temperature: 2}}
      - {where: quality < 3 and tokens >= 5_000_000_000, share: 20%, within: uniform}"""


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of a command, from the start of its process: wall clock and processor, medians of the rounds."""

    command: str
    domains: int
    wall_s: float
    cpu_s: float


def specs(folder: Path, domains: int) -> None:
    """A catalog, and specs of the same run: table.yaml, map.yaml, groups.yaml; later.yaml has another last phase."""
    chance = random.Random(domains)
    rows = [(f"c{i:05}q{i % 5}", i % 5, 10**7 + chance.randrange(10**10)) for i in range(domains)]
    columns = [_shares(chance, domains) for _ in NAMES]
    with (folder / "cells.csv").open("w", encoding="utf-8") as file:
        file.write("domain,quality,tokens,first,second,third\n")
        for (name, quality, tokens), *weights in zip(rows, *columns, strict=True):
            file.write(f"{name},{quality},{tokens},{','.join(weights)}\n")

    def write(name: str, weights: Callable[[int], str]) -> None:
        lengths = ["    steps: 900000\n", "    steps: 900000\n", ""]
        phases = [f"  - phase: {phase}\n{lengths[i]}    weights:{weights(i)}\n" for i, phase in enumerate(NAMES)]
        (folder / name).write_text(HEAD + "".join(phases), encoding="utf-8")

    write("table.yaml", lambda i: f" {{table: cells.csv, column: {NAMES[i]}}}")
    write("map.yaml", lambda i: "".join(f"\n      {row[0]}: {w}" for row, w in zip(rows, columns[i], strict=True)))
    write("groups.yaml", lambda _: GROUPS)
    write("later.yaml", lambda i: f" {{table: cells.csv, column: {NAMES[0 if i == 2 else i]}}}")


def _shares(chance: random.Random, domains: int) -> list[str]:
    """Decimals that sum to exactly 1."""
    parts = [chance.randrange(1, 10**6) for _ in range(domains)]
    billionths = [part * 10**9 // sum(parts) for part in parts]
    billionths[0] += 10**9 - sum(billionths)
    return [f"{billionth / 10**9:.9f}" for billionth in billionths]


COMMANDS = [
    "plan table.yaml", "plan map.yaml", "plan groups.yaml", "lock table.yaml", "lock --check table.yaml",
    "lock map.yaml", "diff table.lock.json groups.yaml",
    "amend table.lock.json later.yaml --step 1900000 -o amended.lock.json",
]  # fmt: skip


def timed(folder: Path, command: str) -> tuple[float, float]:
    """Seconds by the clock and of the processor. Raises CalledProcessError where the command fails."""
    program = [sys.executable, "-c", "from mixture.cli import main; main()", *command.split()]
    before, start = os.times(), time.perf_counter()
    subprocess.run(program, cwd=folder, check=True, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, cpu


def measure(domains: int, rounds: int) -> list[Timed]:
    """All commands on specs of so many domains."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        specs(folder, domains)
        found: dict[str, list[tuple[float, float]]] = {command: [] for command in COMMANDS}
        for _ in range(rounds):
            for command in COMMANDS:
                found[command].append(timed(folder, command))
    return [
        Timed(command, domains, *map(statistics.median, zip(*took, strict=True))) for command, took in found.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", action="store_true")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--domains", type=int, nargs="+", default=[200, 5000, 15000])
    said = options.parse_args(arguments)
    for domains in said.domains:
        for one in measure(domains, said.rounds):
            print(
                json.dumps(asdict(one))
                if said.json
                else f"{one.domains:>7,} domains  {one.wall_s:6.2f} s  {one.cpu_s:6.2f} s of processor  {one.command}",
                flush=True,
            )


if __name__ == "__main__":
    main()
