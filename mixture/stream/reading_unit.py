"""What a rank reads of an object store as a whole: blocks of the schedule, or single rows."""

from __future__ import annotations

from collections.abc import Iterable

from mixture.data.store import Store
from mixture.lock import Lock

FEW_RANKS = 4


def unit_tokens(lock: Lock, store: Store, world_size: int, drawn_from: Iterable[int]) -> int | None:
    """The lock's block, where reading whole blocks pays; None: rows are read as they are.

    The sequences of a window of blocks are read one after the other, in a keyed order, by all ranks. So a block that is
    read as a whole is used again as long as the window is read, by a rank's share of it, or, through a cache that the
    ranks of a machine share, by theirs. Whole blocks are read

    - by up to four ranks, each of which uses a quarter of a block or more; with a cache on a disk by as many as a block
      has sequences, each of which uses one of them or more,
    - where the windows of all domains fit into half of that cache, or of the memory for objects: else a block would be
      gone before it is used again, and fetched for each row of it.

    drawn_from: numbers of the lock's domains that are read
    """
    data, options = lock.data, store.object_options
    longest = max(segment.sequence_length for segment in data.segments)
    most_ranks, room = FEW_RANKS, options.memory_bytes
    if options.cache is not None:
        most_ranks, room = max(FEW_RANKS, data.block_tokens // longest), options.cache_bytes
    blocks = [-(-data.domains[number].tokens // data.block_tokens) for number in drawn_from]
    windows = sum(min(data.window_blocks, max(1, count // 32)) for count in blocks)
    fits = windows * data.block_tokens * store.dtype.itemsize <= room // 2
    return data.block_tokens if world_size <= most_ranks and fits else None
