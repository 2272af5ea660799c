"""What a run is made of, step by step: shares of groups over the run, and the area chart of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from mixture.api.pages.figures import integer
from mixture.lock import Lock
from mixture.planning.plan import Groups, changes_inside, evenly

BANDS = 7
"""Groups with an area of their own: the largest over the run. The others are one area together."""
STRETCHES = 96
WIDTH, HEIGHT, TOP = 960, 300, 22
"""Of the plot, in the units of the drawing; names of phases stand above it."""
APART = 4
"""Strokes for steps at which weights change stand so far from each other, or they are left out."""
LETTER = 7.5
"""What a letter of them takes, at the most usual."""
LINE = 18
"""From a line of them to the next."""
LEFT, RIGHT, BELOW = 44, 8, 24
"""Room for the figures at the side of the plot, for half of one at its end, and for those below it."""
REST = 7
"""The colour of all the others together."""


class Band(BaseModel):
    """An area: a group, or all the others together (`label` None), with its tokens of each stretch.

    key:   the group's value as text; None for the others and for domains without a value
    share: of the tokens of what is drawn
    """

    model_config = ConfigDict(frozen=True)

    label: str | None
    key: str | None
    groups: int
    share: float
    tokens: tuple[int, ...]


class PhaseMark(BaseModel):
    """Where a phase begins."""

    model_config = ConfigDict(frozen=True)

    phase: str
    first_step: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A phase's name in the drawing: where the phase begins, the line above the plot, on which side of it.

    top: where the stroke begins that marks it; text_x, text_y, anchor: where its name stands
    """

    phase: str
    x: float
    line: int
    is_right_of: bool

    @property
    def top(self) -> int:
        return 4 - LINE * self.line

    @property
    def text_x(self) -> float:
        return self.x + (4 if self.is_right_of else -4)

    @property
    def text_y(self) -> int:
        return 15 - LINE * self.line

    @property
    def anchor(self) -> str:
        return "start" if self.is_right_of else "end"


