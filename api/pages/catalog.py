"""A catalog: its domains as a heat map, or as a list; what is planned of them; a panel for one; how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from api.catalog_map import Axes, CatalogMap, Sums, axes_of, catalog_map, sums
from api.pages.catalog_colours import level_of
from api.pages.catalog_made import MadeView
from api.pages.catalog_order import Measure, sorted_rows
from api.pages.catalog_panel import PanelView
from api.pages.catalog_search import Hit, found
from api.planned import PlannedDomains
from mixture.catalog import Catalog, Overview

MOST_LINES = 500
"""Domains of a list that one page shows."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Figures(_Frozen):
    """What is known of some domains together.

    share, share_of_row, share_of_column: of the tokens of the catalog, of the row, of the column
    weight, planned_tokens, epochs: in the stretch that is shown, a phase or the run; `run_epochs` over the run
    cap:   the epochs that they may be read; over: a domain among them is read more often
    level: the colour of the measure that is shown, from 0; None: no figure
    """

    domains: tuple[str, ...]
    tokens: int
    documents: int | None
    share: float | None
    share_of_row: float | None = None
    share_of_column: float | None = None
    enrichment: float | None = None
    weight: float
    planned_tokens: int
    epochs: float | None
    run_epochs: float | None
    cap: float | None
    over: bool
    level: int | None = None

    @property
    def mean_length(self) -> float | None:
        """Tokens of a document."""
        return self.tokens / self.documents if self.documents else None

    def measured(self, measure: Measure) -> float | None:
        """The figure of a measure."""
        figure: float | None = getattr(self, measure.value)
        return figure


class CellView(Figures):
    """A cell of the map; key: what `?cell=` names it by, its domain where it has one."""

    key: str
    row: str
    column: str


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
        own = (self.value, self.title or "", *self.terms, *self.total.domains[:50])
        return " ".join(own).casefold()


class ColumnView(_Frozen):
    """A column of the map."""

    value: str
    total: Figures


class CatalogView(_Frozen):
    """The page of a catalog.

    rows:      of the map, or a domain each where there is none (`columns` is empty then); those that are shown
    row_count: how many rows there are, shown or not
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
    next_row: int | None
    whole: Figures
    held_out: int
    panel: PanelView | None = None
    made: MadeView

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
            columns[name] = pa.array([getattr(one, name) for _, one in shown], kind)
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

    planned: the plan of the mixture `overlay`; texts: words of examples by domain, None where none are shown
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
    tokenizer: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogAsked:
    """What of it is shown, and how: the parameters of its address, each None or empty where it is not given."""

    rows: str | None = None
    columns: str | None = None
    measure: Measure = Measure.SHARE
    phase: str | None = None
    sort: str = "name"
    q: str = ""
    first_row: int = 0


class CatalogFigures:
    """The figures of a catalog's cells, rows, columns and domains, for one stretch of one plan."""

    def __init__(self, facts: CatalogFacts, axes: Axes | None, phase: str | None) -> None:
        self.catalog = facts.catalog
        self.overview = facts.overview
        self.planned = facts.planned
        self.phase = phase
        self.map: CatalogMap | None = None if axes is None else catalog_map(facts.catalog, axes)
        held = (index for index, domain in enumerate(facts.catalog.domains) if not domain.held_out)
        self.whole_sums = self.map.whole if self.map is not None else sums(facts.catalog, held)
        clusters = {} if facts.overview is None else {one.id: one for one in facts.overview.clusters}
        is_of_overview = axes is not None and facts.overview is not None and axes.rows == facts.overview.rows
        self._clusters = clusters if is_of_overview else {}

    @property
    def axes(self) -> Axes | None:
        return None if self.map is None else self.map.axes

    def figures(self, held: Sums) -> dict[str, object]:
        """The fields of `Figures` but for those of a place in a map."""
        names = tuple(self.catalog.names[index] for index in held.domains)
        plan = self.planned.sums(names, self.phase)
        run = plan if self.phase is None else self.planned.sums(names)
        whole = self.whole_sums.tokens
        return {
            "domains": names,
            "tokens": held.tokens,
            "documents": held.documents,
            "share": held.tokens / whole if whole else None,
            "weight": plan.weight,
            "planned_tokens": plan.tokens,
            "epochs": plan.epochs,
            "run_epochs": run.epochs,
            "cap": plan.cap,
            "over": plan.over,
        }

    def cell(self, row: str, column: str) -> CellView | None:
        """A cell of the map."""
        assert self.map is not None
        held = self.map.cells.get((row, column))
        if held is None:
            return None
        by_row, by_column = self.map.by_row[row].tokens, self.map.by_column[column].tokens
        own = self.figures(held)
        names: tuple[str, ...] = own["domains"]  # type: ignore[assignment]
        return CellView.model_validate(
            own
            | {
                "key": names[0] if len(names) == 1 else cell_key(row, column),
                "row": row,
                "column": column,
                "share_of_row": held.tokens / by_row if by_row else None,
                "share_of_column": held.tokens / by_column if by_column else None,
                "enrichment": self.map.enrichment(row, column),
            }
        )

    def row(self, value: str) -> RowView:
        """A row of the map."""
        assert self.map is not None
        return RowView(
            value=value,
            title=self.title(value),
            terms=self.terms(value),
            total=Figures.model_validate(self.figures(self.map.by_row[value])),
            cells=tuple(self.cell(value, column) for column in self.map.columns),
        )

    def line(self, index: int) -> RowView:
        """A domain as a row of a list."""
        return RowView(
            value=self.catalog.names[index],
            title=self._attribute(index, "title"),
            terms=(),
            total=Figures.model_validate(self.figures(sums(self.catalog, [index]))),
        )

    def title(self, row: str) -> str | None:
        """The title of a row: its cluster's, else that of all its domains, where they have the same."""
        known = self._clusters.get(row)
        if known is not None or self.map is None:
            return None if known is None else known.title
        said = {self._attribute(index, "title") for index in self.map.by_row[row].domains}
        return said.pop() if len(said) == 1 else None

    def terms(self, row: str) -> tuple[str, ...]:
        """The top terms of a row's cluster."""
        known = self._clusters.get(row)
        return () if known is None else known.terms

    def _attribute(self, index: int, name: str) -> str | None:
        if name not in self.catalog.table.column_names:
            return None
        cell = self.catalog.table[name][index].as_py()
        return None if cell is None else str(cell)


