"""A Hugging Face IterableDataset of a rank's sequences, in the order of the run, with its own state.

For code that is written for `datasets`. It is a slow way: rows are handed out one by one, and put together again, where
`mixture.adapters.torch` gives whole batches at more than twice the speed. A trainer that works 20 ms a step waits 8 ms
for 64 rows of 4,096 tokens (`python -m benchmarks.loaders`). Beginning takes a second more for each 200,000 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mixture.adapters.columns import Column, Columns
from mixture.adapters.sources import OpenStream, RankReader
from mixture.errors import StreamError

if TYPE_CHECKING:
    from datasets import IterableDataset

COLUMNS = Columns((Column.INPUT_IDS, Column.DOMAIN, Column.POSITION))


def iterable_dataset(
    open_stream: OpenStream,
    *,
    rank: int = 0,
    world_size: int = 1,
    replicas: int = 1,
    first_step: int = 0,
    state: Mapping[str, Any] | None = None,
    columns: Columns = COLUMNS,
) -> IterableDataset:
    """A rank's sequences from a step on as `datasets.IterableDataset`: dicts of arrays [L], of numbers, and `step`.

    Steps are its shards. Its own `state_dict` resumes in the middle of a step, and reads that step's beginning again,
    no more. In a DataLoader with workers each worker has every W-th step: where the loader's batch is the rank's, they
    come in order. Do not shuffle it: the run is in the order that its lock says.

    state: a stream's, of any adapter, to begin where it stands; it comes in place of first_step
    columns: but CU_SEQLENS, which is of a batch

    Raises StreamError, and what opening the stream raises.
    """
    from datasets import IterableDataset

    if Column.CU_SEQLENS in columns.names:
        raise StreamError("cu_seqlens are of a batch, not of a row", code="unknown-column", hint="use document_ids")
    reader = RankReader(open_stream, rank, world_size, replicas, first_step, columns)
    if state is not None:
        reader.load(state)
    steps = list(range(reader.first_step, reader.steps))
    return IterableDataset.from_generator(_rows, gen_kwargs={"reader": reader, "steps": steps})


def _rows(reader: RankReader, steps: list[int]) -> Iterator[dict[str, Any]]:
    for step in steps:
        for values in reader.read(range(step, step + 1)):
            columns = {name: value for name, value in values.items() if name != "step"}
            for row in zip(*columns.values(), strict=True):
                yield {"step": step, **dict(zip(columns, row, strict=True))}
