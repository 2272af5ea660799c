"""How fast a stream hands out batches, against plain indexing of one memory map, and how soon the first one is there.

    python -m benchmarks.stream [--json]

Makes its own stores below bench/ (1 GB of real text in 32-bit tokens, and files of holes in the size of a 23T catalog),
which stay there for the next time. One core; medians of interleaved rounds; ratios within the run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from mixture.cli.data.demo_text import gather
from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store, write_holes
from mixture.lock import Lock, read_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import open_stream

FOLDER = Path("bench")
MARIN = Path("mixtures/marin-535b-a23b/mixture.lock.json")
LENGTH, BATCH, COPIES = 4096, 512, 4
STEPS, ROUNDS = 32, 15
LATE_STEP, RANKS = 390_000, 512
SPEC = """\
mixture: bench
catalog: {store}
tokenizer: bytes
sequence_length: {length}
batch: {batch} sequences
budget: {steps} steps
phases:
  - {{phase: all, weights: proportional}}
"""


def real_store(folder: Path) -> Store:
    """1 GB of real text: what this machine has, under several ids, as 32-bit tokens."""
    if not (folder / "store").exists():
        names = sorted(gather(folder / "text"))
        for name in names:
            path = folder / "text" / f"{name}.jsonl"
            documents = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
            with path.open("w", encoding="ascii") as file:
                for copy in range(COPIES):
                    for document in documents:
                        file.write(json.dumps({"id": f"{copy}/{document['id']}", "text": document["text"]}) + "\n")
        lines = [f"  {name}: {{files: [text/{name}.jsonl], text: text, id: id}}" for name in names]
        (folder / "sources.yaml").write_text("dtype: uint32\ndomains:\n" + "\n".join(lines) + "\n", encoding="utf-8")
        ingest(folder / "sources.yaml", folder / "store")
    return open_store(folder / "store")


def lock_over(store: Store, folder: Path) -> Lock:
    """One phase over the whole store."""
    spec = folder / "bench.yaml"
    spec.write_text(SPEC.format(store=store.path.name, length=LENGTH, batch=BATCH, steps=100_000), encoding="utf-8")
    return make_lock(make_plan(read_spec(spec)))


def one_map(store: Store, folder: Path) -> np.ndarray:
    """All rows of the store in one file, mapped: uint32 [rows, LENGTH]."""
    path = folder / "rows.npy"
    if not path.exists():
        rows = [
            store.read(name, 0, domain.tokens // LENGTH * LENGTH).reshape(-1, LENGTH)
            for name, domain in store.domains.items()
        ]
        np.save(path, np.concatenate(rows))
    mapped: np.ndarray = np.load(path, mmap_mode="r")
    return mapped


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def use(batches: Iterable[np.ndarray]) -> None:
    """Take each batch and let it go before the next one, as a trainer does."""
    for batch in batches:
        assert batch.shape == (BATCH, LENGTH)


def rows_per_second() -> dict[str, float]:
    """Batches [512, 4096] of a warm store, and `m[index]` on one map of the same rows, in turn."""
    FOLDER.mkdir(exist_ok=True)
    store = real_store(FOLDER)
    lock, rows = lock_over(store, FOLDER), one_map(store, FOLDER)
    order = np.random.default_rng(0).integers(len(rows), size=(STEPS, BATCH))
    for name, domain in store.domains.items():  # warm both
        store.read(name, 0, domain.tokens).max()
    rows.max()
    ours, theirs = [], []
    stream = open_stream(lock, store)
    use(next(stream).input_ids for _ in range(STEPS))
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: use(next(stream).input_ids for _ in range(STEPS))))
        theirs.append(seconds(lambda: use(rows[index] for index in order)))
    tokens = STEPS * BATCH * LENGTH
    return {
        "store_gigabytes": sum(d.tokens for d in store.domains.values()) * store.dtype.itemsize / 1e9,
        "stream_million_tokens_per_second": tokens / statistics.median(ours) / 1e6,
        "indexing_million_tokens_per_second": tokens / statistics.median(theirs) / 1e6,
        "ratio_to_indexing": statistics.median(b / a for a, b in zip(ours, theirs, strict=True)),
    }


def first_batch() -> dict[str, float]:
    """Opening at step 390,000 of marin-535b-a23b over files of holes, to the first batch of rank 0 of 512."""
    folder = FOLDER / "holes"
    lock = read_lock(MARIN)
    if not folder.exists():
        domains = {domain.name: domain.tokens for domain in lock.data.domains}
        write_holes(folder, domains, file_tokens=1 << 42, tokenizer=lock.tokenizer or "holes")

    def open_and_read() -> None:
        next(open_stream(read_lock(MARIN), open_store(folder), 0, RANKS, LATE_STEP))

    locks = [seconds(lambda: read_lock(MARIN)) for _ in range(20)]
    times = [seconds(open_and_read) for _ in range(20)]
    return {
        "open_and_first_batch_ms_median": statistics.median(times) * 1e3,
        "open_and_first_batch_ms_first": times[0] * 1e3,
        "of_which_reading_the_lock_ms": statistics.median(locks) * 1e3,
    }


def main() -> None:
    """Run both and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = rows_per_second() | first_batch()
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<44}{value:>12,.3f}")


if __name__ == "__main__":
    main()
