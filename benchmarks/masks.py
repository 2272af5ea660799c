"""What text that was taken down costs a stream: 100,000 masks in the rows of a step of marin-535b-a23b.

    python -m benchmarks.masks [--json]

Spread: the masks are spread over all domains, as takedowns are. Dense: all of them lie in the rows that are read, each
of 49 tokens of 50. Copying the step's tokens once is what to compare with.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixture.lock import Lock, read_lock
from mixture.lock.lock import Mask
from mixture.lock.masks import in_order
from mixture.stream.masks import ALWAYS, Masks

LOCK = Path(__file__).resolve().parents[1] / "mixtures" / "marin-535b-a23b" / "mixture.lock.json"
MASKS, TOKENS, STEP, ROWS, LENGTH = 100_000, 1_000, 216_000, 512, 4_096
TIMES = 9


def spread(lock: Lock) -> Lock:
    """As many masks in each of the larger domains, somewhere in each equal part of it."""
    rng = random.Random(0)
    domains = [domain for domain in lock.data.domains if domain.tokens > 10**9]
    parts = -(-MASKS // len(domains))
    masks = (
        Mask(100, domain.name, part * (domain.tokens // parts) + rng.randrange(domain.tokens // parts - TOKENS), TOKENS)
        for part in range(parts)
        for domain in domains
    )
    return replace(lock, masks=in_order(lock.data, masks))


def milliseconds(run: Callable[[], object]) -> float:
    """The least of some times."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        run()
        taken.append(1000 * (time.perf_counter() - began))
    return min(taken)


def figures() -> Iterator[tuple[str, float]]:
    """What is measured, and milliseconds."""
    lock = read_lock(LOCK)
    many = spread(lock)
    masks = Masks(many)
    yield "sorting the masks of a lock, once a process", milliseconds(lambda: Masks(many))
    yield "their digest, once a process", milliseconds(lambda: Masks(many).digest(ALWAYS))
    rows = next(iter(lock.schedule().step_rows(STEP, 1, range(ROWS))))
    first_token, ids = rows.sequence * LENGTH, np.ones((ROWS, LENGTH), np.uint32)
    yield f"copying {ROWS} rows of {LENGTH} tokens", milliseconds(ids.copy)
    yield "hiding in them, spread", milliseconds(lambda: masks.hide(STEP, rows.domain, first_token, ids, 0))
    largest = max(range(len(lock.data.domains)), key=lambda d: lock.data.domains[d].tokens)
    name = lock.data.domains[largest].name
    dense = Masks(replace(lock, masks=tuple(Mask(0, name, 50 * i, 49) for i in range(MASKS))))
    domain, first_token = np.full(ROWS, largest), np.arange(ROWS) * LENGTH
    yield "hiding in them, dense", milliseconds(lambda: dense.hide(STEP, domain, first_token, ids, 0))


def main() -> None:
    """Print a line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    for what, taken in figures():
        print(json.dumps({"what": what, "milliseconds": round(taken, 3)}) if as_json else f"{taken:9.3f} ms  {what}")


if __name__ == "__main__":
    main()
