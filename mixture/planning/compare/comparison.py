"""What differs between two runs: from which step they part, and what moved, by domain or group and by phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from mixture.lock import Lock
from mixture.planning.compare.distance import half_l1, hellinger
from mixture.planning.compare.first_difference import Agreement, agreement_of
from mixture.planning.compare.sides import Side, Stretch, side_of
from mixture.planning.plan import Plan
from mixture.schedule import Domain


@dataclass(frozen=True, slots=True)
class Figures:
    """A domain, or a group together, on one side.

    weight: its share of the stretch's tokens, exact; tokens: those that the stretch draws; size: those that there are
    """

    weight: Fraction
    tokens: int
    size: int

    @property
    def epochs(self) -> Fraction | None:
        """Tokens drawn ÷ tokens, exact; None for a domain without tokens."""
        return Fraction(self.tokens, self.size) if self.size else None


@dataclass(frozen=True, slots=True)
class Move:
    """A domain, or a group, on both sides: None where the side has none of it. Changes are b's figure less a's.

    name:    the domain's name, or the group's value; None of a group without one
    domains: the names of what it holds
    """

    name: str | None
    domains: tuple[str, ...]
    a: Figures | None
    b: Figures | None

    @property
    def weight_change(self) -> Fraction:
        """Of the share; what is not there counts as 0."""
        return (self.b.weight if self.b else Fraction(0)) - (self.a.weight if self.a else Fraction(0))

    @property
    def tokens_change(self) -> int:
        """Of the tokens drawn; what is not there counts as 0."""
        return (self.b.tokens if self.b else 0) - (self.a.tokens if self.a else 0)

    @property
    def epochs_change(self) -> Fraction | None:
        """Of the epochs; None where a side has none."""
        before = None if self.a is None else self.a.epochs
        after = None if self.b is None else self.b.epochs
        return None if before is None or after is None else after - before

    @property
    def is_change(self) -> bool:
        """Whether any figure differs."""
        return self.a != self.b


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the shares of two stretches are apart, by domain: 0 for the same shares, 1 for nothing in common.

    half_l1: exact; hellinger: to 25 digits
    """

    half_l1: Fraction
    hellinger: Decimal


@dataclass(frozen=True, slots=True)
class PhasePair:
    """What both read in the same steps, of a phase each: None, and no distance, where a side has no such step.

    Of a phase of both that lies in other steps on each side, which no step compares, it is that phase.
    """

    a: Stretch | None
    b: Stretch | None
    distance: Distance | None

    @property
    def name(self) -> str:
        """The phase of both, `a's → b's` where they differ, or that of the one."""
        names = [side.phase or "" for side in (self.a, self.b) if side is not None]
        return " → ".join(dict.fromkeys(names))

    @property
    def first_step(self) -> int:
        """Of the one that begins earlier."""
        return min(side.first_step for side in (self.a, self.b) if side is not None)


@dataclass(frozen=True, slots=True)
class Resized:
    """A domain that has other tokens on each side, whatever is drawn of it; or another pool, None: it is read whole."""

    name: str
    a: int | None
    b: int | None


ROUNDING = Fraction(1, 10**6)
"""Of a share, 0.0001 percentage points: changes below come of sequences that are whole."""


