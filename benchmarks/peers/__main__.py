"""How fast this stream is beside the loaders of others, over the same text in one run, as ratios to `m[index]`.

    python -m benchmarks.peers --install        the loaders of others, in environments below bench/peers-venv
    python -m benchmarks.peers [--quick] [--json] [--only NAME ...]

Text: 64 million tokens of 32 bits in four domains of 40, 30, 20 and 10 %, below bench/formats in this library's forms
and in those of the others, all in the page cache. `m[index]` gathers random rows of one memory map, in a round right
before each round of each loader, which lives in a process of its own. Rows of 4,096 tokens; medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.formats import FOLDER, TOKENS
from benchmarks.peers.bucket import bucket
from benchmarks.peers.forms import FORMS, written
from benchmarks.peers.install import PEERS
from benchmarks.peers.loader import LOADERS
from benchmarks.peers.long_runs import first_batches, memory
from benchmarks.peers.measure import Sizes, measure, start_all
from benchmarks.peers.schedules import schedules
from benchmarks.peers.table import goals, schedule_table, table

QUICK = Sizes(batches=(8,), rounds=2, counted_rows=1 << 11)
EPOCHS = 10


def main() -> None:
    """Run it and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install the loaders of others, and nothing else")
    parser.add_argument("--quick", action="store_true", help="batches of 8 rows alone, two rounds")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=", ".join(loader.name for loader in LOADERS))
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the text is")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of the text, where it is not there yet")
    asked = parser.parse_args()
    if asked.install:
        PEERS.install()
        return
    loaders = [loader for loader in LOADERS if not asked.only or loader.name in asked.only]
    if len(loaders) < len(asked.only or ()):
        parser.error(f"--only takes {', '.join(loader.name for loader in LOADERS)}")
    sizes = QUICK if asked.quick else Sizes()
    text = written(asked.folder, asked.tokens, sizes.batches)
    with ExitStack() as stack:
        told = {}
        if any(loader.module == "ours_s3" for loader in loaders):
            told = stack.enter_context(bucket(asked.folder / FORMS["native"]))
        running, missing = start_all(loaders, text, told)
        for one in running:
            stack.callback(one.stop)
        found = measure(running, text, sizes) + missing
        versions = {name: version for one in running for name, version in one.said["versions"].items()}
    drawn = schedules(asked.folder, sizes.round_tokens // 4, sizes.rounds)
    long_run = first_batches(asked.folder.parent, 3 * sizes.rounds)
    held = memory(text, max(sizes.batches), EPOCHS)
    if asked.json:
        parts = {"loaders": [one.as_json() for one in found], "schedules": [asdict(one) for one in drawn]}
        print(json.dumps(parts | {"long_run": asdict(long_run), "memory_mb": held, "versions": versions}))
        return
    for lines in (table(found, sizes.batches), schedule_table(drawn), goals(found, sizes.batches, long_run, held)):
        print("\n".join(lines), end="\n\n")
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    print(f"Python {sys.version.split()[0]}, {named}")


if __name__ == "__main__":
    main()
