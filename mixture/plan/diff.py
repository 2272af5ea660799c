"""What differs between two runs: from which step they part, and what moved, by domain or group and by phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from mixture.plan.diff_parting import Agreement, agreement_of
from mixture.plan.diff_sides import Side, Stretch, side_of
from mixture.plan.distance import half_l1, hellinger
from mixture.plan.lock import Lock
from mixture.plan.plan import Plan


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
    """The phase of a name on both sides: None, and no distance, where a side has no such phase with a step."""

    name: str
    a: Stretch | None
    b: Stretch | None
    distance: Distance | None


@dataclass(frozen=True, slots=True)
class Resized:
    """A domain whose tokens, or pool of them, differ: of another size, whatever is drawn of it."""

    name: str
    a: int
    b: int


@dataclass(frozen=True)
class Diff:
    """Two runs compared; domains and phases are matched by name, and changes are b's figure less a's.

    agreement: from which step they part, and in what
    distance:  of the runs, by the tokens that they draw
    phases:    in order of first steps; distances by weight
    by:        the column that moves are grouped by; None: by domain
    moves:     the largest change of share first, of the same by name: every domain or group of both
    only_a, only_b: domains that one of them alone has, in order of name
    resized:   domains whose tokens, or pools, differ, in order of name
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
    retexted: tuple[str, ...]
    regrouped: tuple[str, ...]

    @property
    def masks_differ(self) -> bool:
        """Whether they hide other text."""
        return self.a.masks != self.b.masks

    @property
    def is_same(self) -> bool:
        """Whether nothing differs that a run reads or that a figure here says. Names of mixtures do not count."""
        same_text = not (self.resized or self.only_a or self.only_b or self.retexted or self.masks_differ)
        return self.agreement.is_whole and same_text and self.a.phases == self.b.phases


def diff(a: Lock | Plan | Side, b: Lock | Plan | Side, *, by: str | None = None) -> Diff:
    """Compare two runs, plans or locks, in any mix.

    by: a column of both catalogs to group domains by. A plan has its catalog, a lock is given one by `side_of`.

    Raises CatalogError: `no-catalog`, `unknown-column`, `unknown-domain`.
    """
    one, two = (held if isinstance(held, Side) else side_of(held) for held in (a, b))
    groups, regrouped = groups_of(one, two, by=by)
    return Diff(
        a=one,
        b=two,
        agreement=agreement_of(one.data, two.data),
        distance=distance(one.run, two.run),
        phases=tuple(_phases(one, two)),
        by=by,
        moves=moves(one.run, two.run, groups),
        only_a=tuple(sorted(one.sizes.keys() - two.sizes.keys())),
        only_b=tuple(sorted(two.sizes.keys() - one.sizes.keys())),
        resized=resized(one, two),
        retexted=tuple(
            name for name in sorted(one.content.keys() & two.content.keys()) if one.content[name] != two.content[name]
        ),
        regrouped=regrouped,
    )


def resized(a: Side, b: Side) -> tuple[Resized, ...]:
    """The domains of both whose tokens, or pools, differ, in order of name."""
    both = sorted(a.sizes.keys() & b.sizes.keys())
    return tuple(Resized(name, a.sizes[name], b.sizes[name]) for name in both if a.sizes[name] != b.sizes[name])


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

    made = (Move(name, tuple(sorted(held)), _figures(a, held), _figures(b, held)) for name, held in groups.items())
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
    """By name, in order of first steps, so that a phase of one side alone stands where it was."""
    first = {name: stretch.first_step for name, stretch in (a.stretches | b.stretches).items()}
    made = []
    for name in sorted(first, key=lambda name: (first[name], name)):
        one, two = a.stretches.get(name), b.stretches.get(name)
        made.append(PhasePair(name, one, two, distance(one, two) if one and two else None))
    return made
