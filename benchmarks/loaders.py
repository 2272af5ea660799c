"""How fast each way into a trainer is, on one store in one run: tokens a second, and what a trainer waits for a step.

    python -m benchmarks.loaders [--json] [--rows N] [--steps N]

Batches of N rows (default 64) of 4,096 tokens, as int64 input_ids and labels, of the store that `benchmarks.stream`
makes below bench/. First each way alone, then beside a trainer that works 20 ms a step outside of Python's lock, on
another core: of that, what is left to wait. Needs the extras torch and grain. Two cores; medians of interleaved rounds.
The last lines are what a layout of 4 Mi tokens in documents of some 700 takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from benchmarks.stream import FOLDER, LENGTH, lock_over, real_store
from mixture.adapters.columns import Column, Columns
from mixture.adapters.datasets import iterable_dataset
from mixture.adapters.grain import StepSource, rank_steps
from mixture.adapters.torch import MixtureBatches, MixtureLoader
from mixture.data.layout import Spans
from mixture.lock import write_lock
from mixture.stream import LocalStream, layout, open_stream, read_ahead

BATCH, ROUNDS, WORK_SECONDS = 512, 5, 0.020
COLUMNS = Columns((Column.INPUT_IDS, Column.LABELS, Column.DOMAIN))

Way = Callable[[], Iterator[object]]


def ways(rows: int) -> dict[str, Way]:
    """Each way to this rank's batches, from the first step on."""
    FOLDER.mkdir(exist_ok=True)
    store = real_store(FOLDER)
    write_lock(lock_over(store, FOLDER), FOLDER / "loaders.lock.json")
    opener = partial(open_stream, str(FOLDER / "loaders.lock.json"), str(store.path))
    world_size = BATCH // rows

    def stream() -> LocalStream:
        return opener(rank=0, world_size=world_size, next_token=True)

    def torch_loader(workers: int, steps_ahead: int, columns: Columns = COLUMNS) -> Iterator[object]:
        dataset = MixtureBatches(opener, world_size=world_size, columns=columns, steps_ahead=steps_ahead)
        return iter(MixtureLoader(dataset, num_workers=workers))

    def grain_steps(threads: int) -> Iterator[object]:
        source = StepSource(opener, world_size=world_size, columns=COLUMNS)
        return iter(rank_steps(source, threads=threads))

    return {
        "stream, the store's dtype": lambda: iter(stream()),
        "stream, reading ahead": lambda: iter(read_ahead(stream())),
        "torch, input_ids, int32": lambda: torch_loader(0, 0, Columns((Column.INPUT_IDS,), dtype="int32")),
        "torch, no workers, no thread": lambda: torch_loader(0, 0),
        "torch, reading ahead": lambda: torch_loader(0, 4),
        "torch, 1 worker": lambda: torch_loader(1, 0),
        "torch, 2 workers": lambda: torch_loader(2, 0),
        "grain, 1 thread": lambda: grain_steps(1),
        "grain, 2 threads": lambda: grain_steps(2),
        "datasets, rows": lambda: _of_rows(
            iter(iterable_dataset(opener, world_size=world_size, columns=COLUMNS)), rows
        ),
    }


def _of_rows(rows: Iterator[dict[str, object]], size: int) -> Iterator[object]:
    while batch := list(islice(rows, size)):
        yield {name: np.stack([row[name] for row in batch]) for name in ("input_ids", "labels")}  # type: ignore[arg-type]


def measure(rows: int, steps: int) -> dict[str, dict[str, float]]:
    """By way: million tokens a second alone, and milliseconds that a trainer waits for a step."""
    found: dict[str, dict[str, list[float]]] = {}
    all_ways = ways(rows)
    for _ in range(ROUNDS):
        for name, way in all_ways.items():
            batches = way()
            for _ in range(3):
                next(batches)
            start = time.perf_counter()
            for _ in range(steps):
                next(batches)
            alone = rows * LENGTH * steps / (time.perf_counter() - start) / 1e6
            waited = []
            for _ in range(steps // 4):
                time.sleep(WORK_SECONDS)
                start = time.perf_counter()
                next(batches)
                waited.append(time.perf_counter() - start)
            del batches
            kept = found.setdefault(name, {"million_tokens_per_second": [], "wait_ms": []})
            kept["million_tokens_per_second"].append(alone)
            kept["wait_ms"].append(statistics.median(waited) * 1e3)
    return {name: {key: statistics.median(values) for key, values in kept.items()} for name, kept in found.items()}


def layouts() -> dict[str, float]:
    """Milliseconds of each function of `mixture.stream.layout` over 512 rows of 8,192 tokens."""
    rows, length = 512, 8192
    ends = np.cumsum(np.random.default_rng(0).geometric(1 / 700, size=20_000))
    ends = np.union1d(ends[ends < rows * length], np.arange(1, rows + 1) * length)
    row = (ends - 1) // length
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    spans = Spans(offsets, np.arange(len(ends)), ends - row * length, np.zeros(rows, np.bool_))
    work: dict[str, Callable[[], object]] = {
        "position_ids": lambda: layout.position_ids(spans, length),
        "document_ids": lambda: layout.document_ids(spans, length),
        "cu_seqlens": lambda: layout.cu_seqlens(spans, length),
        "loss_mask": lambda: layout.loss_mask(rows, length, None, spans, next_token=True),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(15):
        for name, one in work.items():
            start = time.perf_counter()
            one()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) * 1e3 for name, values in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--rows", type=int, default=64, help="rows of a rank's step; divides 512")
    parser.add_argument("--steps", type=int, default=100, help="steps of a round")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    found, laid = measure(asked.rows, asked.steps), layouts()
    if asked.json:
        print(json.dumps({"ways": found, "layout_ms": laid}))
        return
    print(f"{'':<28}{'Mtok/s':>10}{'waits, ms':>12}")
    for name, values in found.items():
        print(f"{name:<28}{values['million_tokens_per_second']:>10,.0f}{values['wait_ms']:>12,.2f}")
    for name, value in laid.items():
        print(f"{name:<28}{value:>22,.2f} ms")


if __name__ == "__main__":
    main()
