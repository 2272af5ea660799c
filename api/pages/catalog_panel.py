"""The panel of one cell of a catalog: its figures, its documents, and examples, one at a time."""

from __future__ import annotations

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from api.catalog_figures import CatalogFigures
from api.domain_shown import DomainShown
from api.examples import DomainExamples, Example, ExampleKind
from api.settings import ExampleTexts


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


class PanelView(BaseModel):
    """The panel; previous, next: the cells beside it in the map, or the domains in the list.

    examples: None: the service has no store, or it is a cell of several domains
    """

    model_config = ConfigDict(frozen=True)

    shown: DomainShown
    previous: str | None
    next: str | None
    examples: ExamplesView | None


class PanelPage(BaseModel):
    """The panel by itself, for a page that is there already."""

    model_config = ConfigDict(frozen=True)

    name: str
    ref: str
    panel: PanelView

    def table(self) -> pa.Table:
        """One row a phase, and one for the run."""
        return pa.Table.from_pylist([one.model_dump() for one in self.panel.shown.phases])


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
