"""A mixture's page: what it is, what the run is made of over its steps, its domains, and what its plan found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.dependencies import KnownLineage
from mixture.api.pages.catalog.facts import pinned
from mixture.api.pages.catalog.provenance import MoveView
from mixture.api.pages.mixture.chart import Areas, Label, areas
from mixture.api.pages.mixture.columns import asked_column, group_columns, known_order
from mixture.api.pages.mixture.exports import ExportRow, export_rows
from mixture.api.pages.mixture.lineage import LineageView, lineage_view
from mixture.api.pages.mixture.phases import asked_phase
from mixture.api.pages.mixture.rows import DomainRow, GroupRow, domain_rows, group_rows, titles_of
from mixture.api.pages.titles import says_the_same
from mixture.api.registry import LoadedMixture
from mixture.names import DIGEST_MARK
from mixture.planning.catalog import Cell, Overview, cell_text
from mixture.planning.plan import FindingReport, Level, PlannedPhaseReport, group
from mixture.wording import listed

FIRST_ROWS = 50
ALL_AT_ONCE = 60
"""Domains that are listed whole; of more, the first `FIRST_ROWS` are, unless all are asked for."""
CHANGES_SAID = 10
"""Steps at which weights change inside of a phase that are said one by one."""
LEVELS = [level.value for level in Level]
MOST_DRAWN = "-tokens_drawn"
PLAIN, PERHAPS = ("domain", "tokens", "tokens_drawn", "share"), ("epochs", "max_epochs")
"""Columns of domains to sort by: those with a figure for each, and those that may be without."""


class Listing(StrEnum):
    """How much of a long table a page lists, where it is not the first rows."""

    ALL = "all"


class PhaseRow(BaseModel):
    """A phase; share: of the run's tokens; weights_change: steps inside of it from which it has other weights."""

    model_config = ConfigDict(frozen=True)

    phase: str
    first_step: int
    steps: int
    tokens: int
    share: float
    batch_sequences: int
    batch_tokens: int
    sequence_length: int
    weights_change: tuple[int, ...] = ()

    def changes_in_words(self) -> str:
        """`steps 775, 800 and 12 more`."""
        steps = self.weights_change
        said = [f"{step:,}" for step in steps[:CHANGES_SAID]]
        return f"{'step' if len(steps) == 1 else 'steps'} {listed(said, more=len(steps) - CHANGES_SAID)}"


class FindingRow(BaseModel):
    """What the plan found, and where in the spec; accepted: the spec lets it through."""

    model_config = ConfigDict(frozen=True)

    code: str
    level: str
    accepted: bool
    message: str
    hint: str | None
    place: str | None


class MixtureView(BaseModel):
    """All that the page shows. `weights` of rows are in the order of `phases`.

    by:       the column whose values are the groups; columns: those that it could be
    sort:     the column that domains are in order of, `-` before it: the largest first
    shown, groups_shown: how many domains and groups the page lists; data have all domains
    phase:    the one that the picture is of; None: of the run; phases_drawn: those that it can be of
    has_text: whether documents can be looked up here
    description: what the spec begins with; empty of an amended mixture, whose run is not its spec's alone
    asked:    how the page was asked for, by name or by digest, which its links keep; ref: by digest
    others:   mixtures to compare with
    lineage:  what the lock was amended from, None where from nothing
    exports:  formats of trainers that it can be had in
    moves:    what the name points to and pointed to, the newest first; empty where there is no history
    """

    model_config = ConfigDict(frozen=True)

    name: str
    asked: str
    ref: str
    digest: str
    description: str
    tokenizer: str | None
    has_text: bool
    steps: int
    sequences: int
    tokens: int
    published: datetime | None
    phases: tuple[PhaseRow, ...]
    findings: tuple[FindingRow, ...]
    lineage: LineageView | None
    moves: tuple[MoveView, ...]
    exports: tuple[ExportRow, ...]
    others: tuple[str, ...]
    phase: str | None
    phases_drawn: tuple[str, ...]
    by: str
    columns: tuple[str, ...]
    domain_column: str
    sort: str
    shown: int
    groups_shown: int
    areas: Areas
    groups: tuple[GroupRow, ...]
    domains: tuple[DomainRow, ...]

    def table(self) -> pa.Table:
        """All domains in the order of the page: weights by phase, tokens, epochs and cap."""
        made: dict[str, pa.Array[Any]] = {"domain": pa.array([row.domain for row in self.domains], pa.string())}
        if self.by != self.domain_column:
            made[f"group_{self.by}"] = pa.array([row.group for row in self.domains], pa.string())
        made["tokens"] = pa.array([row.tokens for row in self.domains], pa.int64())
        for i, phase in enumerate(self.phases):
            made[f"weight_{phase.phase}"] = pa.array([row.weights[i] for row in self.domains], pa.float64())
        made["tokens_drawn"] = pa.array([row.tokens_drawn for row in self.domains], pa.int64())
        for name in ("share", "epochs", "max_epochs"):
            made[name] = pa.array([getattr(row, name) for row in self.domains], pa.float64())
        return pa.table(made)

    def ref_of(self, digest: str) -> str:
        """The reference of what the name pointed to."""
        return f"{self.name}{DIGEST_MARK}{digest}"

    def findings_in_order(self) -> list[FindingRow]:
        """Errors that stand in the way come first, then warnings and notes, then what the spec lets through."""
        return sorted(self.findings, key=lambda finding: (finding.accepted, LEVELS.index(finding.level)))

    def is_sorted(self, column: str) -> str | None:
        """`ascending` or `descending` where domains are in order of this column."""
        if self.sort.removeprefix("-") != column:
            return None
        return "descending" if self.sort.startswith("-") else "ascending"

    def sort_next(self, column: str) -> str:
        """The order that a click on a column's head asks for: figures begin with the largest, names with the first."""
        if self.sort == f"-{column}":
            return column
        return column if self.sort != column and column in ("domain", "group") else f"-{column}"


