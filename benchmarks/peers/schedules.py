"""The schedule alone, the domain of each position: this library's, Megatron's blending index, NumPy's choice."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.loader import Loader, LoaderError, Running
from benchmarks.peers.text import worst_deviation
from benchmarks.schedule import made_up
from mixture.schedule import WHOLE, Schedule

DOMAINS, BATCH = 200, 512
MEGATRON = Loader("Megatron's blending index", "megatron", "megatron", is_peer=True)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Positions a second, times NumPy's choice, and the worst deviation of a domain's count over all prefixes."""

    name: str
    positions: int
    positions_per_second: float | None
    ratio_to_choice: float | None
    worst_prefix_deviation: float | None
    problem: str = ""


def schedules(folder: Path, positions: int, rounds: int) -> list[Drawn]:
    """Each in turn, from the first position on."""
    schedule = Schedule(made_up(DOMAINS, BATCH))
    weights = np.array(schedule.data.segments[0].weights) / WHOLE
    shares = (weights / weights.sum()).tolist()
    megatron, problem = None, ""
    try:
        megatron = Running(MEGATRON, folder, {})
    except LoaderError as error:
        problem = str(error)
    domains: dict[str, NDArray[np.integer]] = {}
    seconds: dict[str, list[float]] = {"this schedule": [], "numpy Generator.choice": [], MEGATRON.name: []}
    generator = np.random.default_rng(0)
    for _ in range(rounds):
        start = time.perf_counter()
        domains["numpy Generator.choice"] = generator.choice(DOMAINS, size=positions, p=shares)
        seconds["numpy Generator.choice"].append(time.perf_counter() - start)
        start = time.perf_counter()
        parts = [rows.domain for rows in schedule.iter_rows(0, positions)]
        seconds["this schedule"].append(time.perf_counter() - start)
        domains["this schedule"] = np.concatenate(parts)
        if megatron is not None:
            seconds[MEGATRON.name].append(megatron.ask(positions=positions, shares=shares)["seconds"])
    if megatron is not None:
        domains[MEGATRON.name] = np.load(folder / "megatron-domains.npy")
        megatron.stop()
    found = []
    for name, times in seconds.items():
        if not times:
            found.append(Drawn(name, positions, None, None, None, problem))
            continue
        ratio = statistics.median(b / a for a, b in zip(times, seconds["numpy Generator.choice"], strict=True))
        deviation = worst_deviation(domains[name], shares)
        found.append(Drawn(name, positions, positions / statistics.median(times), ratio, deviation))
    return found