@dataclass(frozen=True, slots=True)
class Tick:
    """A figure beside an axis: where it stands on it."""

    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Shape:
    """An area: the `d` of its path, and the class of its colour."""

    path: str
    colour: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that is drawn. top, left, wide, high: what is seen of it, with the names and figures around the plot.

    plot_top, plot_bottom, plot_width: where the plot is; shares: up its side; steps: along it
    changes: where weights change inside of a phase
    """

    top: int
    left: int
    wide: int
    high: int
    plot_top: int
    plot_bottom: int
    plot_width: int
    shapes: tuple[Shape, ...]
    shares: tuple[Tick, ...]
    steps: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    changes: tuple[float, ...]


def marks_of(phases: Iterable[tuple[str, float]]) -> list[Mark]:
    """The names of phases that begin at places of a drawing, on as many lines as they need not to touch."""
    ends: list[float] = []
    made = []
    for phase, x in phases:
        width = LETTER * len(phase) + 8
        is_right = x + width <= WIDTH
        first = x if is_right else x - width
        line = next((i for i, end in enumerate(ends) if end <= first), len(ends))
        ends[line : line + 1] = [first + width]
        made.append(Mark(phase, x, line, is_right))
    return made


class Areas(BaseModel):
    """A run, or a phase, in stretches of steps: the first step of each, and where the last one ends. Bands from below.

    changes: the steps inside of phases from which there are other weights
    """

    model_config = ConfigDict(frozen=True)

    steps: tuple[int, ...]
    bands: tuple[Band, ...]
    phases: tuple[PhaseMark, ...]
    changes: tuple[int, ...] = ()

    def shares(self) -> list[list[float]]:
        """By band, its share of the tokens of each stretch."""
        wholes = [sum(tokens) for tokens in zip(*(band.tokens for band in self.bands), strict=True)]
        return [[own / whole for own, whole in zip(band.tokens, wholes, strict=True)] for band in self.bands]

    def x(self, step: int) -> float:
        """Where a step begins in the drawing."""
        first, end = self.steps[0], self.steps[-1]
        return round((step - first) * WIDTH / (end - first), 1)

    def colour(self, band: int) -> str:
        """The class of an area's colour."""
        return f"s{REST if self.bands[band].label is None else band}"

    def drawing(self) -> Drawing:
        """The chart, laid out."""
        marks = self.marks()
        rise, bottom = LINE * max(mark.line for mark in marks), TOP + HEIGHT
        return Drawing(
            top=-rise,
            left=-LEFT,
            wide=LEFT + WIDTH + RIGHT,
            high=rise + bottom + BELOW,
            plot_top=TOP,
            plot_bottom=bottom,
            plot_width=WIDTH,
            shapes=tuple(Shape(path, self.colour(band)) for band, path in enumerate(self.paths())),
            shares=tuple(Tick(f"{part}%", TOP + HEIGHT * (100 - part) / 100) for part in (0, 25, 50, 75, 100)),
            steps=tuple(
                Tick(f"step {integer(step)}" if step == self.steps[0] else integer(step), self.x(step))
                for step in self.ticks()
            ),
            marks=tuple(marks),
            changes=tuple(self._changes()),
        )

    def paths(self) -> list[str]:
        """The outline of each band, as the `d` of a path. A share holds for a whole stretch: there are stairs."""
        size = len(self.steps) - 1
        floors = [0.0] * size
        made = []
        for shares in self.shares():
            tops = [floor + share for floor, share in zip(floors, shares, strict=True)]
            made.append(f"M{self._stairs(tops, backwards=False)}L{self._stairs(floors, backwards=True)}Z")
            floors = tops
        return made

    def _stairs(self, heights: Sequence[float], *, backwards: bool) -> str:
        corners = []
        for i, height in enumerate(heights):
            y = round(TOP + HEIGHT * (1 - height), 1)
            corners += [(self.x(self.steps[i]), y), (self.x(self.steps[i + 1]), y)]
        # Of three corners on one height, the middle one draws nothing.
        kept = [
            corner
            for i, corner in enumerate(corners)
            if not (0 < i < len(corners) - 1 and corners[i - 1][1] == corner[1] == corners[i + 1][1])
        ]
        return " ".join(f"{x:g},{y:g}" for x, y in (reversed(kept) if backwards else kept))

    def numbers(self) -> str:
        """The steps, and the tokens of each band from below, as JSON for a script: nothing but whole numbers.

        Shares would be longer, and no longer exact.
        """
        tokens = [band.tokens for band in self.bands]
        return json.dumps({"steps": self.steps, "tokens": tokens}, separators=(",", ":"))

    def marks(self) -> list[Mark]:
        """The names of phases above the plot."""
        return marks_of([(phase.phase, self.x(phase.first_step)) for phase in self.phases])

    def ticks(self) -> list[int]:
        """Round steps for the axis behind the first one, five to ten of them."""
        first, end = self.steps[0], self.steps[-1]
        steps = end - first
        size = 10 ** (len(str(steps)) - 1)
        gap = next(one for one in (size // 5 or 1, size // 2 or 1, size, 2 * size) if steps // one <= 8)
        # Behind a first step that is not round, one that is may be so near that their figures would touch.
        round_ones = range(-(-(first + 1) // gap) * gap, end, gap)
        return [first, *(step for step in round_ones if first == 0 or step - first >= gap * 3 // 4)]

    def _changes(self) -> Iterator[float]:
        before = -math.inf
        for step in self.changes:
            x = self.x(step)
            if x - before >= APART:
                yield x
                before = x


@dataclass(frozen=True, slots=True)
class Label:
    """A group of the chart: its value as text, and what it is called."""

    key: str | None
    text: str


def areas(lock: Lock, groups: Groups, labels: Sequence[Label], *, phase: str | None = None) -> Areas:
    """The chart of a run, or of one of its phases with steps, by groups; labels: one a group, in their order."""
    drawn = [one for one in lock.phases if one.steps and phase in (None, one.name)]
    run = range(drawn[0].first_step, drawn[-1].first_step + drawn[-1].steps)
    changes = [step for one in drawn for step in changes_inside(lock.data, one)]
    inside = {one.first_step for one in drawn} | (set(changes) if len(changes) <= STRETCHES else set())
    bounds = sorted({part.start for part in evenly(run, STRETCHES)} | inside | {run.stop})
    # A stretch of few steps would be a spike: of small batches, they are far from the weights.
    near = len(run) // STRETCHES // 2
    bounds = [
        step
        for i, step in enumerate(bounds)
        if step in inside or step == run.stop or min(step - bounds[i - 1], bounds[i + 1] - step) >= near
    ]
    size, schedule = len(groups.keys), lock.schedule()
    # Tokens alone: of 5,000 domains, all figures of `composition` take ten times as long.
    tokens = [groups.sums(after - before) for before, after in pairwise(map(schedule.tokens, bounds))]
    whole = sum(map(sum, tokens))
    totals = [sum(part[g] for part in tokens) for g in range(size)]
    order = sorted(range(size), key=lambda g: (-totals[g], g))
    # One group alone has an area of its own, and is no "rest".
    most = BANDS if size > BANDS + 1 else size

    def band(label: Label | None, members: Sequence[int]) -> Band:
        return Band(
            label=None if label is None else label.text,
            key=None if label is None else label.key,
            groups=len(members),
            share=sum(totals[g] for g in members) / whole,
            tokens=tuple(int(sum(part[g] for g in members)) for part in tokens),
        )

    bands = [band(labels[g], [g]) for g in order[:most] if totals[g]]
    if order[most:]:
        bands.append(band(None, order[most:]))
    return Areas(
        steps=tuple(bounds),
        bands=tuple(bands),
        phases=tuple(PhaseMark(phase=one.name, first_step=one.first_step) for one in drawn),
        changes=tuple(changes),
    )
