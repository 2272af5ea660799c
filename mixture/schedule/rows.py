"""What stands at positions, and how rows are told from the runs of a step."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from mixture.schedule.permute import I64
from mixture.schedule.step_slots import Runs

COLUMNS = ("position", "step", "slot", "domain", "draw", "epoch", "sequence", "first_token", "tokens")
"""What tables of positions have, in this order: of `domain` the name, of all else an integer."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What stands at positions, one element a position.

    position: int64, from 0 over the run     domain: int32, an index into the schedule's domains
    draw:     int64, a place in the domain's endless order     epoch: int64, full passes before it
    sequence: int64, the number of the sequence in storage     tokens: int64, its length
    """

    position: I64
    domain: npt.NDArray[np.int32]
    draw: I64
    epoch: I64
    sequence: I64
    tokens: I64

    @property
    def first_token(self) -> I64:
        """Where each sequence begins in its domain: int64."""
        return self.sequence * self.tokens

    def __len__(self) -> int:
        return int(self.position.size)

    @classmethod
    def join(cls, parts: list[Rows]) -> Rows:
        """The rows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            none = np.empty(0, dtype=np.int64)
            return cls(none, none.astype(np.int32), none, none, none, none)
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def split_by_epoch(runs: Runs, per_epoch: I64) -> tuple[I64, I64, I64, I64]:
    """Runs cut where an epoch ends: (domain, first draw, count, epoch)."""
    sizes = per_epoch[runs.domain]
    epoch = runs.first // sizes
    over = runs.first + runs.count > (epoch + 1) * sizes
    if not over.any():
        return runs.domain, runs.first, runs.count, epoch
    pieces = np.ones(runs.first.size, dtype=np.int64)
    pieces[over] = ((runs.first + runs.count - 1)[over]) // sizes[over] - epoch[over] + 1
    of = np.repeat(np.arange(pieces.size), pieces)
    epoch = epoch[of] + np.arange(of.size) - (np.cumsum(pieces) - pieces)[of]
    first = np.maximum(runs.first[of], epoch * sizes[of])
    end = np.minimum((runs.first + runs.count)[of], (epoch + 1) * sizes[of])
    return runs.domain[of], first, end - first, epoch


def bounds_by_domain(domain: I64, draw: I64, num_domains: int) -> tuple[I64, I64]:
    """The least draw of each domain and one past the greatest; 0 and 0 where there is none."""
    order = np.argsort(domain, kind="stable")
    found, begins = np.unique(domain[order], return_index=True)
    low, high = np.zeros(num_domains, dtype=np.int64), np.zeros(num_domains, dtype=np.int64)
    if found.size:
        low[found] = np.minimum.reduceat(draw[order], begins)
        high[found] = np.maximum.reduceat(draw[order], begins) + 1
    return low, high