def cell_key(row: str, column: str) -> str:
    """What names a cell of several domains, or of none that a name could be taken from."""
    return f"{row}/{column}"


def catalog_view(
    facts: CatalogFacts, asked: CatalogAsked, *, texts: Iterable[Hit] | None = None, panel: PanelView | None = None
) -> CatalogView:
    """The page. texts: the examples that were found by `q`; None where texts are not shown.

    Raises Problem 422: `unknown-column`, `unknown-phase`, `unknown-sort`.
    """
    axes = axes_of(facts.catalog, facts.overview, rows=asked.rows, columns=asked.columns)
    figures = CatalogFigures(facts, axes, asked.phase)
    held = figures.whole_sums
    if figures.map is not None:
        rows: Sequence[RowView] = [figures.row(value) for value in figures.map.rows]
        columns = [
            ColumnView(value=one, total=Figures.model_validate(figures.figures(figures.map.by_column[one])))
            for one in figures.map.columns
        ]
    else:
        rows, columns = [figures.line(index) for index in held.domains], []
    all_rows = len(rows)
    rows = found(rows, asked.q, texts or ())
    rows = sorted_rows(rows, [one.value for one in columns], asked.measure, asked.sort)
    end = len(rows) if figures.map is not None else asked.first_row + MOST_LINES
    shown, next_row = rows[asked.first_row : end], end if end < len(rows) else None
    rows, columns, whole = _coloured(shown, columns, Figures.model_validate(figures.figures(held)), asked.measure)
    return CatalogView(
        name=facts.name,
        ref=facts.ref,
        digest=facts.digest,
        catalog=facts.catalog.digest,
        tokenizer=facts.tokenizer,
        axes=None if figures.axes is None else (figures.axes.rows, figures.axes.columns),
        attributes=tuple(facts.catalog.table.column_names),
        measure=asked.measure,
        stretch=asked.phase,
        phases=facts.planned.phases,
        overlay=facts.overlay,
        overlays=facts.overlays,
        sort=asked.sort,
        q=asked.q,
        searches_texts=texts is not None,
        rows=tuple(rows),
        columns=tuple(columns),
        row_count=all_rows,
        next_row=next_row,
        whole=whole,
        held_out=len(facts.catalog.domains) - len(held.domains),
        panel=panel,
        made=facts.made,
    )


def _coloured(
    rows: Sequence[RowView], columns: Sequence[ColumnView], whole: Figures, measure: Measure
) -> tuple[list[RowView], list[ColumnView], Figures]:
    """The same with the colours of the measure; cells, and totals of rows, of columns, each among themselves."""
    cells = [cell for row in rows for cell in row.cells if cell is not None]
    most = max((cell.measured(measure) or 0 for cell in cells), default=0)

    def painted(cell: CellView | None) -> CellView | None:
        return None if cell is None else cell.model_copy(update={"level": level_of(cell, measure, most)})

    return (
        [row.model_copy(update={"cells": tuple(map(painted, row.cells))}) for row in rows],
        list(columns),
        whole,
    )
