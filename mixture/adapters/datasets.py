"""A Hugging Face IterableDataset of a rank's sequences, in the order of the run, with its own state.

For code that is written for `datasets`. It is a slow way: rows are handed out one by one, and put together again, where
`mixture.adapters.torch` gives whole batches at more than twice the speed. A trainer that works 20 ms a step waits 8 ms
for 64 rows of 4,096 tokens (`python -m benchmarks.loaders`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mixture.adapters.columns import Column, Columns
from mixture.adapters.rank_reader import OpenStream, RankReader
from mixture.errors import StreamError
from mixture.extras import extra

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

    Its own `state_dict` resumes in the middle of a step, and reads that step's beginning again, no more. In a
    DataLoader with workers each worker has every W-th step: the loader's batch is then the rank's rows of a step.

    Accelerate and the Trainer of transformers split the rows of all ranks, without rank and world_size, among their
    processes; give each the batch of a step ÷ processes. What would read other rows than a step's is refused while it
    is read: StreamError `split-again` (split by shards, by node, or of a rank again), `batch-differs`,
    `steps-reordered` (shuffled, or a second epoch).

    state: a stream's, of any adapter, to begin there; it comes in place of first_step
    columns: but CU_SEQLENS, which is of a batch

    Raises StreamError, and what opening the stream raises.
    """
    with extra("datasets"):
        from datasets import IterableDataset

        from mixture.adapters.rank_rows import RankRows

    if Column.CU_SEQLENS in columns.names:
        raise StreamError("cu_seqlens are of a batch, not of a row", code="unknown-column", hint="use document_ids")
    reader = RankReader(open_stream, rank, world_size, replicas, first_step, columns)
    if state is not None:
        reader.load(state)
    return IterableDataset(RankRows(reader, range(reader.first_step, reader.steps)))
