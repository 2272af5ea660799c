"""Losses that a run has reported, by domain: the last one, and a small chart of those before it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from mixture.api.database import Losses, ProgressEntry

WIDTH, HEIGHT, MARGIN = 160, 36, 3
MOST_POINTS = 120
"""Of one chart: more than a point in a pixel or two is no more to see."""


class LossLine(BaseModel):
    """The losses of a domain in order of steps: those that the run stands on."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    domain: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]

    @property
    def last(self) -> float:
        """The newest."""
        return self.losses[-1]

    @property
    def change(self) -> float:
        """From the first to the newest."""
        return self.losses[-1] - self.losses[0]

    @property
    def changes(self) -> bool:
        """Whether `change` says something: neither of the two diverged."""
        return math.isfinite(self.change)

    def lines(self) -> list[str]:
        """The chart's lines, as the `points` of polylines: there is a gap where a loss is no finite number."""
        finite = [loss for loss in self.losses if math.isfinite(loss)]
        low, high, first, last = min(finite, default=0), max(finite, default=0), self.steps[0], self.steps[-1]
        wide, tall = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
        half = high / 2 - low / 2  # the whole difference may be larger than any float
        made: list[list[str]] = [[]]
        for step, loss in zip(self.steps, self.losses, strict=True):
            if not math.isfinite(loss):
                made.append([])
                continue
            x = MARGIN + (wide * (step - first) / (last - first) if last > first else wide)
            y = MARGIN + (tall * ((high / 2 - loss / 2) / half) if half else tall / 2)
            made[-1].append(f"{x:.1f},{y:.1f}")
        return [" ".join(points) for points in made if points]


def mean_loss(losses: Losses | None) -> float | None:
    """The plain mean of the losses in a report, NaN or infinite where one of them is; None: it has none."""
    given = [float(loss) for loss in (losses or {}).values() if loss is not None]
    if not given:
        return None
    # Divided before they are added: the sum of large losses may be larger than any float.
    parts = [loss / len(given) for loss in given]
    return math.fsum(parts) if all(map(math.isfinite, parts)) else sum(parts)


def loss_lines(entries: Sequence[ProgressEntry]) -> tuple[LossLine, ...]:
    """The losses of a log, in order of domains.

    A report of an earlier step, after going back to a checkpoint, takes the place of those that came behind it.
    """
    held: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for entry in entries:
        for points in held.values():
            while points and points[-1][0] >= entry.step:
                points.pop()
        for domain, loss in (entry.loss or {}).items():
            if loss is not None:
                held[domain].append((entry.step, float(loss)))
    return tuple(_line(domain, held[domain]) for domain in sorted(held) if held[domain])


def _line(domain: str, points: Sequence[tuple[int, float]]) -> LossLine:
    gap = -(-len(points) // MOST_POINTS)
    kept = list(points[::-gap][::-1])  # from the end: the newest is always there
    return LossLine(domain=domain, steps=tuple(step for step, _ in kept), losses=tuple(loss for _, loss in kept))
