"""How fast a stream reads token files in place, by format, against plain indexing of one memory map.

    python -m benchmarks.formats [--json]

Writes the same tokens (64 million, of 32 bits, in documents of 1,000) below bench/formats in every format, which stay
there for the next time. One core; medians of interleaved rounds; ratios within the run. Parquet has row groups of a
million tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.stream import one_map, seconds
from mixture.data.derived import ExportFormat, export_store
from mixture.data.ingest import ingest
from mixture.data.linking import build_catalog
from mixture.data.store import Store, open_store
from mixture.data.token_files import row_groups
from mixture.lock import Lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import LocalStream, open_stream

FOLDER = Path("bench/formats")
TOKENS, DOCUMENT, DOMAINS = 64_000_000, 1_000, 4
LENGTH, BATCH, STEPS, ROUNDS = 4096, 128, 16, 9
HEAD = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndtype: uint32\ndomains:\n"
SPEC = """\
mixture: formats
catalog: {store}
tokenizer: bytes
seed: {seed}
sequence_length: {length}
batch: {batch} sequences
budget: 100000 steps
max_epochs: 100000
phases:
  - {{phase: all, weights: proportional}}
"""


def native(folder: Path = FOLDER, tokens: int = TOKENS) -> Store:
    """Text of random letters in DOMAINS domains."""
    if not (folder / "store").exists():
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(0)
        for number in range(DOMAINS):
            letters = rng.integers(97, 123, (tokens // DOMAINS // DOCUMENT, DOCUMENT - 1), np.uint8)
            with (folder / f"{number}.jsonl").open("wb") as file:
                for i, row in enumerate(letters):
                    file.write(b'{"id": "%d", "text": "%s"}\n' % (i, row.tobytes()))
        listed = "\n".join(f"  d{number}: {{files: [{number}.jsonl], id: id}}" for number in range(DOMAINS))
        (folder / "sources.yaml").write_text(f"dtype: uint32\ndomains:\n{listed}\n", encoding="utf-8")
        ingest(folder / "sources.yaml", folder / "store")
    return open_store(folder / "store")


def lists(store: Store, name: str) -> pa.Table:
    """Documents of a domain as rows."""
    tokens = store.domains[name].tokens
    offsets = pa.array(np.arange(0, tokens + 1, DOCUMENT, dtype=np.int32))
    values = pa.array(store.read(name, 0, tokens).astype(np.int32))
    return pa.table({"input_ids": pa.ListArray.from_arrays(offsets, values)})


def catalogs(store: Store) -> dict[str, Store]:
    """The same tokens in every format, beside a native store."""
    folder = store.path.parent
    for exported in (ExportFormat.MEGATRON, ExportFormat.NPY):
        if not (folder / exported).exists():
            export_store(store, exported, folder / exported)
    for form in ("parquet", "arrow"):
        if not (folder / form).exists():
            (folder / form).mkdir()
            for name in store.domains:
                path = folder / form / f"{name}.{form}"
                table = lists(store, name)
                if form == "parquet":
                    pq.write_table(table, path, row_group_size=1_000)
                else:
                    with pa.ipc.new_stream(str(path), table.schema) as writer:
                        writer.write_table(table, max_chunksize=1_000)
            listed = "\n".join(f"  {name}: {{format: {form}, files: [{name}.{form}]}}" for name in store.domains)
            (folder / form / "sources.yaml").write_text(HEAD + listed, encoding="utf-8")
    if not (folder / "linked").exists():
        (folder / "linked").mkdir()
        listed = "\n".join(f"  {name}: {{format: store, path: ../store}}" for name in store.domains)
        (folder / "linked" / "sources.yaml").write_text(HEAD + listed, encoding="utf-8")
    found = {"native": store}
    for form in ("linked", "megatron", "npy", "npy-full", "arrow", "parquet"):
        source = folder / form.removesuffix("-full") / "sources.yaml"
        if not (folder / f"{form}-catalog").exists():
            build_catalog(source, folder / f"{form}-catalog", full=form.endswith("-full"))
        found[form] = open_store(folder / f"{form}-catalog")
    return found


def lock_over(store: Store, seed: int) -> Lock:
    """One phase over all of a store; no two formats read the same rows behind one another, out of the cache."""
    path = FOLDER / f"{store.path.name}.yaml"
    path.write_text(SPEC.format(store=store.path.name, seed=seed, length=LENGTH, batch=BATCH), encoding="utf-8")
    return make_lock(make_plan(read_spec(path)))


def read(stream: LocalStream) -> None:
    """Some batches, each let go before the next."""
    for _ in range(STEPS):
        assert next(stream).input_ids.shape == (BATCH, LENGTH)


def take(rows: np.ndarray, order: np.ndarray) -> None:
    """As many batches by plain indexing."""
    for index in order:
        assert rows[index].shape == (BATCH, LENGTH)


def ratios() -> dict[str, float]:
    """Million tokens a second, and ratios to `m[index]`."""
    store = native()
    rows = one_map(store, FOLDER)
    row_groups.GROUP_BYTES, row_groups.STRETCH_BYTES = TOKENS * 4 // 8, TOKENS * 4 // 4  # not all, but the windows
    stores = catalogs(store)
    streams = {name: open_stream(lock_over(one, seed), one) for seed, (name, one) in enumerate(stores.items())}
    rng = np.random.default_rng(0)
    rows.max()
    for one in stores.values():  # warm all
        for name, domain in one.domains.items():
            one.read(name, 0, domain.tokens).max()
    for stream in streams.values():
        read(stream)
    times: dict[str, list[float]] = {name: [] for name in (*streams, "index")}
    for _ in range(ROUNDS):
        order = rng.integers(len(rows), size=(STEPS, BATCH))
        times["index"].append(seconds(partial(take, rows, order)))
        for name, stream in streams.items():
            times[name].append(seconds(partial(read, stream)))
    tokens = STEPS * BATCH * LENGTH
    found = {f"{name}_million_tokens_per_second": tokens / statistics.median(t) / 1e6 for name, t in times.items()}
    for name in streams:
        pairs = zip(times[name], times["index"], strict=True)
        found[f"{name}_ratio_to_indexing"] = statistics.median(b / a for a, b in pairs)
    return found


def main() -> None:
    """Run it and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    store_of_all = native()
    catalogs(store_of_all)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = ratios()
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<44}{value:>12,.3f}")


if __name__ == "__main__":
    main()
