"""The panel of one cell of a catalog: its figures, its documents, and examples, one at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.figures import CatalogFigures, DomainShown
from mixture.api.pages.figures import epochs
from mixture.api.settings import ExampleTexts
from mixture.api.texts import DomainExamples, Example, ExampleKind, LengthBin, QualityReason

WIDEST, NARROWEST, WHOLE_WIDTH = 40, 8, 340
HIGHEST, BASE = 64, 76
"""Pixels of the bars of lengths: of one bar, of all of them, and where they stand."""
MOST_LABELS = 9
"""Of more bars, every second one has a label."""
_FRACTION = re.compile(r"-?[0-9]+(\.[0-9]{5,}|(\.[0-9]+)?[eE]-[0-9]+)")
"""A number that nobody has written by hand: five decimals or more, or a negative exponent."""


@dataclass(frozen=True, slots=True)
class LengthBar:
    """A bar of the drawing of lengths; label: where it begins, None where there is no room to say it."""

    bin: LengthBin
    x: int
    y: float
    width: int
    height: float
    label: str | None


def length_bars(lengths: Sequence[LengthBin]) -> tuple[LengthBar, ...]:
    """The drawing of lengths: bars as high as their part of the largest number of documents."""
    most = max(length.documents for length in lengths)
    wide = min(max(WHOLE_WIDTH // len(lengths), NARROWEST), WIDEST)
    every = 2 if len(lengths) > MOST_LABELS else 1
    bars = []
    for at, one in enumerate(lengths):
        high = round(HIGHEST * one.documents / most, 1)
        label = None if at % every else _binary(one.first)
        bars.append(LengthBar(one, at * wide + 1, round(BASE - high, 1), wide - 2, high, label))
    return tuple(bars)


def _binary(length: int) -> str:
    """A power of two in four characters."""
    for unit, size in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if length >= size:
            return f"{length // size}{unit}"
    return str(length)


def quality_said(reason: QualityReason) -> str:
    """Why a document is in its level, in words."""
    ends = [("at least", reason.at_least), ("below", reason.below)]
    between = " and ".join(f"{words} {end}" for words, end in ends if end is not None)
    return f"level {reason.level}: its score {reason.score} is {between}"


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a column says of a domain; exact: as it is written, where three digits of it are shown."""

    name: str
    said: str
    exact: str | None


def attribute_said(name: str, text: str) -> Attribute:
    """An attribute as the panel shows it: as it is written, but three digits of a long fraction."""
    return Attribute(name, epochs(float(text)), text) if _FRACTION.fullmatch(text) else Attribute(name, text, None)


class ExamplesView(BaseModel):
    """An example of a domain, and which one it is; texts: how much of it the service shows.

    typical, random: how many there are of each kind; seed: of the order of random ones
    example:         None: there is none of this number
    """

    model_config = ConfigDict(frozen=True)

    kind: ExampleKind
    number: int
    seed: int
    typical: int
    random: int
    texts: ExampleTexts
    example: Example | None

    @property
    def count(self) -> int:
        """How many there are of the kind that is shown."""
        return self.typical if self.kind is ExampleKind.TYPICAL else self.random

    @property
    def quality(self) -> str | None:
        """Why the example is in its level; None where that is not known."""
        reason = None if self.example is None else self.example.quality
        return None if reason is None else quality_said(reason)


class PanelView(BaseModel):
    """The panel; previous, next: the cells beside it in the map, or the domains in the list.

    examples: None: the service has no store, or it is a cell of several domains
    """

    model_config = ConfigDict(frozen=True)

    shown: DomainShown
    previous: str | None
    next: str | None
    examples: ExamplesView | None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What else the catalog says of it: not its place in the map, nor weights, which stand beside their phases."""
        elsewhere = {*(self.shown.axes or ()), *(phase.phase for phase in self.shown.phases)}
        there = [(name, text) for name, text in self.shown.attributes.items() if text and name not in elsewhere]
        return tuple(attribute_said(name, text) for name, text in there)

    @property
    def bars(self) -> tuple[LengthBar, ...]:
        """The drawing of the lengths of its documents."""
        return () if self.shown.store is None else length_bars(self.shown.store.lengths)


class PanelPage(BaseModel):
    """The panel by itself, for a page that is there already."""

    model_config = ConfigDict(frozen=True)

    name: str
    ref: str
    panel: PanelView

    def table(self) -> pa.Table:
        """One row a phase, and one for the run."""
        return pa.Table.from_pylist([phase.model_dump() for phase in self.panel.shown.phases])


def panel_view(figures: CatalogFigures, shown: DomainShown, examples: ExamplesView | None) -> PanelView:
    """The panel of a domain or a cell."""
    keys = keys_of(figures)
    at = keys.index(shown.key) if shown.key in keys else None
    return PanelView(
        shown=shown,
        previous=keys[at - 1] if at else None,
        next=keys[at + 1] if at is not None and at + 1 < len(keys) else None,
        examples=examples,
    )


def examples_view(
    some: DomainExamples, texts: ExampleTexts, *, kind: ExampleKind | None, number: int, seed: int
) -> ExamplesView:
    """One example; kind None: a typical one where there are any. Errors: StoreError, OSError."""
    typical, documents = some.count(ExampleKind.TYPICAL), some.count(ExampleKind.RANDOM)
    kind = kind or (ExampleKind.TYPICAL if typical else ExampleKind.RANDOM)
    return ExamplesView(
        kind=kind,
        number=number,
        seed=seed,
        typical=typical,
        random=documents,
        texts=texts,
        example=next(some.some(kind, first=number, most=1, seed=seed), None),
    )


def keys_of(figures: CatalogFigures) -> list[str]:
    """What cells are named by, row by row; of a list, its domains."""
    if figures.map is None:
        return [figures.catalog.names[index] for index in figures.whole.domains]
    shown = figures.map
    cells = (figures.cell(row, column) for row in shown.rows for column in shown.columns)
    return [cell.key for cell in cells if cell is not None]
