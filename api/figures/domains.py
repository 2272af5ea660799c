"""A domain of a catalog, or a cell of its map: its figures, what each phase makes of it, what its documents are.

/v1 and the panel of the catalog's page show the same.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from mixture.api.figures.catalog_figures import CatalogFigures, CellFigures, Figures
from mixture.api.figures.catalog_map import TITLE_COLUMN, kind_columns
from mixture.api.texts import DocumentFacts


class PhaseFigures(BaseModel):
    """What a phase makes of it; phase: null for the whole run."""

    model_config = ConfigDict(frozen=True)

    phase: str | None = Field(examples=["midtraining"])
    weight: float = Field(examples=[0.0081], description="Share of the phase's tokens.")
    tokens: int = Field(examples=[152000000000], description="Drawn in the phase.")
    epochs: float | None = Field(examples=[0.9], description="Null where it has no tokens.")
    over_share: float | None = Field(examples=[1.2], description="Weight by its share of the catalog's tokens.")


class DomainShown(BaseModel):
    """A domain, or a cell of several: `attributes` say of which kind it is, where it is one domain.

    axes:        the catalog's columns whose values are the rows and columns of the map
    row, column: its place there, null where there is none; title and terms are those of its row
    store:       what its documents are; null where the service has no store, or it is a cell of several domains
    """

    model_config = ConfigDict(frozen=True)

    key: str = Field(examples=["c12q3"], description="The domain's name, or `row/column` of a cell of several.")
    axes: tuple[str, str] | None = Field(examples=[["cluster", "quality"]], description="The map's columns.")
    row: str | None = Field(examples=["c12"])
    column: str | None = Field(examples=["3"])
    title: str | None = Field(examples=["Travel and Destinations"])
    terms: tuple[str, ...] = Field(examples=[["hotel", "beach", "tour"]])
    figures: Figures
    phases: tuple[PhaseFigures, ...]
    attributes: dict[str, str | None] = Field(examples=[{"cluster": "c12", "quality": "3"}])
    store: DocumentFacts | None


def domain_shown(figures: CatalogFigures, key: str, store: DocumentFacts | None) -> DomainShown | None:
    """What is known of a domain or a cell; None: the catalog has no such one."""
    named = figures.named(key)
    if named is None:
        return None
    own, place = named
    index = figures.catalog.index(own.domains[0])
    names = kind_columns(figures.catalog) if len(own.domains) == 1 else ()
    title, terms = (None, ()) if place is None else (figures.title(place[0]), figures.terms(place[0]))
    return DomainShown(
        key=own.key if isinstance(own, CellFigures) else key,
        axes=None if figures.map is None else (figures.map.axes.rows, figures.map.axes.columns),
        row=None if place is None else place[0],
        column=None if place is None else place[1],
        title=title or figures.attribute(index, TITLE_COLUMN),
        terms=terms,
        figures=own,
        phases=tuple(_phase(figures, own, phase) for phase in (*figures.planned.phases, None)),
        attributes={name: figures.attribute(index, name) for name in names},
        store=store,
    )


def _phase(figures: CatalogFigures, own: Figures, phase: str | None) -> PhaseFigures:
    plan = figures.planned.sums(own.domains, phase)
    return PhaseFigures(
        phase=phase,
        weight=plan.weight,
        tokens=plan.tokens,
        epochs=plan.epochs,
        over_share=plan.weight / own.share if own.share else None,
    )
