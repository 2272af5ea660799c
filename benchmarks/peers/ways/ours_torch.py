"""This library's batches through torch's DataLoader: input_ids alone, as int32, as they lie in the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.forms import lock_path, warm_store
from benchmarks.peers.text import Text
from mixture.adapters.columns import Column, Columns
from mixture.adapters.torch import MixtureBatches, MixtureLoader
from mixture.stream import open_stream

COLUMNS = Columns((Column.INPUT_IDS,), dtype="int32")


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    store = warm_store(text.folder, "native")

    def loaded(workers: int, rows: int, first_row: int) -> Iterator[Any]:
        opener = partial(open_stream, str(lock_path(text.folder, "native", rows)), store)
        dataset = MixtureBatches(opener, first_step=first_row // rows, columns=COLUMNS)
        return iter(MixtureLoader(dataset, num_workers=workers))

    return {f"DataLoader, {workers} workers": partial(loaded, workers) for workers in (0, 1, 2)}


if __name__ == "__main__":
    answer(ways, packages=("torch",))
