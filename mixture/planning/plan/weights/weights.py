"""A phase's weights: each rule gives an exact share of the phase's tokens for every domain that it speaks of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, lcm

from mixture.errors import SpecError, nearest
from mixture.names import is_held_out
from mixture.planning.catalog import Catalog, CatalogDomain
from mixture.planning.plan.inputs import Inputs
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.weights.curve_rule import PoolCurve, domain_shares, pool_curve
from mixture.planning.plan.weights.temperature import softened
from mixture.planning.plan.weights.unimax import Division, capped, epoch_caps, least_epochs
from mixture.planning.spec import (
    SUM_TOLERANCE,
    GroupRule,
    Groups,
    QualityCurve,
    ReplayGroup,
    Rule,
    ShareMap,
    Spec,
    TableColumn,
    Temperature,
    TokenMap,
    Unimax,
    WhereGroup,
)
from mixture.planning.yamlfile import key_path
from mixture.units import Unit, decimal, format_count


@dataclass(frozen=True, slots=True)
class Scaled:
    """Weights that were written with another sum: `written` tokens, or shares, made to be `share` of the phase."""

    path: str
    written: Fraction
    unit: Unit
    share: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class PhaseWeights:
    """A phase's shares.

    shares:  an exact share by domain index, summing to exactly 1; a domain written with 0 is there, one left out is not
    paths:   the path in the spec that each of those domains got its share from
    listed:  the domains, where a map or a column lists them one by one, so that one can be forgotten; else None
    scaled:  what was divided by a sum other than 1
    curves:  the curves that were found or given
    divided: what UniMax divided
    """

    shares: Mapping[int, Fraction]
    paths: Mapping[int, str]
    listed: frozenset[int] | None
    scaled: tuple[Scaled, ...] = ()
    curves: tuple[PoolCurve, ...] = ()
    divided: tuple[Division, ...] = ()

    def dense(self, num_domains: int) -> tuple[Fraction, ...]:
        """The shares of all domains, in order."""
        return tuple(self.shares.get(d, Fraction(0)) for d in range(num_domains))


MOST_DIGITS = 500
"""Of the denominator of a share. It grows where phases replay phases that replay others, by as much as a share has."""
MOST_COMMON_DIGITS = 20_000
"""Of what all shares of a phase have in common."""


def drawable(catalog: Catalog) -> tuple[CatalogDomain, ...]:
    """The domains that a run may draw from, in the catalog's order: all but those held out."""
    return tuple(domain for domain in catalog.domains if not domain.held_out)


def weigh(spec: Spec, inputs: Inputs, phases: Sequence[PhaseSteps]) -> tuple[PhaseWeights, ...]:
    """The weights of every phase, by index into `drawable(catalog)`.

    phases: those of the spec, laid out, whose tokens some rules divide

    Raises SpecError where a rule names what is not there or can not be divided (`unknown-domain`, `held-out-weighed`,
    `groups-overlap`, `where-selects-nothing`, `domain-outside-group`, `weights-sum`, `weights-all-zero`,
    `unimax-exhausted`, and those of `pool_curve`).
    """
    weigher = _Weigher(spec, inputs, phases)
    for i in range(len(spec.phases)):
        weigher.add(i)
    return tuple(weigher.phases)


@dataclass(slots=True)
class _Shares:
    """What a rule gives while it is worked out: shares that sum to 1, and where they come from."""

    shares: dict[int, Fraction] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    scaled: list[Scaled] = field(default_factory=list)
    curves: list[PoolCurve] = field(default_factory=list)
    divided: list[Division] = field(default_factory=list)


