"""Rows of the schedule by step, as a stream reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mixture.schedule import Rows

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlannedSteps:
    """What a rank reads of some steps, each of n rows of `length` tokens: columns [steps, n], as `Batch` has them."""

    steps: range
    length: int
    domain: npt.NDArray[np.int32]
    position: I64
    epoch: I64
    first_token: I64

    @classmethod
    def of(cls, steps: range, length: int, rows: Rows, wanted: range) -> PlannedSteps:
        """Those of `steps` that are wanted, of rows that are all of them; both ascend, `steps` one by one."""
        every = slice(max(wanted.start - steps.start, (wanted.start - steps.start) % wanted.step), None, wanted.step)
        shape = len(steps), len(rows) // len(steps)
        return cls(
            steps[every],
            length,
            rows.domain.reshape(shape)[every],
            rows.position.reshape(shape)[every],
            rows.epoch.reshape(shape)[every],
            rows.sequence.reshape(shape)[every] * length,
        )

    @property
    def num_rows(self) -> int:
        """Of all steps."""
        return self.domain.size

    def parts(self, most: int) -> Iterator[PlannedSteps]:
        """The same in parts of so many steps at most."""
        return (self._part(slice(start, start + most), slice(None)) for start in range(0, len(self.steps), most))

    def slot(self, slot: int) -> PlannedSteps:
        """One row of each step."""
        return self._part(slice(None), slice(slot, slot + 1))

    def _part(self, steps: slice, slots: slice) -> PlannedSteps:
        return PlannedSteps(
            self.steps[steps],
            self.length,
            self.domain[steps, slots],
            self.position[steps, slots],
            self.epoch[steps, slots],
            self.first_token[steps, slots],
        )
