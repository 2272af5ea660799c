"""LitData: chunks of tokens, one dataset a domain, combined by weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from litdata import CombinedStreamingDataset, StreamingDataLoader, StreamingDataset, TokensLoader, optimize

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.text import Text

CHUNK_ROWS = 1024


def _rows(part: tuple[str, int, int]) -> Iterator[torch.Tensor]:
    path, start, stop = part
    for row in np.load(path, mmap_mode="r")[start:stop]:
        yield torch.from_numpy(row.astype(np.int32))


def _write(text: Text, folder: Path, start: int, stop: int) -> None:
    optimize(
        fn=_rows,
        inputs=[(str(text.folder / "rows.npy"), start, stop)],
        output_dir=str(folder),
        chunk_size=CHUNK_ROWS * text.length,
        item_loader=TokensLoader(block_size=text.length),
        num_workers=1,
    )


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    ends = np.cumsum((0, *text.rows)).tolist()
    folders = [text.folder / "peers" / "litdata" / str(number) for number in range(len(text.rows))]
    for folder, start, stop in zip(folders, ends, ends[1:], strict=False):
        if not (folder / "index.json").exists():
            _write(text, folder, start, stop)

    def loaded(workers: int, rows: int, first_row: int) -> Iterator[Any]:
        if first_row:
            raise NotImplementedError
        loader = partial(TokensLoader, block_size=text.length)
        datasets = [StreamingDataset(str(folder), item_loader=loader(), shuffle=True, seed=0) for folder in folders]
        combined = CombinedStreamingDataset(datasets, weights=text.shares, seed=0, iterate_over_all=False)
        return iter(StreamingDataLoader(combined, batch_size=rows, num_workers=workers))

    return {f"DataLoader, {workers} workers": partial(loaded, workers) for workers in (0, 1, 2)}


if __name__ == "__main__":
    answer(ways, packages=("litdata", "torch"))
