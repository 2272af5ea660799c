"""A lock is the same file whatever the order of rows, columns, domains and keys, and the format of tables."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixture.lock import lock_text
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

ROWS = [
    {"domain": f"c{c:02}q{q}", "cluster": f"c{c:02}", "quality": q, "tokens": 1_000_003 * (c + 1) + q, "main": w / 100}
    for (c, q), w in zip(((c, q) for c in range(4) for q in range(5)), [1, 9, 2, 8, 3, 7, 4, 6, 5, 5] * 2, strict=True)
]
KEYS = {
    "mixture": "m",
    "tokenizer": "bytes",
    "seed": "7",
    "sequence_length": "64",
    "batch": "48 sequences",
    "budget": "{steps: 900, tokens: 1M}",
    "max_epochs": "8",
    "accept": "[budget-mismatch, over-epochs]",
}
PHASE_KEYS = [
    {"phase": "first", "share": "50%", "weights": "{table: TABLE, column: main}"},
    {
        "phase": "second",
        "until": "80%",
        "batch": "3072 tokens",
        "weights": "[{where: \"cluster = 'c01'\", share: 0.3, within: uniform}, {replay: first, share: 0.7}]",
    },
    {"phase": "third", "sequence_length": "128", "weights": "{c00q0: 25%, c03q4: 0.75}"},
]
RESPELLED = [
    {"phase": "first", "share": "0.5", "weights": "{column: main, table: TABLE}"},
    {
        "phase": "second",
        "until": "0.080e3%",
        "batch": "3.072K tokens",
        "weights": "[{within: uniform, where: \"cluster = 'c01'\", share: 30%}, {share: 70%, replay: first}]",
    },
    {"phase": "third", "sequence_length": "128 tokens", "weights": "{c03q4: 7.5e-1, c00q0: 0.25}"},
]


def write_table(path: Path, rows: list[dict]) -> None:
    match path.suffix:
        case ".csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def lock_of(folder: Path, rows: list[dict], table: str, keys: list[str], phases: list[dict[str, str]]) -> str:
    """The text of the lock of a spec whose keys come in the order given."""
    folder.mkdir()
    write_table(folder / table, rows)
    lines = [f"{key}: {(KEYS | {'catalog': table})[key]}" for key in keys if key != "phases"]
    written = ["phases:"]
    for phase in phases:
        first, *rest = (f"{key}: {value}".replace("TABLE", table) for key, value in phase.items())
        written += [f"  - {first}", *(f"    {line}" for line in rest)]
    at = keys.index("phases")
    (folder / "mixture.yaml").write_text("\n".join([*lines[:at], *written, *lines[at:]]) + "\n")
    return lock_text(make_lock(make_plan(read_spec(folder / "mixture.yaml"))))


@pytest.mark.parametrize("table", ["cells.csv", "other.parquet", "other.jsonl"])
def test_order_spelling_and_format_give_the_same_lock_file(tmp_path: Path, table: str):
    keys = [*KEYS, "catalog", "phases"]
    expected = lock_of(tmp_path / "expected", ROWS, "cells.csv", keys, PHASE_KEYS)
    for seed in range(3):
        rng = random.Random(seed)
        columns = rng.sample(list(ROWS[0]), len(ROWS[0]))
        rows = [{column: row[column] for column in columns} for row in rng.sample(ROWS, len(ROWS))]
        phases = [dict(rng.sample(list(phase.items()), len(phase))) for phase in RESPELLED]
        shuffled = rng.sample(keys, len(keys))
        assert lock_of(tmp_path / str(seed), rows, table, shuffled, phases) == expected
