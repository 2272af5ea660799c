"""The figures of a catalog's cells, rows, columns and domains: sizes and shares, and what a plan makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field

from mixture.api.figures.catalog_map import TITLE_COLUMN, Axes, CatalogMap, Sums, catalog_map, sums
from mixture.api.figures.plans import PlannedDomains
from mixture.planning.catalog import Catalog, Overview, cell_text


class Figures(BaseModel):
    """What is known of some domains together. Shares and weights are of tokens."""

    model_config = ConfigDict(frozen=True)

    domains: tuple[str, ...] = Field(examples=[["c12q3"]])
    tokens: int = Field(examples=[6230000000])
    documents: int | None = Field(examples=[71000000], description="Null unless all of them say how many they have.")
    mean_length: float | None = Field(examples=[87.7], description="Tokens of a document.")
    share: float | None = Field(examples=[0.0065], description="Of the tokens of the catalog.")
    share_of_row: float | None = Field(
        default=None, examples=[0.31], description="Of the tokens of its row in the map."
    )
    share_of_column: float | None = Field(default=None, examples=[0.02], description="Of the tokens of its column.")
    enrichment: float | None = Field(
        default=None,
        examples=[1.8],
        description="P(row, column) / (P(row) P(column)): above 1, they come together often.",
    )
    weight: float = Field(examples=[0.0081], description="In the stretch that is asked for: a phase, or the run.")
    planned_tokens: int = Field(examples=[152000000000], description="Drawn in the stretch.")
    epochs: float | None = Field(examples=[0.9], description="In the stretch; null where there are no tokens.")
    run_epochs: float | None = Field(examples=[2.1], description="Over the whole run.")
    cap: float | None = Field(examples=[8.0], description="The epochs that they may be read over the run.")
    over: bool = Field(examples=[False], description="Whether a domain of them is read more often than it may be.")


class CellFigures(Figures):
    """A cell of a map; key: what an address names it by: its domain, where it has one only."""

    key: str = Field(examples=["c12q3"])
    row: str = Field(examples=["c12"])
    column: str = Field(examples=["3"])


class CatalogFigures:
    """The figures of one catalog, for one stretch of one plan.

    map:   by the axes; None: there are none, or it would be too large
    phase: None: the whole run
    """

    def __init__(
        self,
        catalog: Catalog,
        overview: Overview | None,
        planned: PlannedDomains,
        *,
        axes: Axes | None,
        phase: str | None = None,
    ) -> None:
        self.catalog = catalog
        self.planned = planned
        self.phase = phase
        self.map: CatalogMap | None = None if axes is None else catalog_map(catalog, axes, phases=planned.phases)
        is_of_overview = axes is not None and overview is not None and axes.rows == overview.rows
        self._clusters = {cluster.id: cluster for cluster in overview.clusters} if overview and is_of_overview else {}

    @cached_property
    def whole(self) -> Sums:
        """All domains but held-out ones."""
        held = (index for index, domain in enumerate(self.catalog.domains) if not domain.held_out)
        return self.map.whole if self.map is not None else sums(self.catalog, held)

    def figures(self, held: Sums) -> Figures:
        """The figures of any domains, without those of a place in a map."""
        names = tuple(self.catalog.names[index] for index in held.domains)
        plan = self.planned.sums(names, self.phase)
        run = plan if self.phase is None else self.planned.sums(names)
        return Figures(
            domains=names,
            tokens=held.tokens,
            documents=held.documents,
            mean_length=held.mean_length,
            share=held.tokens / self.whole.tokens if self.whole.tokens else None,
            weight=plan.weight,
            planned_tokens=plan.tokens,
            epochs=plan.epochs,
            run_epochs=run.epochs,
            cap=plan.cap,
            over=plan.over,
        )

    def of(self, indices: Iterable[int]) -> Figures:
        """The figures of domains by their index in the catalog."""
        return self.figures(sums(self.catalog, indices))

    def cell(self, row: str, column: str) -> CellFigures | None:
        """A cell of the map; None: there is no domain in it."""
        assert self.map is not None
        held = self.map.cells.get((row, column))
        if held is None:
            return None
        by_row, by_column = self.map.by_row[row].tokens, self.map.by_column[column].tokens
        own = self.figures(held)
        places = {
            "key": own.domains[0] if len(own.domains) == 1 else f"{row}/{column}",
            "row": row,
            "column": column,
            "share_of_row": held.tokens / by_row if by_row else None,
            "share_of_column": held.tokens / by_column if by_column else None,
            "enrichment": self.map.enrichment(row, column),
        }
        return CellFigures.model_validate(own.model_dump() | places)

    def named(self, key: str) -> tuple[Figures, tuple[str, str] | None] | None:
        """The figures of a domain or of a cell by its key, and its place in the map; None: there is no such one."""
        if key in self.catalog.names:
            index = self.catalog.index(key)
            place = None if self.map is None else self.map.place_of.get(index)
            cell = None if place is None else self.cell(*place)
            if cell is not None and cell.domains == (key,):
                return cell, place
            return self.of([index]), place
        if self.map is not None:
            for row, column in self.map.cells:
                if f"{row}/{column}" == key:
                    cell = self.cell(row, column)
                    assert cell is not None
                    return cell, (row, column)
        return None

    def title(self, row: str) -> str | None:
        """The title of a row: its cluster's, else that of all its domains, where they have the same."""
        known = self._clusters.get(row)
        if known is not None or self.map is None:
            return None if known is None else known.title
        said = {self.attribute(index, TITLE_COLUMN) for index in self.map.by_row[row].domains}
        return said.pop() if len(said) == 1 else None

    def terms(self, row: str) -> tuple[str, ...]:
        """The top terms of a row's cluster."""
        known = self._clusters.get(row)
        return () if known is None else known.terms

    def attribute(self, index: int, name: str) -> str | None:
        """What a column of the catalog says of a domain, as text."""
        if name not in self.catalog.table.column_names:
            return None
        return cell_text(self.catalog.table[name][index].as_py())
