"""Two mixtures side by side, of the whole run or of a phase each: what moved, by domain, by group and on the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.figures import axes_of, catalog_map
from mixture.api.pages.catalog.facts import pinned
from mixture.api.pages.mixture.columns import first_column, group_columns, known_column
from mixture.api.pages.mixture.page import rows_shown
from mixture.api.pages.mixture.phases import asked_phase
from mixture.api.pages.mixture.rows import titles_of
from mixture.api.registry import LoadedMixture
from mixture.planning.catalog import Overview
from mixture.planning.compare import (
    Figures,
    Move,
    Resized,
    Stretch,
    agreement_of,
    distance,
    groups_of,
    headline,
    moves,
    repooled,
    resized,
    retexted,
    side_of,
)
from mixture.planning.compare import Side as Compared

MOST_PAIRS = 60_000
"""Pairs of stretches times domains whose distances are all worked out; of more, that of the pair that is shown."""
STRONG = (1 / 64, 1 / 9, 4 / 9)
"""Parts of the largest difference of the map from which a colour, a stronger one, the strongest begins."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Side(_Frozen):
    """One of the two; phase: the stretch of it that is compared, None: the whole run.

    label: what tells it from the other one; asked: how it was asked for, by name or by digest, which links keep
    ref:   by digest
    """

    name: str
    label: str
    asked: str
    ref: str
    digest: str
    phase: str | None
    phases: tuple[str, ...]
    tokens: int


class Distance(_Frozen):
    """How far a stretch of the one is from a stretch of the other; a stretch is a phase, or the run (None)."""

    phase: str | None
    other_phase: str | None
    half_l1: float
    hellinger: float


class Pair(_Frozen):
    """A figure in both, None where one of them does not have the domain."""

    one: int | float | None
    other: int | float | None

    @property
    def change(self) -> float:
        """The other's less this one's; nothing counts as 0."""
        return (self.other or 0) - (self.one or 0)


class CompareRow(_Frozen):
    """A domain, or the group of those with a value in a column, in both. Tokens and epochs are those of the stretch."""

    name: str | None
    title: str = ""
    weight: Pair
    tokens: Pair
    epochs: Pair


class Sizes(_Frozen):
    """The tokens that a domain, or its pool, has in both, where they differ; None: it has no pool."""

    name: str
    one: int | None
    other: int | None


class MapRow(_Frozen):
    """A row of the map of differences: by column, the change of weight and its colour; None: neither has it."""

    value: str
    title: str
    cells: tuple[tuple[float, int] | None, ...]


class CompareView(_Frozen):
    """Two mixtures. Differences are the other's figure less this one's; rows with the largest come first.

    agreed_steps, resume_step: the first step that they do not read alike, and up to which one checkpoints go on in both
    agreement: the same in words, and what differs
    domains:   all of both, by name; shown: how many of them the page lists
    only_here, only_there: domains that one of them alone has; resized: those that have other tokens in both;
               repooled: other pools
    groups:    by the column `by`, one of `columns`, which both have; map_columns: of the map, where both have the same
    """

    one: Side
    other: Side
    agreed_steps: int
    resume_step: int
    agreement: str
    distance: Distance
    distances: tuple[Distance, ...]
    domains: tuple[CompareRow, ...]
    shown: int
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    resized: tuple[Sizes, ...]
    repooled: tuple[Sizes, ...]
    by: str | None
    columns: tuple[str, ...]
    groups: tuple[CompareRow, ...]
    map_axes: tuple[str, str] | None = None
    map_columns: tuple[str, ...] = ()
    map_rows: tuple[MapRow, ...] = ()

    def table(self) -> pa.Table:
        """One row a domain, both figures and the change of weight."""
        made: dict[str, pa.Array[Any]] = {"domain": pa.array([row.name for row in self.domains], pa.string())}
        for figure, kind in (("weight", pa.float64()), ("tokens", pa.int64()), ("epochs", pa.float64())):
            pairs: list[Pair] = [getattr(row, figure) for row in self.domains]
            made[figure] = pa.array([pair.one for pair in pairs], kind)
            made[f"other_{figure}"] = pa.array([pair.other for pair in pairs], kind)
        made["weight_change"] = pa.array([row.weight.change for row in self.domains], pa.float64())
        return pa.table(made)


def compare_view(
    mixture: LoadedMixture,
    other: LoadedMixture,
    *,
    asked: str | None = None,
    other_asked: str | None = None,
    phase: str | None = None,
    other_phase: str | None = None,
    by: str | None = None,
    whole: bool | None = None,
    overview: Overview | None = None,
    other_overview: Overview | None = None,
) -> CompareView:
    """The view of two mixtures, whose domains are matched by name.

    Raises Problem 422: `unknown-phase`, `unknown-column`.
    """
    here, there = (side_of(held.lock, name=held.name, catalog=held.catalog) for held in (mixture, other))
    phase = asked_phase(here.name, here.stretches, phase, parameter="phase")
    other_phase = asked_phase(there.name, there.stretches, other_phase, parameter="with_phase")
    one, two = here.stretch(phase), there.stretch(other_phase)
    columns = tuple(name for name in _labels(mixture) if name in _labels(other))
    column = _column(mixture, columns, by, overview)
    rows = _rows(here, there, one, two, None)
    pairs = [(a, b) for a in (None, *here.stretches) for b in (None, *there.stretches)]
    if len(pairs) * len(rows) > MOST_PAIRS:
        pairs = [(phase, other_phase)]
    distances = {(a, b): _distance(here.stretch(a), there.stretch(b)) for a, b in pairs}
    texts = retexted(here, there)
    agreement = agreement_of(here.data, there.data, masks=(here.masks, there.masks), retexted=texts)
    labels = _labels_of(here, there, one, two)
    titles = {} if column is None else titles_of(other_overview, column) | titles_of(overview, column)
    made = CompareView(
        one=_side(mixture, here, asked, one, labels[0]),
        other=_side(other, there, other_asked, two, labels[1]),
        agreed_steps=agreement.steps,
        resume_step=agreement.resume_step,
        agreement=headline(agreement, a=labels[0], b=labels[1]),
        distance=distances[phase, other_phase],
        distances=tuple(distances.values()),
        domains=rows,
        shown=rows_shown(len(rows), whole=whole),
        only_here=tuple(sorted(here.sizes.keys() - there.sizes.keys())),
        only_there=tuple(sorted(there.sizes.keys() - here.sizes.keys())),
        resized=_sizes(resized(here, there)),
        repooled=_sizes(repooled(here, there)),
        by=column,
        columns=columns,
        groups=() if column is None else _rows(here, there, one, two, column, titles),
    )
    return made.model_copy(update=_map(mixture, other, one, two, overview, other_overview))


