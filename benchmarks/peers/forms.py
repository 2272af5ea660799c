"""The same text in all forms that this library reads, and locks over each."""

from __future__ import annotations

from pathlib import Path

from benchmarks.formats import LENGTH, catalogs, native
from benchmarks.peers.text import Text
from benchmarks.stream import one_map
from mixture.data.store import Store, open_store
from mixture.lock import write_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

PERCENTS = (40, 30, 20, 10)
FORMS = {
    "native": "store",
    "linked": "linked-catalog",
    "megatron": "megatron-catalog",
    "npy": "npy-catalog",
    "arrow": "arrow-catalog",
    "parquet": "parquet-catalog",
}
"""The folder of each, beside the text."""
SPEC = """\
mixture: peers
catalog: {store}
tokenizer: bytes
seed: {seed}
sequence_length: {length}
batch: {rows} sequences
budget: 100000 steps
max_epochs: 1000000
phases:
  - phase: all
    weights: {{{weights}}}
"""


def lock_path(folder: Path, form: str, rows: int) -> Path:
    """Where the lock of a form and of a batch of so many rows is."""
    return folder / f"peers-{form}-{rows}.lock.json"


def warm_store(folder: Path, form: str) -> Store:
    """The store of a form, of which all was read once in this process."""
    store = open_store(folder / FORMS[form])
    for name, domain in store.domains.items():
        store.read(name, 0, domain.tokens).max()
    return store


def written(folder: Path, tokens: int, batches: tuple[int, ...]) -> Text:
    """Write what is not there yet: the text in all forms, locks for batches of so many rows."""
    store = native(folder, tokens)
    for seed, (form, one) in enumerate(catalogs(store).items()):
        if form not in FORMS:
            continue
        weights = ", ".join(f"{name}: {percent}%" for name, percent in zip(one.domains, PERCENTS, strict=True))
        for rows in batches:
            path = lock_path(folder, form, rows)
            if not path.exists():  # no two forms have the same rows behind one another, out of the cache
                spec = path.with_suffix(".yaml")
                asked = {"store": one.path.name, "seed": seed, "length": LENGTH, "rows": rows, "weights": weights}
                spec.write_text(SPEC.format(**asked), encoding="utf-8")
                write_lock(make_lock(make_plan(read_spec(spec))), path)
    one_map(store, folder)
    text = Text(folder, LENGTH, tuple(domain.tokens // LENGTH for domain in store.domains.values()), PERCENTS)
    text.write()
    return text
