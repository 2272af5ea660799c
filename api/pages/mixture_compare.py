"""Two mixtures side by side, of the whole run or of a phase each: what moved, by domain, by group and on the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from api.catalog_map import axes_of, catalog_map
from api.library import LoadedMixture
from api.pages.catalog_facts import pinned
from api.pages.mixture import rows_shown
from api.pages.mixture_columns import first_column, group_columns, known_column
from api.pages.mixture_rows import titles_of
from api.pages.mixture_stretch import Stretch, known_phase, phases_of
from mixture.catalog import Overview
from mixture.catalog.cells import cell_text
from mixture.plan import half_l1, hellinger

MOST_PAIRS = 60_000
"""Pairs of stretches times domains whose distances are all worked out; of more, that of the pair that is shown."""
STRONG = (1 / 64, 1 / 9, 4 / 9)
"""Parts of the largest difference of the map from which a colour, a stronger one, the strongest begins."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Side(_Frozen):
    """One of the two; phase: the stretch of it that is compared, None: the whole run.

    asked: how it was asked for, by name or by digest, which links keep; ref: by digest
    """

    name: str
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
        """This one's less the other's; nothing counts as 0."""
        return (self.one or 0) - (self.other or 0)


class CompareRow(_Frozen):
    """A domain, or the group of those with a value in a column, in both. Tokens and epochs are those of the stretch."""

    name: str | None
    title: str = ""
    weight: Pair
    tokens: Pair
    epochs: Pair


class MapRow(_Frozen):
    """A row of the map of differences: by column, the change of weight and its colour; None: neither has it."""

    value: str
    title: str
    cells: tuple[tuple[float, int] | None, ...]


class CompareView(_Frozen):
    """Two mixtures. Differences are this one's figure less the other's; rows with the largest come first.

    domains:   all of both, by name; shown: how many of them the page lists
    only_here, only_there: domains that one of them alone has
    groups:    by the column `by`, where both have it; map_columns: of the map, where both have the same
    """

    one: Side
    other: Side
    distance: Distance
    distances: tuple[Distance, ...]
    domains: tuple[CompareRow, ...]
    shown: int
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    by: str | None
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
    stretches = {name: Stretch(mixture, name) for name in (None, *phases_of(mixture))}
    others = {name: Stretch(other, name) for name in (None, *phases_of(other))}
    phase = known_phase(mixture, phase, parameter="phase")
    other_phase = known_phase(other, other_phase, parameter="with_phase")
    one, two = stretches[phase], others[other_phase]
    names = sorted(one.sizes.keys() | two.sizes.keys())
    rows = sorted((_row(name, [name], one, two) for name in names), key=_moved)
    column = _column(mixture, other, by, overview)
    pairs = [(a, b) for a in stretches for b in others]
    if len(pairs) * len(names) > MOST_PAIRS:
        pairs = [(phase, other_phase)]
    distances = {(a, b): _distance(a, b, stretches[a], others[b]) for a, b in pairs}
    made = CompareView(
        one=_side(mixture, asked, phase),
        other=_side(other, other_asked, other_phase),
        distance=distances[phase, other_phase],
        distances=tuple(distances.values()),
        domains=tuple(rows),
        shown=rows_shown(len(rows), whole=whole),
        only_here=tuple(name for name in names if name not in two.sizes),
        only_there=tuple(name for name in names if name not in one.sizes),
        by=column,
        groups=() if column is None else _groups(mixture, other, column, one, two, titles_of(overview, column)),
    )
    return made.model_copy(update=_map(mixture, other, one, two, overview, other_overview))


def _side(mixture: LoadedMixture, asked: str | None, phase: str | None) -> Side:
    return Side(
        name=mixture.name,
        asked=asked or mixture.name,
        ref=pinned(mixture),
        digest=mixture.digest,
        phase=phase,
        phases=phases_of(mixture),
        tokens=sum(Stretch(mixture, phase).tokens.values()),
    )


def _distance(phase: str | None, other_phase: str | None, one: Stretch, two: Stretch) -> Distance:
    return Distance(
        phase=phase,
        other_phase=other_phase,
        half_l1=float(half_l1(one.weights, two.weights)),
        hellinger=float(hellinger(one.weights, two.weights)),
    )


def _row(name: str | None, members: Sequence[str], one: Stretch, two: Stretch, title: str = "") -> CompareRow:
    return CompareRow(
        name=name,
        title=title,
        weight=Pair(one=one.weight(members), other=two.weight(members)),
        tokens=Pair(one=one.drawn(members), other=two.drawn(members)),
        epochs=Pair(one=one.epochs(members), other=two.epochs(members)),
    )


def _moved(row: CompareRow) -> tuple[float, str]:
    return -abs(row.weight.change), row.name or ""


def _column(one: LoadedMixture, other: LoadedMixture, by: str | None, overview: Overview | None) -> str | None:
    """The column to group by: one that both have, and that does not name single domains."""
    shared = [name for name in _labels(one) if name in _labels(other)]
    if by:
        return known_column(by, shared)
    wanted = first_column(one.catalog, one.domain_column, overview)
    return wanted if wanted in shared else next(iter(shared), None)


def _labels(mixture: LoadedMixture) -> tuple[str, ...]:
    return group_columns(mixture.catalog, mixture.domain_column)[:-1]


def _values(mixture: LoadedMixture, column: str) -> dict[str, str | None]:
    cells = mixture.catalog.table[column].to_pylist()
    return {name: cell_text(cell) for name, cell in zip(mixture.catalog.names, cells, strict=True)}


def _groups(
    mixture: LoadedMixture, other: LoadedMixture, by: str, one: Stretch, two: Stretch, titles: Mapping[str, str]
) -> tuple[CompareRow, ...]:
    """The groups of both; a domain that both have belongs where this mixture's catalog puts it."""
    held: dict[str | None, list[str]] = defaultdict(list)
    for name, value in (_values(other, by) | _values(mixture, by)).items():
        if name in one.sizes or name in two.sizes:
            held[value].append(name)
    rows = [_row(key, members, one, two, titles.get(key or "", "")) for key, members in held.items()]
    return tuple(sorted(rows, key=_moved))


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
    for sign, own, stretch, catalog in ((1, maps[0], one, mixture.catalog), (-1, maps[1], two, other.catalog)):
        for place, sums in own.cells.items():
            changes[place] += sign * (stretch.weight([catalog.names[d] for d in sums.domains]) or 0.0)
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
    """0 to 6, 3 about the same: below it the other has more, above it this one."""
    strength = sum(abs(change) > part * most for part in STRONG)
    return 3 + (strength if change > 0 else -strength)