@dataclass(frozen=True)
class Diff:
    """Two runs compared; domains are matched by name, phases by steps, and changes are b's figure less a's.

    agreement: from which step they part, and in what
    distance:  of the runs, by the tokens that they draw
    phases:    of both, cut at each other's first steps, in order of them; distances by weight
    by:        the column that moves are grouped by; None: by domain
    moves:     the largest change of share first, of the same by name: every domain or group of both
    only_a, only_b: domains that one of them alone has, in order of name
    resized, repooled: domains whose tokens, or pools of them, differ, in order of name
    retexted:  domains whose text differs, as far as both sides are locks that fix it, in order of name
    regrouped: domains that the two catalogs put into different groups, in order of name: b's is taken
    """

    a: Side
    b: Side
    agreement: Agreement
    distance: Distance
    phases: tuple[PhasePair, ...]
    by: str | None
    moves: tuple[Move, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    resized: tuple[Resized, ...]
    repooled: tuple[Resized, ...]
    retexted: tuple[str, ...]
    regrouped: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs that a run reads or that a figure here says. Names of mixtures do not count."""
        held = self.resized, self.repooled, self.only_a, self.only_b, self.retexted, self.agreement.taken_down
        return self.agreement.is_whole and not any(held) and self.a.phases == self.b.phases

    @cached_property
    def moved(self) -> tuple[Move, ...]:
        """The moves of which a figure changes, of the run or of steps of it, by more than rounding; in order."""
        return tuple(move for move in self.moves if self._is_change(move) and not self._is_rounding(move))

    @cached_property
    def rounded(self) -> tuple[Move, ...]:
        """The moves of which no share changes by `ROUNDING`, nor what is drawn by that of the run; in order."""
        return tuple(move for move in self.moves if self._is_change(move) and self._is_rounding(move))

    @cached_property
    def _pairs(self) -> list[tuple[Stretch, Stretch]]:
        return [(p.a, p.b) for p in self.phases if p.a and p.b and p.distance and p.distance.half_l1]

    def _is_change(self, move: Move) -> bool:
        return move.is_change or any(_apart(a, b, move.domains) for a, b in self._pairs)

    def _is_rounding(self, move: Move) -> bool:
        if move.a is None or move.b is None or move.a.size != move.b.size:
            return False
        least = ROUNDING * max(self.a.run.whole, self.b.run.whole)
        pairs = ((self.a.run, self.b.run), *self._pairs)
        return abs(move.tokens_change) < least and all(_apart(a, b, move.domains) < ROUNDING for a, b in pairs)


def diff(a: Lock | Plan | Side, b: Lock | Plan | Side, *, by: str | None = None) -> Diff:
    """Compare two runs, plans or locks, in any mix.

    by: a column of both catalogs to group domains by. A plan has its catalog, a lock is given one by `side_of`.

    Raises CatalogError: `no-catalog`, `unknown-column`, `unknown-domain`.
    """
    one, two = (held if isinstance(held, Side) else side_of(held) for held in (a, b))
    groups, regrouped = groups_of(one, two, by=by)
    texts = retexted(one, two)
    return Diff(
        a=one,
        b=two,
        agreement=agreement_of(one.data, two.data, masks=(one.masks, two.masks), retexted=texts),
        distance=distance(one.run, two.run),
        phases=tuple(_phases(one, two)),
        by=by,
        moves=moves(one.run, two.run, groups),
        only_a=tuple(sorted(one.sizes.keys() - two.sizes.keys())),
        only_b=tuple(sorted(two.sizes.keys() - one.sizes.keys())),
        resized=resized(one, two),
        repooled=repooled(one, two),
        retexted=texts,
        regrouped=regrouped,
    )


def resized(a: Side, b: Side) -> tuple[Resized, ...]:
    """The domains of both whose tokens differ, in order of name."""
    return _resized(a, b, lambda domain: domain.tokens)


def repooled(a: Side, b: Side) -> tuple[Resized, ...]:
    """The domains of both whose pools differ, in order of name."""
    return _resized(a, b, lambda domain: domain.pool_tokens)


def _resized(a: Side, b: Side, tokens: Callable[[Domain], int | None]) -> tuple[Resized, ...]:
    before, after = ({domain.name: tokens(domain) for domain in side.data.domains} for side in (a, b))
    both = sorted(before.keys() & after.keys())
    return tuple(Resized(name, before[name], after[name]) for name in both if before[name] != after[name])


def retexted(a: Side, b: Side) -> tuple[str, ...]:
    """The domains whose text differs, as far as both sides fix it, in order of name."""
    return tuple(name for name in sorted(a.content.keys() & b.content.keys()) if a.content[name] != b.content[name])


Grouping = Mapping[str | None, Sequence[str]]
"""The names of domains by group."""


def groups_of(a: Side, b: Side, *, by: str | None) -> tuple[Grouping, tuple[str, ...]]:
    """All domains of both by their value in a column (None: each by itself), and those whose value differs.

    A domain of both belongs where b's catalog puts it. Raises CatalogError as `diff` does.
    """
    if by is None:
        return {name: (name,) for name in a.sizes | b.sizes}, ()
    before, after = a.values(by), b.values(by)
    held: dict[str | None, list[str]] = defaultdict(list)
    for name, value in (before | after).items():
        held[value].append(name)
    return held, tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name]))


def moves(a: Stretch, b: Stretch, groups: Grouping) -> tuple[Move, ...]:
    """Every group on both sides, the largest change of share first, of the same by name, without one last."""

    def rank(move: Move) -> tuple[int, bool, str]:
        # Over one denominator: exact, and integers are quick to compare.
        there = [sum(side.weights[name] for name in side.known(move.domains)) for side in (a, b)]
        return -abs(there[1] * a.whole - there[0] * b.whole), move.name is None, move.name or ""

    made = (Move(name, tuple(sorted(group)), _figures(a, group), _figures(b, group)) for name, group in groups.items())
    return tuple(sorted(made, key=rank))


def distance(a: Stretch, b: Stretch) -> Distance:
    """How far two stretches are apart, by domain."""
    apart = half_l1(a.weights, b.weights)
    return Distance(apart, hellinger(a.weights, b.weights) if apart else Decimal(0))


def _figures(stretch: Stretch, names: Sequence[str]) -> Figures | None:
    weight, known = stretch.weight(names), stretch.known(names)
    if weight is None:
        return None
    return Figures(weight, sum(stretch.tokens[name] for name in known), sum(stretch.sizes[name] for name in known))


def _phases(a: Side, b: Side) -> list[PhasePair]:
    """In order of first steps. A phase of both that shares no step with itself is compared with itself too."""
    begins = [{*(phase.first_step for phase in side.phases), side.data.steps} for side in (a, b)]
    ones, twos = (
        {stretch.first_step: stretch for stretch in side.cut(cuts)} for side, cuts in ((a, begins[1]), (b, begins[0]))
    )
    made = [_pair(ones.get(step), twos.get(step)) for step in sorted(ones.keys() | twos.keys())]
    met = {pair.a.phase for pair in made if pair.a and pair.b and pair.a.phase == pair.b.phase}
    apart = [name for name in a.stretches.keys() & b.stretches.keys() if name not in met]
    made += [_pair(a.stretches[name], b.stretches[name]) for name in apart]
    return sorted(made, key=lambda pair: (pair.first_step, pair.name))


def _pair(a: Stretch | None, b: Stretch | None) -> PhasePair:
    return PhasePair(a, b, distance(a, b) if a and b else None)


def _apart(a: Stretch, b: Stretch, names: Sequence[str]) -> Fraction:
    """How far the shares of these domains together are apart; what a side does not have counts as 0."""
    there = [sum(side.weights[name] for name in side.known(names)) for side in (a, b)]
    return Fraction(abs(there[1] * a.whole - there[0] * b.whole), a.whole * b.whole)
