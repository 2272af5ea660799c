"""grain: MapDataset.mix over the one map, with threads of its own and with workers of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import grain
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.text import Text


class Rows:
    """Rows of one domain, for random access; a worker opens the map anew."""

    def __init__(self, text: Text, domain: int) -> None:
        self._text, self._domain = text, domain
        self._rows: NDArray[np.uint32] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_rows": None}

    def __len__(self) -> int:
        return self._text.rows[self._domain]

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        if self._rows is None:
            self._rows = self._text.of_domains()[self._domain]
            self._rows.max()  # all of it in memory, as m[index] has it
        return np.asarray(self._rows[index])


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    parts = [
        grain.MapDataset.source(Rows(text, number)).shuffle(seed=number).repeat() for number in range(len(text.rows))
    ]

    def batches(threads: int, workers: int, rows: int, first_row: int) -> Iterator[Any]:
        mixed = grain.MapDataset.mix(parts, weights=text.shares).batch(rows)
        if first_row:
            mixed = mixed[first_row // rows :]
        options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=2 * threads)
        found = mixed.to_iter_dataset(options)
        if workers:
            found = found.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
        return iter(found)

    return {
        "in process, no threads": partial(batches, 0, 0),
        "in process, 2 threads": partial(batches, 2, 0),
        "1 worker of its own": partial(batches, 2, 1),
        "2 workers of its own": partial(batches, 2, 2),
    }


if __name__ == "__main__":
    from absl import app

    app.run(lambda _: answer(ways, packages=("grain",)))