class _Weigher:
    def __init__(self, spec: Spec, inputs: Inputs, laid: Sequence[PhaseSteps]) -> None:
        self.spec = spec
        self.inputs = inputs
        self.catalog = inputs.catalog
        self.laid = laid
        self.domains = drawable(inputs.catalog)
        self.index = {domain.name: d for d, domain in enumerate(self.domains)}
        self.phases: list[PhaseWeights] = []

    def add(self, i: int) -> None:
        """Work out phase i, after all before it."""
        weights, path = self.spec.phases[i].weights, f"phases[{i}].weights"
        everything = range(len(self.domains))
        if isinstance(weights, Groups):
            got = self._groups(weights, path)
        else:
            got = self._rule(weights, everything, path, Fraction(1))
        is_list = isinstance(weights, ShareMap | TokenMap | TableColumn)
        listed = frozenset(got.shares) if is_list else None
        said = (tuple(got.scaled), tuple(got.curves), tuple(got.divided))
        self.phases.append(PhaseWeights(got.shares, got.paths, listed, *said))

    def _groups(self, groups: Groups, path: str) -> _Shares:
        got = _Shares()
        if groups.written_sum != 1:
            got.scaled.append(Scaled(path, groups.written_sum, Unit.PERCENT))
        amounts = sum(group.tokens or 0 for group in groups.groups)
        if amounts:
            got.scaled.append(Scaled(path, Fraction(amounts), Unit.TOKENS))
        owner: dict[int, int] = {}
        largest: dict[int, Fraction] = {}
        for j, group in enumerate(groups.groups):
            here = f"{path}[{j}]"
            share = Fraction(group.tokens or 0, amounts) if group.share is None else group.share
            part = self._replay(group, here) if isinstance(group, ReplayGroup) else self._where(group, here, share)
            if isinstance(group, WhereGroup):
                for d in part.shares:
                    if d in owner:
                        raise self._overlap(d, path, owner[d], j)
                    owner[d] = j
            self._check_digits(part.shares, here)
            for d, x in part.shares.items():
                own = x * share
                got.shares[d] = got.shares.get(d, Fraction(0)) + own
                # Its place is in the group that gives it most: that is what to change.
                if d not in largest or own > largest[d]:
                    largest[d], got.paths[d] = own, part.paths[d]
            got.scaled += part.scaled
            got.curves += part.curves
            got.divided += part.divided
        self._check_digits(got.shares, path)
        return got

    def _check_digits(self, shares: Mapping[int, Fraction], path: str) -> None:
        """Raise SpecError where exact shares have so many digits that working with them would take for ever."""
        common = 1
        for d, share in shares.items():
            if (digits := _num_digits(share.denominator)) > MOST_DIGITS:
                raise self._too_long(f"the share of {self.domains[d].name!r} has", digits, MOST_DIGITS, path)
            common = lcm(common, share.denominator)
            if (digits := _num_digits(common)) > MOST_COMMON_DIGITS:
                raise self._too_long("the shares have together", digits, MOST_COMMON_DIGITS, path)

    def _too_long(self, what: str, digits: int, most: int, path: str) -> SpecError:
        phase = self.spec.phases[len(self.phases)].phase
        return SpecError(
            f"phase {phase!r}: {what} {digits:,} digits, of at most {most:,}",
            code="share-too-long",
            place=self.spec.place(path),
            hint="a replay of a replay has the digits of both: write shorter shares, or replay fewer phases",
            phase=phase,
            digits=digits,
            most=most,
        )

    def _overlap(self, d: int, path: str, first: int, second: int) -> SpecError:
        name = self.domains[d].name
        return SpecError(
            f"groups {first + 1} and {second + 1} overlap: both select domain {name!r}",
            code="groups-overlap",
            place=self.spec.place(f"{path}[{second}].where"),
            hint="let their conditions exclude each other",
            domain=name,
            groups=[first, second],
        )

    def _where(self, group: WhereGroup, path: str, share: Fraction) -> _Shares:
        place = self.spec.place(f"{path}.where")
        names = [self.catalog.domains[c].name for c in self.inputs.selected[group.where]]
        members = [self.index[name] for name in names if name in self.index]
        if not members:
            raise SpecError(
                f"no domain is selected by `{group.where}`",
                code="where-selects-nothing",
                place=place,
                hint="try the condition on the catalog",
                where=group.where,
            )
        got = self._rule(group.within, members, f"{path}.within", share)
        for d in members:
            got.shares.setdefault(d, Fraction(0))
            got.paths.setdefault(d, f"{path}.within")
        return got

    def _replay(self, group: ReplayGroup, path: str) -> _Shares:
        earlier = {self.spec.phases[i].phase: phase for i, phase in enumerate(self.phases)}
        phase = earlier[group.replay]
        return _Shares(dict(phase.shares), dict.fromkeys(phase.shares, f"{path}.replay"))

    def _rule(self, rule: GroupRule, members: Sequence[int], path: str, share: Fraction) -> _Shares:
        """The shares that a rule gives among the members, which have `share` of the phase."""
        match rule:
            case Rule.UNIFORM:
                return _same_path({d: Fraction(1, len(members)) for d in members}, path)
            case Rule.PROPORTIONAL:
                return self._divided({d: Fraction(self.domains[d].tokens) for d in members}, path)
            case ShareMap():
                got = self._listed(rule.shares, members, path)
                got.scaled += [Scaled(path, rule.written_sum, Unit.PERCENT, share)] if rule.written_sum != 1 else []
                return got
            case TokenMap():
                amounts = {name: Fraction(tokens) for name, tokens in rule.tokens.items()}
                got = self._divided(self._listed(amounts, members, path).shares, path)
                got.paths = {d: key_path(path, self.domains[d].name) for d in got.shares}
                got.scaled.append(Scaled(path, sum(amounts.values(), Fraction(0)), Unit.TOKENS, share))
                return got
            case TableColumn():
                return self._column(rule, members, path, share)
            case Temperature():
                tokens = [self.domains[d].tokens for d in members]
                powers = softened(tokens, rule.temperature)
                return self._divided(dict(zip(members, powers, strict=True)), path)
            case Unimax():
                return self._unimax(rule, members, path, share)
            case QualityCurve():
                return self._curve(rule, members, path, share)

    def _curve(self, rule: QualityCurve, members: Sequence[int], path: str, share: Fraction) -> _Shares:
        """A factor that grows with quality, for what the members have of the phase."""
        held = {d: self.domains[d] for d in members}
        if not any(domain.tokens for domain in held.values()):
            return self._divided(dict.fromkeys(members, Fraction(0)), path)
        wanted = self.laid[len(self.phases)].tokens * share
        pool = pool_curve(rule, self.catalog, held, wanted, spec=self.spec, path=path)
        got = _same_path(domain_shares(pool, held), path)
        got.curves.append(pool)
        return got

    def _unimax(self, rule: Unimax, members: Sequence[int], path: str, share: Fraction) -> _Shares:
        """As even as can be, in whole tokens of what the members have of the phase."""
        phase = self.laid[len(self.phases)]
        budget = floor(phase.tokens * share)
        tokens = [self.domains[d].tokens for d in members]
        caps = epoch_caps(tokens, rule.max_epochs)
        if budget > sum(caps):
            raise SpecError(
                f"phase {phase.name!r} reads {format_count(budget)} tokens there, and {decimal(rule.max_epochs)} epochs"
                f" of all domains are {format_count(sum(caps))}",
                code="unimax-exhausted",
                place=self.spec.place(f"{path}.unimax.max_epochs"),
                hint=f"max_epochs of {decimal(least_epochs(budget, tokens))}, or fewer tokens"
                if any(tokens)
                else "its domains have no tokens",
                phase=phase.name,
                tokens=budget,
                most=sum(caps),
                max_epochs=rule.max_epochs,
            )
        # Without a token to divide, the even division of the first one holds.
        level = capped(max(budget, 1), caps)
        got = self._divided(dict(zip(members, map(Fraction, level), strict=True)), path)
        full = [d for d, n, cap in zip(members, level, caps, strict=True) if n == cap]
        others = [n for n, cap in zip(level, caps, strict=True) if n < cap]
        names = tuple(self.domains[d].name for d in full if self.domains[d].tokens)
        got.divided.append(Division(path, budget, rule.max_epochs, names, len(others), min(others, default=0)))
        return got

    def _listed(self, values: Mapping[str, Fraction], members: Sequence[int], path: str) -> _Shares:
        """Values by domain as a map in the spec names them, which must be among the members."""
        allowed = set(members)
        got = _Shares()
        for name, value in values.items():
            here = key_path(path, name)
            d = self._find(name, value, here)
            if d is None:
                continue
            if d not in allowed:
                raise SpecError(
                    f"domain {name!r} is not in the group that this map divides",
                    code="domain-outside-group",
                    place=self.spec.place(here),
                    hint=nearest(name, [self.domains[m].name for m in members]),
                    domain=name,
                )
            got.shares[d], got.paths[d] = value, here
        return got

    def _find(self, name: str, value: Fraction, path: str) -> int | None:
        """The index of a domain that is named with a weight; None where it is held out and has none."""
        if name in self.index:
            return self.index[name]
        if not is_held_out(name):
            raise SpecError(
                f"unknown domain {name!r}",
                code="unknown-domain",
                place=self.spec.place(path),
                hint="as a rule, {temperature: 1} is `proportional`; with 1 or 100% it is a domain of that name"
                if name == "temperature"
                else nearest(name, self.index) or f"the catalog {self.catalog.source} does not have it",
                domain=name,
            )
        if value:
            raise SpecError(
                f"domain {name!r} is held out for evaluation: no phase may weigh it",
                code="held-out-weighed",
                place=self.spec.place(path),
                hint="its weight is 0, or the row is left out",
                domain=name,
            )
        return None

    def _column(self, column: TableColumn, members: Sequence[int], path: str, share: Fraction) -> _Shares:
        """A table's column: shares that sum to 1 or whole token amounts; in a group, its part of the column."""
        place = self.spec.place(f"{path}.column")
        found: dict[int, Fraction] = {}
        for name, value in self.inputs.columns[column].items():
            d = self._find(name, value, f"{path}.column")
            if d is not None:
                found[d] = value
        is_part = len(members) < len(self.domains)
        values = {d: found[d] for d in members if d in found}
        total = sum(values.values(), Fraction(0))
        amounts = total > 1 + SUM_TOLERANCE and all(value.denominator == 1 for value in values.values())
        if not is_part and not amounts and abs(total - 1) > SUM_TOLERANCE and total:
            raise SpecError(
                f"column {column.column!r} sums to {decimal(total)}, not to 1",
                code="weights-sum",
                place=place,
                hint="shares sum to 1 within 1e-9; token amounts are whole numbers",
                sum=total,
            )
        got = self._divided(values, f"{path}.column")
        if total != 1:
            got.scaled.append(Scaled(f"{path}.column", total, Unit.TOKENS if amounts else Unit.PERCENT, share))
        return got

    def _divided(self, values: Mapping[int, Fraction], path: str) -> _Shares:
        """Values by domain divided by their exact sum."""
        total = sum(values.values(), Fraction(0))
        if not total:
            raise SpecError(
                "all weights are 0: nothing could be drawn",
                code="weights-all-zero",
                place=self.spec.place(path),
                hint="give at least one domain a weight above 0"
                if any(self.domains[d].tokens for d in values)
                else "its domains have no tokens",
                domains=[self.domains[d].name for d in values],
            )
        return _same_path({d: value / total for d, value in values.items()}, path)


def _num_digits(number: int) -> int:
    """About how many digits a number has: to write it out takes time by itself."""
    return number.bit_length() * 30103 // 100000 + 1


def _same_path(shares: dict[int, Fraction], path: str) -> _Shares:
    return _Shares(shares, dict.fromkeys(shares, path))
