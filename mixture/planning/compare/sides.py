"""One side of a comparison: a lock or a plan, and what its stretches, the run and its phases, are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from operator import mul

from mixture.errors import CatalogError, nearest
from mixture.lock import Amends, Lock, LockPhase, Mask, lineage_of
from mixture.planning.catalog import Catalog, cell_text
from mixture.planning.plan import Finding, Plan
from mixture.schedule import Schedule, ScheduleData
from mixture.units import quote


@dataclass(frozen=True, slots=True)
class Stretch:
    """A phase of a run or steps of one, or the whole run (`phase` is None): what it draws, by domain.

    weights: token shares as integers, to be divided by `whole`: a phase's weights, and of the run the tokens drawn
    tokens:  the tokens drawn
    sizes:   the tokens that the domains have, or their pools
    """

    phase: str | None
    first_step: int
    steps: int
    weights: Mapping[str, int]
    tokens: Mapping[str, int]
    sizes: Mapping[str, int]
    whole: int

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of the domains that the side has."""
        return [name for name in names if name in self.sizes]

    def weight(self, names: Iterable[str]) -> Fraction | None:
        """The share of these domains together, exact; None where the side has none of them."""
        known = self.known(names)
        return Fraction(sum(self.weights[name] for name in known), self.whole) if known else None


@dataclass(frozen=True)
class Side:
    """A lock or a plan under the name that it is compared by.

    digest:   of the lock; None of a plan, which has none yet
    phases:   those that have a step, in order
    catalog:  the table of its domains, where it is known
    content:  digests of the domains' text, where a lock fixes it; masks: text that it says was taken down
    amends:   a lock's amendments, oldest first
    refusals: the plan's errors that refuse a lock
    """

    name: str
    mixture: str
    digest: str | None
    data: ScheduleData
    schedule: Schedule = field(repr=False)
    phases: tuple[LockPhase, ...]
    catalog: Catalog | None
    content: Mapping[str, str]
    masks: tuple[Mask, ...]
    amends: tuple[Amends, ...]
    refusals: tuple[Finding, ...]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Tokens by domain, or those of the pool that it is kept to, in the side's order of domains."""
        return {domain.name: domain.held for domain in self.data.domains}

    @cached_property
    def lengths(self) -> tuple[tuple[int, int], ...]:
        """Sequence lengths, each with the step from which it is read."""
        held = [(segment.first_step, segment.sequence_length) for segment in self.data.segments]
        return tuple(one for one, before in zip(held, [(0, 0), *held], strict=False) if one[1] != before[1])

    @cached_property
    def run(self) -> Stretch:
        """The whole run."""
        drawn = map(sum, zip(*(stretch.tokens.values() for stretch in self.stretches.values()), strict=True))
        tokens = dict(zip(self.sizes, drawn, strict=True))
        return Stretch(None, 0, self.data.steps, tokens, tokens, self.sizes, sum(tokens.values()))

    @cached_property
    def stretches(self) -> dict[str, Stretch]:
        """The phases by name, in order."""
        return {phase.name: stretch for phase, stretch in zip(self.phases, self.cut(()), strict=True)}

    def cut(self, steps: Iterable[int]) -> list[Stretch]:
        """The run in order, in stretches that begin with a phase or at one of these steps."""
        phases = {phase.first_step: phase for phase in self.phases}
        segments = {segment.first_step: segment for segment in self.data.segments}
        begins = {*phases, *(step for step in steps if step < self.data.steps)}
        bounds = sorted({*begins, *segments, self.data.steps})
        phase, segment, made = self.phases[0], self.data.segments[0], list[list[_Piece]]()
        for (first, end), (before, after) in zip(
            pairwise(bounds), pairwise(map(self.schedule.counts, bounds)), strict=True
        ):
            phase, segment = phases.get(first, phase), segments.get(first, segment)
            if first in begins:
                made.append([])
            tokens = ((after - before) * segment.sequence_length).tolist()
            made[-1].append(_Piece(phase.name, first, end, segment.weights, tokens))
        return [self._stretch(pieces) for pieces in made]

    def stretch(self, phase: str | None) -> Stretch:
        """A phase of these, or the run (None)."""
        return self.run if phase is None else self.stretches[phase]

    def values(self, column: str) -> dict[str, str | None]:
        """What a column of the catalog says of each domain, as text.

        Raises CatalogError: `no-catalog`, `unknown-column` with the nearest, `unknown-domain` where a catalog that was
        given does not have one of the lock's.
        """
        if self.catalog is None:
            raise no_catalog(self.name, column)
        table = self.catalog.table
        if column not in table.column_names:
            known = ", ".join(map(quote, table.column_names[:12]))
            raise CatalogError(
                f"the catalog of {self.name} has no column {quote(column)}",
                code="unknown-column",
                hint=nearest(column, table.column_names) or f"its columns: {known}",
                column=column,
            )
        cells = table[column].to_pylist()
        return {name: cell_text(cells[self.catalog.index(name)]) for name in self.sizes}

    def _stretch(self, inside: Sequence[_Piece]) -> Stretch:
        """A stretch of one segment has the segment's weights; of several, their mean, by tokens."""
        whole = [sum(piece.tokens) for piece in inside]
        weights = inside[0].weights
        if len(inside) > 1:
            by_piece = zip(*(piece.weights for piece in inside), strict=True)
            weights = tuple(sum(map(mul, own, whole)) for own in by_piece)
        tokens = map(sum, zip(*(piece.tokens for piece in inside), strict=True))
        return Stretch(
            inside[0].phase,
            inside[0].first_step,
            inside[-1].end_step - inside[0].first_step,
            dict(zip(self.sizes, weights, strict=True)),
            dict(zip(self.sizes, tokens, strict=True)),
            self.sizes,
            sum(weights),
        )


def no_catalog(name: str, column: str) -> CatalogError:
    """A lock is asked for a column, and no catalog of it is at hand."""
    return CatalogError(
        f"{name} is a lock, which has no column {quote(column)}: it fixes its domains' names and tokens",
        code="no-catalog",
        hint="its spec, beside it or instead of it, or a table has them: --catalog TABLE, catalog= in Python",
        column=column,
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a phase with one segment's weights, and the tokens that it draws by domain."""

    phase: str
    first_step: int
    end_step: int
    weights: tuple[int, ...]
    tokens: list[int]


def side_of(held: Lock | Plan, *, name: str | None = None, catalog: Catalog | None = None) -> Side:
    """A lock or a plan as one side.

    name:    what to call it; its mixture's name if not given
    catalog: the table of a lock's domains; a plan has its own
    """
    if isinstance(held, Lock):
        return Side(
            name=name or held.mixture,
            mixture=held.mixture,
            digest=held.digest,
            data=held.data,
            schedule=held.schedule(),
            phases=tuple(phase for phase in held.phases if phase.steps),
            catalog=catalog,
            content=held.content,
            masks=held.masks,
            amends=lineage_of(held),
            refusals=(),
        )
    laid = (phase.laid for phase in held.phases if phase.laid.steps)
    return Side(
        name=name or held.spec.mixture,
        mixture=held.spec.mixture,
        digest=None,
        data=held.data,
        schedule=held.schedule,
        phases=tuple(LockPhase(phase.name, phase.first_step, phase.steps) for phase in laid),
        catalog=held.catalog,
        content={},
        masks=(),
        amends=(),
        refusals=held.refusals,
    )