def _sizes(held: Sequence[Resized]) -> tuple[Sizes, ...]:
    return tuple(Sizes(name=one.name, one=one.a, other=one.b) for one in held)


def _labels_of(here: Compared, there: Compared, one: Stretch, two: Stretch) -> tuple[str, str]:
    """What tells the two apart: names, of one name the beginning of digests, of one lock the stretches."""
    if here.name != there.name:
        return here.name, there.name
    if here.digest != there.digest:
        return f"{here.name} {(here.digest or '')[:8]}", f"{there.name} {(there.digest or '')[:8]}"
    return one.phase or "the run", two.phase or "the run"


def _side(mixture: LoadedMixture, side: Compared, asked: str | None, stretch: Stretch, label: str) -> Side:
    return Side(
        name=mixture.name,
        label=label,
        asked=asked or mixture.name,
        ref=pinned(mixture),
        digest=mixture.digest,
        phase=stretch.phase,
        phases=tuple(side.stretches),
        tokens=sum(stretch.tokens.values()),
    )


def _distance(one: Stretch, two: Stretch) -> Distance:
    found = distance(one, two)
    return Distance(
        phase=one.phase,
        other_phase=two.phase,
        half_l1=float(found.half_l1),
        hellinger=float(found.hellinger),
    )


def _rows(
    here: Compared, there: Compared, one: Stretch, two: Stretch, by: str | None, titles: Mapping[str, str] | None = None
) -> tuple[CompareRow, ...]:
    """What moved, by domain or by a column: a domain of both is grouped as the other mixture's catalog has it."""
    groups, _ = groups_of(here, there, by=by)
    return tuple(
        CompareRow(
            name=move.name,
            title=(titles or {}).get(move.name or "", ""),
            weight=_pair(move, lambda figures: figures.weight),
            tokens=_pair(move, lambda figures: figures.tokens),
            epochs=_pair(move, lambda figures: figures.epochs),
        )
        for move in moves(one, two, groups)
    )


def _pair(move: Move, figure: Callable[[Figures], int | Fraction | None]) -> Pair:
    """A figure of both sides; fractions as floats, for a page."""
    found = [None if side is None else figure(side) for side in (move.a, move.b)]
    one, other = (float(value) if isinstance(value, Fraction) else value for value in found)
    return Pair(one=one, other=other)


def _column(mixture: LoadedMixture, shared: Sequence[str], by: str | None, overview: Overview | None) -> str | None:
    """The column to group by: one that both have, and that does not name single domains."""
    if by:
        return known_column(by, shared)
    wanted = first_column(mixture.catalog, mixture.domain_column, overview)
    return wanted if wanted in shared else next(iter(shared), None)


def _labels(mixture: LoadedMixture) -> tuple[str, ...]:
    return group_columns(mixture.catalog, mixture.domain_column)[:-1]


def _map(
    mixture: LoadedMixture,
    other: LoadedMixture,
    one: Stretch,
    two: Stretch,
    overview: Overview | None,
    other_overview: Overview | None,
) -> dict[str, object]:
    """The map of differences, where both catalogs have a map by the same columns."""
    axes = axes_of(mixture.catalog, overview)
    if axes is None or axes != axes_of(other.catalog, other_overview):
        return {}
    maps = catalog_map(mixture.catalog, axes), catalog_map(other.catalog, axes)
    if maps[0] is None or maps[1] is None:
        return {}
    rows, columns = (
        tuple(dict.fromkeys(a + b)) for a, b in ((maps[0].rows, maps[1].rows), (maps[0].columns, maps[1].columns))
    )
    changes: dict[tuple[str, str], float] = defaultdict(float)
    for sign, own, stretch, catalog in ((-1, maps[0], one, mixture.catalog), (1, maps[1], two, other.catalog)):
        for place, sums in own.cells.items():
            changes[place] += sign * float(stretch.weight(catalog.names[d] for d in sums.domains) or 0)
    most = max(map(abs, changes.values()), default=0.0)

    titles = titles_of(overview, axes.rows)

    def cell(place: tuple[str, str]) -> tuple[float, int] | None:
        return (changes[place], _colour(changes[place], most)) if place in changes else None

    return {
        "map_axes": (axes.rows, axes.columns),
        "map_columns": columns,
        "map_rows": tuple(
            MapRow(value=row, title=titles.get(row, ""), cells=tuple(cell((row, column)) for column in columns))
            for row in rows
        ),
    }


def _colour(change: float, most: float) -> int:
    """0 to 6, 3 about the same: below it this one has more, above it the other."""
    strength = sum(abs(change) > part * most for part in STRONG)
    return 3 + (strength if change > 0 else -strength)