def mixture_view(
    mixture: LoadedMixture,
    *,
    asked: str | None = None,
    by: str | None = None,
    sort: str | None = None,
    whole: bool | None = None,
    phase: str | None = None,
    overview: Overview | None = None,
    has_text: bool = False,
    lineage: KnownLineage | None = None,
    moves: Sequence[MoveView] = (),
    others: Sequence[str] = (),
) -> MixtureView:
    """The view of a mixture. Raises Problem 422: `unknown-column`, `unknown-phase`, `unknown-sort`.

    asked:    how the page was asked for, None: by name
    by:       a column of the catalog, None: the rows of the overview's map, else the first of a few labels
    sort:     a column of the domain table, or `weight:` and a phase, with `-` for the largest first
    whole:    whether to list every domain, None: where there are not too many
    phase:    one with steps, for the picture of it alone
    lineage:  with what the service knows of the locks that it came from
    """
    plan = mixture.plan_json
    chosen = asked_column(mixture.catalog, mixture.domain_column, by, overview)
    drawn = tuple(one.name for one in mixture.lock.phases if one.steps)
    of_phase = asked_phase(mixture.name, drawn, phase, parameter="phase")
    titles = titles_of(overview, chosen)
    rows = domain_rows(mixture, chosen)
    phases = tuple(_phase(phase, plan["tokens"]) for phase in plan["phases"])
    order, key = _order(sort, [phase.phase for phase in phases])
    ordered = sorted(rows, key=lambda row: row.domain)
    ordered.sort(key=key, reverse=order.startswith("-"))
    groups = group(mixture.lock, mixture.catalog, (chosen,))
    lines = tuple(group_rows(rows, titles)) if chosen != mixture.domain_column else ()
    labels = [_label(cell_text(cast(Cell, value)), titles) for (value,) in groups.keys]
    return MixtureView(
        name=mixture.name,
        asked=asked or mixture.name,
        ref=pinned(mixture),
        digest=mixture.digest,
        description=mixture.description if mixture.lock.amends is None else "",
        has_text=has_text,
        tokenizer=plan["tokenizer"],
        steps=plan["steps"],
        sequences=plan["sequences"],
        tokens=plan["tokens"],
        published=mixture.published,
        phases=phases,
        findings=tuple(_finding(one) for one in plan["findings"]),
        lineage=lineage_view(mixture, lineage),
        moves=tuple(moves),
        exports=export_rows(mixture),
        others=tuple(others),
        phase=of_phase,
        phases_drawn=drawn,
        by=chosen,
        columns=group_columns(mixture.catalog, mixture.domain_column),
        domain_column=mixture.domain_column,
        sort=order,
        shown=rows_shown(len(rows), whole=whole),
        areas=areas(mixture.lock, groups, labels, phase=of_phase),
        groups=lines,
        groups_shown=rows_shown(len(lines), whole=whole),
        domains=tuple(ordered),
    )


def rows_shown(rows: int, *, whole: bool | None) -> int:
    """How many of so many rows a page lists; whole: whether all, None: where there are not too many."""
    return rows if whole or (whole is None and rows <= ALL_AT_ONCE) else min(FIRST_ROWS, rows)


def _label(key: str | None, titles: dict[str, str]) -> Label:
    if key is None:
        return Label(None, "without a value")
    title = titles.get(key)
    if not title:
        return Label(key, key)
    return Label(key, title if says_the_same(title, key) else f"{key} {title}")


def _phase(phase: PlannedPhaseReport, tokens: int) -> PhaseRow:
    return PhaseRow.model_validate({**phase, "share": phase["tokens"] / tokens})


def _finding(finding: FindingReport) -> FindingRow:
    place = finding["place"]
    where = None
    if place is not None and place["file"] is not None:
        where = ":".join(str(part) for part in (place["file"], place["line"], place["column"]) if part is not None)
    return FindingRow.model_validate({**finding, "place": where})


def _order(sort: str | None, phases: Sequence[str]) -> tuple[str, Callable[[DomainRow], Any]]:
    """The order that is asked for, as it is written, and the key of a row in it; of none, the most drawn.

    Raises Problem 422 `unknown-sort`.
    """
    asked = sort or MOST_DRAWN
    by_phase = {f"weight:{phase}": index for index, phase in enumerate(phases)}
    column = known_order(asked, (*PLAIN, "group", *PERHAPS, *by_phase))
    if column in by_phase:
        return asked, lambda row: row.weights[by_phase[column]]
    if column == "group":
        return asked, lambda row: row.group or ""
    if column in PLAIN:
        return asked, lambda row: getattr(row, column)
    return asked, lambda row: -1.0 if getattr(row, column) is None else getattr(row, column)
