"""A catalog: its domains as a heat map, or as a list; what is planned of them; a panel for one; how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.figures import (
    TITLE_COLUMN,
    CatalogFigures,
    CellFigures,
    Figures,
    PlannedDomains,
    axes_of,
    integers,
    kind_columns,
)
from mixture.api.pages.catalog.measures import LABELS, caption_of, coloured, every_measure, figure_text, ramp_of
from mixture.api.pages.catalog.order import NAME, Measure, sorted_rows
from mixture.api.pages.catalog.panel import PanelView
from mixture.api.pages.catalog.provenance import MadeView
from mixture.api.pages.catalog.search import Hit, found
from mixture.data.store import Store
from mixture.planning.catalog import Catalog, Overview
from mixture.stream import Masks

MOST_LINES = 500
"""Domains of a list that one page shows."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class CellView(CellFigures):
    """A cell of the map; level: the colour of the measure that is shown, from 0; None: there is no figure."""

    level: int | None


class RowView(_Frozen):
    """A row of the map, with its cells by column, None where there is no domain; hits: texts that were searched for."""

    value: str
    title: str | None
    terms: tuple[str, ...]
    total: Figures
    cells: tuple[CellView | None, ...] = ()
    hits: tuple[Hit, ...] = ()

    @property
    def words(self) -> str:
        """What is searched in, but for texts."""
        own = (self.value, self.title or "", *self.terms, *self.total.domains)
        return " ".join(own).lower()


class ColumnView(_Frozen):
    """A column of the map."""

    value: str
    total: Figures


class CatalogView(_Frozen):
    """The page of a catalog.

    rows:      of the map, or a domain each where there is none (`columns` is empty then); those that are shown
    row_count: how many rows there are, searched for or not; found_rows: that were searched for, shown or not
    stretch:   the phase that plan figures are of; None: the whole run
    overlay:   the mixture whose plan it is, `overlays` those that can be chosen
    """

    name: str
    ref: str
    digest: str
    catalog: str
    tokenizer: str | None
    axes: tuple[str, str] | None
    attributes: tuple[str, ...]
    measure: Measure
    stretch: str | None
    phases: tuple[str, ...]
    overlay: str
    overlays: tuple[str, ...]
    sort: str
    q: str
    searches_texts: bool
    rows: tuple[RowView, ...]
    columns: tuple[ColumnView, ...]
    row_count: int
    found_rows: int
    next_row: int | None
    whole: Figures
    held_out: int
    panel: PanelView | None = None
    made: MadeView

    @property
    def said_count(self) -> str:
        """How many rows were found, and how many of them are shown; nothing where that is all there are."""
        if len(self.rows) == self.row_count:
            return ""
        of = f"{self.found_rows:,} of {self.row_count:,} rows"
        return f"{of}." if len(self.rows) == self.found_rows else f"{of}, {len(self.rows):,} shown."

    @property
    def searched(self) -> str:
        """What a search looks into."""
        names = "titles, terms and names of domains"
        return f"{names}, and the beginnings of typical examples" if self.searches_texts else names

    @property
    def has_titles(self) -> bool:
        """Whether any row says more than its value."""
        return any(row.title or row.terms or row.hits for row in self.rows)

    @property
    def measures(self) -> dict[Measure, str]:
        """What can be shown, by its name on the page."""
        return LABELS

    @property
    def caption(self) -> str:
        """What the map shows, and what its colours say."""
        return caption_of(self, self.measure)

    @property
    def ramp(self) -> str:
        """The classes of its colours."""
        return ramp_of(self.measure)

    def figure(self, figures: Figures) -> str:
        """The figure that is shown of a cell, row or column."""
        return figure_text(figures, self.measure)

    def every_measure(self) -> str:
        """All measures as JSON that may stand in HTML."""
        return every_measure(self)

    def table(self) -> pa.Table:
        """One row a cell, as shown: of the map row by row, else of the list."""
        shown: list[tuple[RowView, Figures]] = (
            [(row, cell) for row in self.rows for cell in row.cells if cell is not None]
            if self.axes
            else [(row, row.total) for row in self.rows]
        )
        names = self.axes or ("domain", None)
        columns: dict[str, pa.Array] = {names[0]: pa.array([row.value for row, _ in shown], pa.string())}
        if names[1] is not None:
            columns[names[1]] = pa.array([getattr(one, "column", None) for _, one in shown], pa.string())
            columns["domains"] = pa.array([" ".join(one.domains) for _, one in shown], pa.string())
        columns["row_title"] = pa.array([row.title for row, _ in shown], pa.string())
        for name, kind in _TABLE.items():
            values = [getattr(one, name) for _, one in shown]
            columns[name] = integers(values) if pa.types.is_integer(kind) else pa.array(values, kind)
        return pa.table(columns)


