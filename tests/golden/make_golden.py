"""Write the golden files: for each lock, answers that the oracle gives, one a line.

    SCHEDULE_ORACLE=…/schedule_oracle.py python tests/golden/make_golden.py [NAME…]

The locks are those of mixtures/ named below, and `everything`, which this script writes too: a made-up run in which
every rule of the schedule comes to bear. The answers never come from the product.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MIXTURES = ("marin-535b-a23b", "marin-announced-80-20", "olmo-3-7b", "demo")
NUM_POSITIONS, NUM_FINDS, NUM_COUNTS, NUM_HISTORIES = 120, 30, 5, 6
FIND_LIMIT = 60


def load_oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schedule_oracle", os.environ["SCHEDULE_ORACLE"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def everything(oracle: ModuleType) -> dict:
    """A run with pools, skips, three lengths, changes of batch, mixed steps, and domains of every size."""
    block = 262_144
    domains = [
        {"name": "books", "tokens": 40_000 * block + 77, "pool_tokens": 20_000 * block + 70_000},
        {"name": "code", "tokens": 900_000_000},
        {"name": "cut short", "tokens": 100_000, "pool_tokens": 70_000},
        {"name": "every block full", "tokens": 33 * block},
        {"name": "huge", "tokens": 10**13 + 1},
        {"name": "later", "tokens": 123_456_789},
        {"name": "no", "tokens": 65_536},
        {"name": "one block", "tokens": block},
        {"name": "unused", "tokens": 5},
        {"name": "köln/08 \N{SNOWMAN}", "tokens": 3 * block + 65_535},
    ]
    first = [30, 25, 1, 4, 35, 0, 1, 1, 0, 3]
    second = [10, 20, 2, 5, 40, 18, 2, 1, 0, 2]
    third = ["1/3", "1/3", 0, 0, "1/3", 0, 0, 0, 0, 0]
    phases = [  # steps, length, shares, skip
        (4_000, 4_096, first, 0),
        (1_500, 4_096, first, 7_777),
        (900, 8_192, first, 0),
        (900, 65_536, second, 0),
        (400, 65_536, second, 10),
        (1_300, 4_096, second, 0),
        (1_000, 4_096, third, 0),
        (3, 65_536, first, 0),  # too short to read of every domain that it weighs: those stay where they are
        (197, 8_192, first, 0),
    ]
    segments, step = [], 0
    for steps, length, shares, skip in phases:
        exact = [Fraction(share) for share in shares]
        weights = oracle.apportion([share / sum(exact) for share in exact], oracle.WHOLE)
        segment = {"first_step": step, "steps": steps, "sequence_length": length, "weights": weights}
        segments.append(segment | ({"skip": skip} if skip else {}))
        step += steps
    batches = [
        {"first_step": first_step, "sequences": sequences}
        for first_step, sequences in [(0, 16), (1_003, 64), (4_100, 96), (6_400, 24), (7_950, 1), (9_990, 8)]
    ]
    return {
        "seed": 2**63 - 25, "block_tokens": block, "window_blocks": 64,
        "domains": domains, "segments": segments, "batches": batches,
    }  # fmt: skip


def write_by_line(path: Path, fields: dict) -> None:
    """JSON with one element of every list a line."""
    parts = []
    for key, value in fields.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            text = "[\n" + ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in value) + "\n ]"
        parts.append(f" {json.dumps(key)}: {text}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def edges(run, end: int) -> list[int]:
    """Steps at which something begins or ends, and the ones beside them."""
    begins = {s["first_step"] for s in run.segments} | {b["first_step"] for b in run.batches} | {0, end}
    return sorted({step + near for step in begins for near in (-1, 0, 1) if 0 <= step + near <= end})


def answers(oracle: ModuleType, name: str, lock: dict, where: Path) -> dict:
    rng = random.Random(name)  # of a text: the same in every Python
    run = oracle.Schedule(lock)
    end = run.before(run.steps)
    steps = edges(run, run.steps)
    some_steps = [*rng.sample(steps, min(len(steps), NUM_COUNTS - 2)), rng.randrange(run.steps), run.steps]
    at_edges = [run.before(step) for step in steps if step < run.steps]
    positions = {0, end - 1, *rng.sample(at_edges, min(len(at_edges), NUM_POSITIONS // 4))}
    while len(positions) < min(end, NUM_POSITIONS):
        positions.add(rng.randrange(end))
    rows = [run.at(position) for position in sorted(positions)]
    found = []
    for row in rng.sample(rows, min(len(rows), NUM_FINDS)):
        token = row["first_token"] + rng.randrange(row["tokens"])
        there = run.find(row["domain"], token)
        if len(there) <= FIND_LIMIT:  # a small domain's token is read thousands of times
            found.append({"domain": row["domain"], "token": token, "positions": there})
    history_steps = sorted({0, 1, run.steps, *rng.sample(range(run.steps), min(run.steps, NUM_HISTORIES - 3))})
    return {
        "lock": where.relative_to(ROOT).as_posix(),
        "history": [{"step": step, "history": oracle.history(lock, step)} for step in history_steps],
        "handoffs": [{"first_step": step, "tokens_skipped": tokens} for step, tokens in run.skipped],
        "counts": [{"step": step, "counts": run.counts(step)} for step in sorted(set(some_steps))],
        "finds": found,
        "positions": rows,
    }


def main(names: list[str]) -> None:
    oracle = load_oracle()
    for name in names or ["everything", *MIXTURES]:
        path = ROOT / "mixtures" / name / "mixture.lock.json"
        if name == "everything":
            path = HERE / "everything.lock.json"
            write_by_line(path, everything(oracle))
        if not path.exists():
            print(f"{name}: no lock at {path.relative_to(ROOT)}; left out", file=sys.stderr)
            continue
        out = HERE / f"{name}.json"
        write_by_line(out, answers(oracle, name, json.loads(path.read_text(encoding="utf-8")), path))
        print(f"{name}: {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
