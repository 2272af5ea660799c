"""Which slots of a step a data-parallel rank reads."""

from __future__ import annotations

from mixture.errors import StreamError
from mixture.schedule import ScheduleData


def rank_slots(batch: int, rank: int, world_size: int) -> range:
    """Slots floor(rank * batch / world_size) up to floor((rank + 1) * batch / world_size) of a step of `batch`."""
    return range(rank * batch // world_size, (rank + 1) * batch // world_size)


def slot_rank(batch: int, slot: int, world_size: int) -> int:
    """The rank whose `rank_slots` a slot is among."""
    return ((slot + 1) * world_size - 1) // batch


def check_rank(rank: int, world_size: int) -> None:
    """Raise StreamError, `rank-invalid`, where there is no such rank."""
    if world_size < 1 or not 0 <= rank < world_size:
        raise StreamError(
            f"there is no rank {rank} among {world_size}",
            code="rank-invalid",
            hint="ranks count from 0 to world_size - 1",
            rank=rank,
            world_size=world_size,
        )


def data_rank(rank: int, world_size: int, replicas: int) -> tuple[int, int]:
    """Rank and world size among those that read different rows, where each `replicas` processes in a row read the same.

    So it is with tensor, context and pipeline parallelism inside of data parallelism: 8 processes of 2 replicas are
    data-parallel ranks 0, 0, 1, 1, 2, 2, 3, 3 of 4. Raises StreamError, `rank-invalid`, `replicas-invalid`.
    """
    check_rank(rank, world_size)
    if replicas < 1 or world_size % replicas:
        raise StreamError(
            f"{world_size} processes can not be groups of {replicas} that read the same rows",
            code="replicas-invalid",
            hint="replicas is tensor × context × pipeline parallel size, and divides the world size",
            world_size=world_size,
            replicas=replicas,
        )
    return rank // replicas, world_size // replicas


def check_divisible(data: ScheduleData, world_size: int, first_step: int) -> None:
    """Raise StreamError, `batch-not-divisible`, where a batch from a step on can not be shared out evenly."""
    for batch in data.batches_of(range(first_step, data.steps)):
        if batch.sequences % world_size:
            fits = [n for n in range(1, batch.sequences + 1) if batch.sequences % n == 0]
            below, above = max(n for n in fits if n < world_size), [n for n in fits if n > world_size]
            near = f"{below} or {above[0]}" if above else str(below)
            raise StreamError(
                f"a batch of {batch.sequences:,} sequences, from step {batch.first_step:,} on, is not divisible by "
                f"{world_size:,} ranks",
                code="batch-not-divisible",
                hint=f"take {near} ranks, or allow uneven ones: --uneven, uneven=True in Python",
                batch=batch.sequences,
                world_size=world_size,
            )
