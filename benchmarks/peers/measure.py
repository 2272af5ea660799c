"""Rounds of all loaders in turn, each beside a round of `m[index]`."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.loader import Loader, LoaderError, Running
from benchmarks.peers.text import Text, worst_deviation

WARM_BATCHES = 5
"""Batches that workers may have ready when a round begins, and one."""
LEAST_BATCHES = 12
"""Of a round: some times what may be ready."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is read.

    batches:      rows of a batch
    round_tokens: of each round; of m[index] too
    rounds:       how many
    counted_rows: of which the domains are counted
    """

    batches: tuple[int, ...] = (8, 512)
    round_tokens: int = 1 << 22
    rounds: int = 3
    counted_rows: int = 1 << 13


@dataclass(slots=True)
class Found:
    """What was measured of one way.

    rates, index_rates: by rows of a batch, of each round: tokens a second, and those of m[index] right before it
    late_ms:            to open it at the last batch of one pass over the text, and to read that
    held_mb:            anonymous and shared memory, with the workers'
    deviation:          the most that the count of a domain differs from its share over all prefixes, in rows
    """

    loader: str
    way: str
    is_peer: bool
    rates: dict[int, list[float]] = field(default_factory=dict)
    index_rates: dict[int, list[float]] = field(default_factory=dict)
    first_ms: list[float] = field(default_factory=list)
    late_ms: float | None = None
    held_mb: float = 0.0
    deviation: float | None = None
    problem: str = ""

    def ratio(self, rows: int) -> float | None:
        """Of the medians to that of m[index]."""
        if not self.rates.get(rows):
            return None
        return float(statistics.median(self.rates[rows]) / statistics.median(self.index_rates[rows]))

    def best_ratio(self, rows: int) -> float:
        """Of the best rounds: what a machine that is busy with other work hides least."""
        return float(max(self.rates[rows]) / max(self.index_rates[rows]))

    def as_json(self) -> dict[str, Any]:
        """Medians."""
        medians = {str(rows): statistics.median(values) / 1e6 for rows, values in self.rates.items()}
        return {
            "loader": self.loader,
            "way": self.way,
            "is_peer": self.is_peer,
            "ratio_to_indexing": {str(rows): self.ratio(rows) for rows in self.rates},
            "best_ratio_to_indexing": {str(rows): self.best_ratio(rows) for rows in self.rates},
            "million_tokens_per_second": medians,
            "first_batch_ms": statistics.median(self.first_ms) if self.first_ms else None,
            "late_batch_ms": self.late_ms,
            "held_mb": self.held_mb,
            "worst_prefix_deviation": self.deviation,
            "problem": self.problem,
        }


def index_rate(mapped: NDArray[np.uint32], rows: int, count: int, rng: np.random.Generator) -> float:
    """Tokens a second of batches of random rows of one map."""
    order = rng.integers(len(mapped), size=(count, rows))
    start = time.perf_counter()
    for index in order:
        mapped[index]
    return float(count * rows * mapped.shape[1] / (time.perf_counter() - start))


def start_all(loaders: list[Loader], text: Text, told: dict[str, str]) -> tuple[list[Running], list[Found]]:
    """Those that start, and of those that do not, why."""
    running, missing = [], []
    for loader in loaders:
        print(f"starting {loader.name}", file=sys.stderr)
        try:
            running.append(Running(loader, text.folder, told))
        except LoaderError as error:
            missing.append(Found(loader.name, "", loader.is_peer, problem=str(error)))
    return running, missing


def measure(running: list[Running], text: Text, sizes: Sizes) -> list[Found]:
    """Every way, a round of each in turn."""
    mapped = text.mapped()
    mapped.max()
    rng = np.random.default_rng(0)
    found = {
        (one.loader.name, way): Found(one.loader.name, way, one.loader.is_peer)
        for one in running
        for way in one.said["ways"]
    }
    for number in range(sizes.rounds):
        print(f"round {number + 1} of {sizes.rounds}", file=sys.stderr)
        for rows in sizes.batches:
            count = max(LEAST_BATCHES, sizes.round_tokens // (rows * text.length))
            for one in running:
                for way in one.said["ways"]:
                    kept = found[one.loader.name, way]
                    if not kept.problem:
                        reference = index_rate(mapped, rows, count, rng)
                        _round(kept, one, rows, count, reference, text)
    for one in running:
        print(f"domains and last batch of {one.loader.name}", file=sys.stderr)
        for way in one.said["ways"]:
            kept = found[one.loader.name, way]
            if not kept.problem:
                _once(kept, one, way == one.said["ways"][0], text, sizes)
    return list(found.values())


def _round(kept: Found, one: Running, rows: int, count: int, reference: float, text: Text) -> None:
    asked: dict[str, Any] = {"question": "round", "way": kept.way, "rows": rows}
    asked |= {"warm": WARM_BATCHES, "batches": count}
    if one.said["whole"]:
        asked |= {"warm": 0, "batches": text.num_rows // rows - 1}
    try:
        answer = one.ask(**asked)
    except LoaderError as error:
        kept.problem = str(error)
        return
    rate = asked["batches"] * rows * text.length / answer["seconds"]
    kept.rates.setdefault(rows, []).append(rate)
    kept.index_rates.setdefault(rows, []).append(reference)
    if rows == min(kept.rates) and answer["first_ms"] is not None:
        kept.first_ms.append(answer["first_ms"])
    kept.held_mb = max(kept.held_mb, answer["held_mb"])


def _once(kept: Found, one: Running, is_first: bool, text: Text, sizes: Sizes) -> None:
    """The last batch of one pass over the text; and of the first way of each loader, the domains of its rows."""
    rows = min(sizes.batches)
    last = (text.num_rows // rows - 1) * rows
    try:
        kept.late_ms = one.ask(question="late", way=kept.way, rows=rows, first_row=last)["first_ms"]
        if is_first:
            batches = min(sizes.counted_rows, text.num_rows // 2) // rows
            domains = one.ask(question="domains", way=kept.way, rows=rows, batches=batches)["domains"]
            kept.deviation = worst_deviation(np.array(domains), text.shares)
    except LoaderError as error:
        kept.problem = str(error)