_TABLE = {
    "tokens": pa.int64(),
    "documents": pa.int64(),
    "mean_length": pa.float64(),
    "share": pa.float64(),
    "share_of_row": pa.float64(),
    "share_of_column": pa.float64(),
    "enrichment": pa.float64(),
    "weight": pa.float64(),
    "planned_tokens": pa.int64(),
    "epochs": pa.float64(),
    "cap": pa.float64(),
}


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """What a page of a catalog is made of.

    planned: the plan of the mixture `overlay`; store: None where there is none that can be read now
    masks:   what its lock takes down, which is not shown; None: nothing
    """

    name: str
    ref: str
    digest: str
    catalog: Catalog
    overview: Overview | None
    planned: PlannedDomains
    overlay: str
    overlays: tuple[str, ...]
    made: MadeView
    tokenizer: str | None
    store: Store | None
    masks: Masks | None


@dataclass(frozen=True, slots=True)
class CatalogAsked:
    """What of it is shown, and how: the parameters of its address, each None or empty where it is not given."""

    rows: str | None = None
    columns: str | None = None
    measure: Measure = Measure.SHARE
    phase: str | None = None
    sort: str = NAME
    q: str = ""
    first_row: int = 0


def catalog_view(
    facts: CatalogFacts,
    asked: CatalogAsked,
    *,
    texts: Iterable[Hit] | None = None,
    panel: PanelView | None = None,
) -> CatalogView:
    """The page. texts: the examples that were found by `q`; None where texts are not shown.

    Raises Problem 422: `unknown-column`, `unknown-sort`.
    """
    figures = figures_of(facts, asked)
    shown_map = figures.map
    if shown_map is not None:
        rows = [_row(figures, value) for value in shown_map.rows]
        columns = [
            ColumnView(value=column, total=figures.figures(shown_map.by_column[column])) for column in shown_map.columns
        ]
        shown, next_row = _chosen(rows, columns, asked, texts or ()), None
        all_rows, found_rows = len(rows), len(shown)
    else:
        columns, all_rows = [], len(figures.whole.domains)
        shown, found_rows, next_row = _lines(figures, asked)
    return CatalogView(
        name=facts.name,
        ref=facts.ref,
        digest=facts.digest,
        catalog=facts.catalog.digest,
        tokenizer=facts.tokenizer,
        axes=None if shown_map is None else (shown_map.axes.rows, shown_map.axes.columns),
        attributes=kind_columns(facts.catalog),
        measure=asked.measure,
        stretch=asked.phase,
        phases=facts.planned.phases,
        overlay=facts.overlay,
        overlays=facts.overlays,
        sort=asked.sort,
        q=asked.q,
        searches_texts=texts is not None,
        rows=tuple(coloured(shown, asked.measure)),
        columns=tuple(columns),
        row_count=all_rows,
        found_rows=found_rows,
        next_row=next_row,
        whole=figures.figures(figures.whole),
        held_out=len(facts.catalog.domains) - len(figures.whole.domains),
        panel=panel,
        made=facts.made,
    )


def _chosen(
    rows: Sequence[RowView], columns: Sequence[ColumnView], asked: CatalogAsked, texts: Iterable[Hit]
) -> list[RowView]:
    """The rows that are searched for, in the order that is asked for."""
    return sorted_rows(found(rows, asked.q, texts), [column.value for column in columns], asked.measure, asked.sort)


def _lines(figures: CatalogFigures, asked: CatalogAsked) -> tuple[list[RowView], int, int | None]:
    """A part of the list, how long all of it is, and where the next part begins.

    Only what is shown is made where nothing else decides it.
    """
    indices, end = figures.whole.domains, asked.first_row + MOST_LINES
    if asked.sort == NAME and not asked.q.strip():
        shown = [_line(figures, index) for index in indices[asked.first_row : end]]
        return shown, len(indices), end if end < len(indices) else None
    rows = _chosen([_line(figures, index) for index in indices], (), asked, ())
    return rows[asked.first_row : end], len(rows), end if end < len(rows) else None


def figures_of(facts: CatalogFacts, asked: CatalogAsked) -> CatalogFigures:
    """The figures of a page, by its axes and for its stretch. Raises Problem 422 `unknown-column`."""
    axes = axes_of(facts.catalog, facts.overview, rows=asked.rows, columns=asked.columns)
    return CatalogFigures(facts.catalog, facts.overview, facts.planned, axes=axes, phase=asked.phase)


def _row(figures: CatalogFigures, value: str) -> RowView:
    assert figures.map is not None
    cells = (figures.cell(value, column) for column in figures.map.columns)
    return RowView(
        value=value,
        title=figures.title(value),
        terms=figures.terms(value),
        total=figures.figures(figures.map.by_row[value]),
        cells=tuple(None if cell is None else CellView(**cell.model_dump(), level=None) for cell in cells),
    )


def _line(figures: CatalogFigures, index: int) -> RowView:
    """A domain as a row of a list."""
    return RowView(
        value=figures.catalog.names[index],
        title=figures.attribute(index, TITLE_COLUMN),
        terms=(),
        total=figures.of([index]),
    )
