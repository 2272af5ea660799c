"""What stretches of a run are made of, by any columns of its catalog.

Sums are exact integers; each is divided once, at the end. A stretch is a `range` of steps. Whoever has other figures by
domain, such as the tokens that a run has read, sums them with `Groups.sums`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mixture.lock import Lock
from mixture.planning.catalog import Catalog, Key, grouped
from mixture.schedule import Schedule

I64 = npt.NDArray[np.int64]

STRETCH = {"first_step": pa.int64(), "last_step": pa.int64(), "phase": pa.string()}
"""What a row says of its stretch: its first and its last step, and the phase that it lies in whole, else null."""
FIGURES = {
    "domains": pa.int64(),
    "sequences": pa.int64(),
    "tokens": pa.int64(),
    "weight": pa.float64(),
    "epochs": pa.float64(),
    "tokens_so_far": pa.int64(),
    "epochs_so_far": pa.float64(),
}
"""What a row says of its group: its number of domains; what the stretch draws of it, as a share of all that the stretch
draws, and as a multiple of the group's tokens, null where it has none; the same from the run's start on.
"""


@dataclass(frozen=True, slots=True)
class Groups:
    """The domains of a lock, or some of them, in groups that have the same values in columns of the catalog.

    columns: the names of the columns, `types` their types
    keys:    their values, one tuple a group, in order of them, null last
    domains: how many domains each group has
    tokens:  how many tokens each group's domains have together, of a pool those that it holds
    """

    columns: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    keys: tuple[tuple[object, ...], ...]
    domains: tuple[int, ...]
    tokens: tuple[int, ...]
    _members: I64
    _bounds: I64

    @property
    def is_plain(self) -> bool:
        """Whether every value of the columns is one that JSON has: there are no decimals."""
        return not any(pa.types.is_decimal(kind) for kind in self.types)

    @property
    def schema(self) -> pa.Schema:
        """Of the table of a composition by these groups."""
        return pa.schema(STRETCH | dict(zip(self.columns, self.types, strict=True)) | FIGURES)

    def sums(self, by_domain: I64) -> list[int]:
        """The sum of each group, of int64 [domains of the lock]. All of it must stay below 2^63."""
        before = np.zeros(self._members.size + 1, dtype=np.int64)
        np.cumsum(by_domain[self._members], out=before[1:])
        sums: list[int] = np.diff(before[self._bounds]).tolist()
        return sums


def group(lock: Lock, catalog: Catalog, columns: Sequence[str], rows: Sequence[int] | None = None) -> Groups:
    """The groups by these columns of the catalog; none: one group. rows: those of the catalog that count; None: all.

    An amended run may have domains that left the catalog: without `rows` they are a group whose values are null.

    Raises CatalogError, `unknown-domain`, where the catalog lacks a domain of any other run.
    """
    names = set(catalog.names) if lock.amends is not None and rows is None else None
    gone = [d for d, domain in enumerate(lock.data.domains) if names is not None and domain.name not in names]
    there = sorted({*range(len(lock.data.domains))} - {*gone})
    domain_of = {catalog.index(lock.data.domains[d].name): d for d in there}
    chosen = None if rows is None else set(rows)
    found = grouped(catalog.table, columns, (row for row in domain_of if chosen is None or row in chosen))
    members = {key: [domain_of[row] for row in held] for key, held in found.items()}
    if gone:
        members.setdefault((None,) * len(columns), []).extend(gone)  # null is last, and all null last of all
    types = tuple(catalog.table.schema.field(name).type for name in columns)
    return _groups(lock, tuple(columns), types, members)


def group_domains(lock: Lock) -> Groups:
    """Each domain of the lock alone, in order of names: what needs no catalog."""
    members: dict[Key, list[int]] = {
        (name,): [d] for name, d in sorted((domain.name, d) for d, domain in enumerate(lock.data.domains))
    }
    return _groups(lock, ("domain",), (pa.string(),), members)


def _groups(
    lock: Lock, columns: tuple[str, ...], types: tuple[pa.DataType, ...], members: Mapping[Key, Sequence[int]]
) -> Groups:
    return Groups(
        columns=columns,
        types=types,
        keys=tuple(members),
        domains=tuple(map(len, members.values())),
        tokens=tuple(sum(lock.data.domains[d].held for d in indices) for indices in members.values()),
        _members=np.array([d for indices in members.values() for d in indices], dtype=np.int64),
        _bounds=np.cumsum([0, *map(len, members.values())]),
    )


@dataclass(frozen=True, slots=True)
class GroupTokens:
    """What a run draws of a group of domains before a step, and from there on. Tokens count as often as they are read.

    key:     its values in the columns
    domains: how many it has, and `tokens` those that they have together, of a pool those that it holds
    weights: shares of all tokens drawn before the step, from it on, and in the run; None where none are
    """

    key: Key
    domains: int
    tokens: int
    tokens_so_far: int
    tokens_to_come: int
    weights: tuple[Fraction | None, Fraction | None, Fraction | None]

    @property
    def epochs_so_far(self) -> Fraction | None:
        """Tokens drawn before the step ÷ tokens; None without any."""
        return Fraction(self.tokens_so_far, self.tokens) if self.tokens else None

    @property
    def epochs(self) -> Fraction | None:
        """Tokens drawn by the whole run ÷ tokens; None without any."""
        return Fraction(self.tokens_so_far + self.tokens_to_come, self.tokens) if self.tokens else None


def group_tokens(lock: Lock, groups: Groups, step: int) -> tuple[GroupTokens, ...]:
    """What the run draws of each group before a step, and from it on. Raises ScheduleError, `step-out-of-range`."""
    schedule = lock.schedule()
    before, all_steps = schedule.tokens(step), schedule.tokens(schedule.steps)
    drawn = [(int(one.sum()), groups.sums(one)) for one in (before, all_steps - before, all_steps)]
    return tuple(
        GroupTokens(
            key=key,
            domains=groups.domains[i],
            tokens=groups.tokens[i],
            tokens_so_far=drawn[0][1][i],
            tokens_to_come=drawn[1][1][i],
            weights=_weights([(own[i], whole) for whole, own in drawn]),
        )
        for i, key in enumerate(groups.keys)
    )


def _weights(parts: Sequence[tuple[int, int]]) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    so_far, to_come, run = (Fraction(part, whole) if whole else None for part, whole in parts)
    return so_far, to_come, run


def evenly(stretch: range, points: int) -> list[range]:
    """The stretch in so many parts of the same size, within one step; at most one a step."""
    bounds = {stretch.start + i * len(stretch) // points for i in range(points + 1)}
    return [range(first, end) for first, end in pairwise(sorted(bounds))]


def at_phases(lock: Lock, stretch: range) -> list[range]:
    """The stretch, cut where phases begin."""
    inside = {phase.first_step for phase in lock.phases if phase.first_step in stretch}
    return [range(first, end) for first, end in pairwise(sorted(inside | {stretch.start, stretch.stop}))]


@dataclass(frozen=True, slots=True)
class Composition:
    """Rows of groups, stretch by stretch: columns by name, those of STRETCH, of the groups, of FIGURES."""

    groups: Groups
    columns: dict[str, list[Any]]

    def rows(self) -> list[dict[str, Any]]:
        """One object a row."""
        names = list(self.columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    def table(self) -> pa.Table:
        """The same as an Arrow table."""
        schema = self.groups.schema
        return pa.table({name: pa.array(cells, schema.field(name).type) for name, cells in self.columns.items()})


def composition(lock: Lock, groups: Groups, stretches: Sequence[range]) -> Composition:
    """What each stretch draws of each group, as planned: a stretch has at least one step, all of them in the run."""
    columns: dict[str, list[Any]] = {name: [] for name in (*STRETCH, *groups.columns, *FIGURES)}
    size = len(groups.keys)
    for stretch, sequences, tokens, so_far in _drawn(lock.schedule(), stretches):
        whole, own, all_own = int(tokens.sum()), groups.sums(tokens), groups.sums(so_far)
        made: dict[str, Sequence[object]] = {
            "first_step": [stretch.start] * size,
            "last_step": [stretch.stop - 1] * size,
            "phase": [_phase_of(lock, stretch)] * size,
            **{name: [key[i] for key in groups.keys] for i, name in enumerate(groups.columns)},
            "domains": groups.domains,
            "sequences": groups.sums(sequences),
            "tokens": own,
            "weight": [part / whole for part in own],
            "epochs": _epochs(own, groups),
            "tokens_so_far": all_own,
            "epochs_so_far": _epochs(all_own, groups),
        }
        for name, cells in made.items():
            columns[name].extend(cells)
    return Composition(groups, columns)


def _epochs(drawn: Sequence[int], groups: Groups) -> list[float | None]:
    return [part / whole if whole else None for part, whole in zip(drawn, groups.tokens, strict=True)]


def _phase_of(lock: Lock, stretch: range) -> str | None:
    """The phase that a stretch lies in whole."""
    phase = lock.phase_of(stretch.start)
    return phase.name if phase is not None and stretch.stop <= phase.end_step else None


def _drawn(schedule: Schedule, stretches: Sequence[range]) -> Iterator[tuple[range, I64, I64, I64]]:
    """Each stretch with its sequences and tokens by domain, and the tokens from the run's start to its end."""
    lengths = {segment.sequence_length for segment in schedule.data.segments}

    def before(step: int) -> tuple[I64, I64]:
        counts = schedule.counts(step)
        # A run of one length needs no second look-up.
        return counts, counts * next(iter(lengths)) if len(lengths) == 1 else schedule.tokens(step)

    end, there = -1, None
    for stretch in stretches:
        here = there if there is not None and stretch.start == end else before(stretch.start)
        end, there = stretch.stop, before(stretch.stop)
        yield stretch, there[0] - here[0], there[1] - here[1], there[1]
