"""No library: torch's Dataset over the one map, rows drawn by domain beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.text import Text


class Rows(Dataset[torch.Tensor]):
    """Rows of the map, many at a time."""

    def __init__(self, text: Text) -> None:
        self._rows = text.mapped()
        self._rows.max()  # all of it in memory, as m[index] has it

    def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
        return list(torch.from_numpy(self._rows[indices].view(np.int32)))


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    dataset = Rows(text)
    rng = np.random.default_rng(0)
    domain = rng.choice(len(text.rows), size=text.num_rows, p=text.shares)
    first = np.cumsum((0, *text.rows[:-1]))
    order = (first[domain] + rng.integers(np.array(text.rows)[domain])).tolist()

    def loaded(workers: int, rows: int, first_row: int) -> Iterator[Any]:
        return iter(DataLoader(dataset, batch_size=rows, sampler=order[first_row:], num_workers=workers))

    return {f"DataLoader, {workers} workers": partial(loaded, workers) for workers in (0, 1, 2)}


if __name__ == "__main__":
    answer(ways, packages=("torch",))
