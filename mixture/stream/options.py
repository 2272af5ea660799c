"""How a stream reads a run: whose rows, from where on, and what of them. Every stream is made with one such object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from mixture.schedule import ScheduleData
from mixture.stream.ranks import check_divisible, check_rank


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """The arguments of `open_stream` that every stream has, described there.

    Raises StreamError, `rank-invalid`.
    """

    rank: int = 0
    world_size: int = 1
    first_step: int = 0
    next_token: bool = False
    documents: bool = False
    uneven: bool = False
    dtype: npt.DTypeLike | None = None
    accept_content: str | None = None

    def __post_init__(self) -> None:
        check_rank(self.rank, self.world_size)

    def check_batches(self, data: ScheduleData, first_step: int) -> None:
        """Raise StreamError, `batch-not-divisible`, where the ranks of a run cannot read equally many rows of each step
        from a step on, and are not allowed to differ."""
        if not self.uneven:
            check_divisible(data, self.world_size, first_step)
