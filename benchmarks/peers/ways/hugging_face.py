"""Hugging Face datasets: interleave_datasets with probabilities, streamed from Parquet and map-style from Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from torch.utils.data import DataLoader

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.text import Text

GROUP_ROWS, FILES = 256, 4
"""Of each domain as many files as workers can share."""


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    datasets.disable_progress_bars()
    folder = text.folder / "peers" / "hugging_face"
    folder.mkdir(parents=True, exist_ok=True)
    files = [[folder / f"{number}-{file}.parquet" for file in range(FILES)] for number in range(len(text.rows))]
    for paths, rows in zip(files, text.of_domains(), strict=True):
        for path, part in zip(paths, np.array_split(rows, FILES), strict=True):
            if not path.exists():
                lists = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), text.length)
                pq.write_table(pa.table({"input_ids": lists}), path, row_group_size=GROUP_ROWS)

    mixed = partial(datasets.interleave_datasets, probabilities=text.shares, seed=0, stopping_strategy="all_exhausted")

    def streamed() -> Any:  # noqa: ANN401 (theirs)
        read = partial(datasets.load_dataset, "parquet", split="train", streaming=True)
        return mixed([read(data_files=list(map(str, paths))) for paths in files])

    indexed = mixed(
        [datasets.Dataset.from_parquet(list(map(str, paths)), cache_dir=str(folder / "cache")) for paths in files]
    )

    def in_process(rows: int, first_row: int) -> Iterator[Any]:
        dataset = streamed()
        if first_row:
            dataset = dataset.skip(first_row)
        return iter(dataset.with_format("numpy").batch(rows))

    def loaded_stream(workers: int, rows: int, first_row: int) -> Iterator[Any]:
        dataset = streamed()
        if first_row:
            dataset = dataset.skip(first_row)
        return iter(DataLoader(dataset.with_format("torch"), batch_size=rows, num_workers=workers))

    def loaded(workers: int, rows: int, first_row: int) -> Iterator[Any]:
        dataset = indexed.select(range(first_row, len(indexed))) if first_row else indexed
        return iter(DataLoader(dataset.with_format("torch"), batch_size=rows, num_workers=workers))

    return {
        "streamed Parquet, in process": in_process,
        **{f"streamed Parquet, DataLoader, {n} workers": partial(loaded_stream, n) for n in (1, 2)},
        **{f"indexed Arrow, DataLoader, {n} workers": partial(loaded, n) for n in (0, 1, 2)},
    }


if __name__ == "__main__":
    answer(ways, packages=("datasets", "torch"))
