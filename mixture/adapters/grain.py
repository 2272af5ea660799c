"""A run for Grain: random-access sources that its loaders shard and read in threads.

`StepSource` gives a rank's batches by step, `SequenceSource` single sequences by position. Both are plain: what has
`len` and takes an index, such as `grain.MapDataset.source`, takes them. `grain.DataLoader`'s own shards are consecutive
parts of the run, and a sampler that shuffles loses its order: give ranks their sequences with `sharded_sequences`.
A `MapDataset` that shuffles, mixes or repeats a source is refused, and one that batches steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixture.adapters.rank_reader import SequenceSource, StepSource
from mixture.errors import StreamError
from mixture.stream import check_rank

if TYPE_CHECKING:
    import grain

__all__ = ["SequenceSource", "StepSource", "rank_steps", "sharded_sequences"]


def rank_steps(source: StepSource, *, first_step: int = 0, threads: int = 1, steps_ahead: int = 4) -> grain.IterDataset:
    """A rank's batches from a step on, read ahead in threads, the fastest with Grain: where it has the time, a trainer
    waits 0.2 ms for 64 rows of 4,096 tokens. A second thread brings nothing (`python -m benchmarks.loaders`).

    threads:     that read steps, in Grain
    steps_ahead: steps that wait in memory; as many as there are threads at least

    Its iterators' states are Grain's. `source.state_at(step)` is one that fits any number of ranks: begin at its step.
    Raises ScheduleError `step-out-of-range`.
    """
    import grain

    source.state_at(first_step)  # refused where the run has no such step; a slice would be empty
    options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=max(threads, steps_ahead))
    return grain.MapDataset.source(source)[first_step:].to_iter_dataset(options)


def sharded_sequences(source: SequenceSource, *, rank: int, world_size: int, batch: int) -> grain.MapDataset:
    """Every world_size-th sequence from a rank's on, `batch` of them at a time: for a run of one batch size.

    With batch the run's ÷ world_size, the ranks' k-th batches are together the sequences of step k; where batch is a
    part of that, of a part of the step. Raises StreamError `rank-invalid`, and `batch-differs` where a batch would have
    sequences of two steps.
    """
    import grain

    check_rank(rank, world_size)
    uneven = [sequences for sequences in source.batches if batch < 1 or sequences % (batch * world_size)]
    if uneven:
        raise StreamError(
            f"{world_size:,} ranks take {batch * world_size:,} sequences at a time, and a step has {uneven[0]:,}: "
            "batches would mix steps",
            code="batch-differs",
            hint=f"choose batch and world_size so that their product divides {uneven[0]:,}, or use rank_steps",
        )
    return grain.MapDataset.source(source)[rank::world_size].batch(batch, drop_remainder=True)
