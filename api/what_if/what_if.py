"""What a mixture would come to with other shares, another budget, other boundaries: planned anew, and kept nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from api.database import Bundle
from api.middleware import Problem
from api.registry import CONDITION_SECONDS, LoadedMixture, weight_sets
from api.what_if.faults import Faults
from api.what_if.heading import changed_name, heading
from api.what_if.shares import Asked, share_of
from mixture.errors import MixtureError, Place, nearest
from mixture.file_names import SPEC_FILE
from mixture.planning.catalog import Catalog, Cell, GivenTables, cell_text, grouped
from mixture.planning.plan import Plan, decimal, fraction_of, make_plan, read_inputs
from mixture.planning.spec import (
    SUM_TOLERANCE,
    Form,
    Groups,
    Phase,
    PhaseEdit,
    ReplayGroup,
    Spec,
    edit_spec,
    parse_spec,
)
from mixture.schedule import WHOLE, apportion

MOST_WEIGHTS = 20_000
"""Phases and stairs of transitions, times domains: some 4 seconds, most of them for reading the spec that lists them.
Anybody may ask."""
MOST_SPEC = 256 * 2**10
"""Characters of the spec, which is read twice: before and after the change."""


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """What is changed in a phase: shares of single domains, shares of groups by their value, where the phase ends."""

    shares: tuple[tuple[str, Asked], ...] = ()
    groups: tuple[tuple[str, Asked], ...] = ()
    extent: tuple[Form, str] | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All that is changed. by: the column of the catalog whose values `groups` are of. Can be a key."""

    phases: tuple[tuple[str, PhaseChange], ...] = ()
    budget: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The plan of the changed spec, its text, and what was made of shares that nobody asked for, in words."""

    plan: Plan
    spec_text: str
    said: tuple[str, ...]


def what_if(mixture: LoadedMixture, bundle: Bundle, changes: Changes) -> WhatIf:
    """Change a mixture's spec, and plan it over the tables that it was planned over.

    In a phase whose shares are changed, those that are named are as asked, and all others keep their proportions among
    themselves and share the rest. bundle: that of the mixture.

    Raises Problem 422: `unknown-phase`, `unknown-domain`, `unknown-group`, `unknown-column`, `shares-overlap`,
    `weights-sum`, `share-below-zero`, `group-empty`, `too-many-weights`; 409 `what-if-amended`; what `parse_spec` and
    `make_plan` do.
    """
    check_whole(mixture)
    _check_size(mixture)
    spec = parse_spec(mixture.spec_text.encode(), path=Path(SPEC_FILE))
    names = [phase.phase for phase in spec.phases]
    edits: dict[int, PhaseEdit] = {}
    said: list[str] = []
    faults = Faults()
    in_time = sorted(changes.phases, key=lambda one: names.index(one[0]) if one[0] in names else -1)
    for name, change in in_time:
        with faults.at("phases", name):
            if name not in names:
                hint = faults.nearest(name, names, kind="phases")
                raise _wrong(f"there is no phase {name!r}", "unknown-phase", hint)
        if name not in names or change == PhaseChange():
            continue
        i = names.index(name)
        weights = None
        if change.shares or change.groups:
            shares = _Shares(mixture, i, changes.by, faults)
            with faults.at("phases", name):
                weights = shares.changed(change)
            said += shares.said
            said += (f"phase {later.phase!r} replays {name!r}, and changes with it" for later in _replays(spec, name))
        edits[i] = PhaseEdit(change.extent, weights)
    faults.refuse()
    text, comments = mixture.spec_text, ""
    if edits or changes.budget is not None:
        text = edit_spec(text, edits, budget=changes.budget, name=changed_name(mixture.name))
        comments = heading(mixture, replace(changes, phases=tuple(in_time)), sorted(bundle.tables))
    try:
        changed = parse_spec((comments + text).encode(), path=Path(SPEC_FILE))
        tables = GivenTables(bundle.tables)
        inputs = read_inputs(changed, tables=tables, catalog=mixture.catalog, seconds=CONDITION_SECONDS)
        plan = make_plan(changed, inputs, pools=mixture.lock.data.pools)
    except MixtureError as error:
        # Who sent the change has the mixture's spec, and not the one with comments above it.
        raise error.with_places(lambda place: _lines_up(place, comments.count("\n"))) from error
    return WhatIf(plan, comments + text, tuple(said))


def _lines_up(place: Place, lines: int) -> Place:
    in_spec = place.line is not None and place.file in (None, SPEC_FILE)
    return replace(place, line=place.line - lines) if in_spec and place.line is not None else place


def check_whole(mixture: LoadedMixture) -> None:
    """Raise Problem 409, `what-if-amended`, of an amended mixture: its spec alone, planned anew, is another run."""
    if mixture.lock.amends is not None:
        step = mixture.lock.amends.step
        detail = f"this mixture goes on from another one at step {step:,}: its spec alone is not its run"
        hint = f"POST /v1/mixtures/{mixture.name}/amendments with dry_run, or `mixture amend`, says what a change does"
        raise Problem(409, detail, code="what-if-amended", hint=hint, facts={"step": step})


def _check_size(mixture: LoadedMixture) -> None:
    weights = weight_sets(mixture.lock) * len(mixture.catalog.domains)
    if weights > MOST_WEIGHTS or len(mixture.spec_text) > MOST_SPEC:
        detail = f"this mixture is too large to be planned anew for anybody: it has {weights:,} weights"
        hint = f"up to {MOST_WEIGHTS:,}, and a spec of up to {MOST_SPEC:,} characters; `mixture plan` plans larger ones"
        raise _wrong(detail, "too-many-weights", hint)


def _replays(spec: Spec, name: str) -> Iterator[Phase]:
    for phase in spec.phases:
        groups = phase.weights.groups if isinstance(phase.weights, Groups) else ()
        if any(isinstance(group, ReplayGroup) and group.replay == name for group in groups):
            yield phase


@dataclass(slots=True)
class _Shares:
    """The shares of a phase, while they are changed. said: what happened to those that nobody named."""

    mixture: LoadedMixture
    phase: int
    by: str | None
    faults: Faults
    said: list[str] = field(default_factory=list)

    def changed(self, change: PhaseChange) -> dict[str, Fraction]:
        """The shares with the change, as parts of 10^15: all domains that any phase weighs."""
        plan: Any = self.mixture.plan_json
        name = plan["phases"][self.phase]["phase"]
        present = _present(self.mixture, self.phase)
        asked: dict[str, Fraction] = {}
        found = self.faults.count
        for domain, share in change.shares:
            with self.faults.at("phases", name, "shares", domain):
                if domain not in present:
                    hint = self.faults.nearest(domain, present)
                    raise _wrong(f"unknown domain {domain!r}", "unknown-domain", hint)
                self._take(asked, {domain: share_of(domain, share, present[domain])})
        members = self._members(present) if change.groups else {}
        for value, share in change.groups:
            with self.faults.at("phases", name, "groups", value):
                if value not in members:
                    hint = self.faults.nearest(value, members, kind="values")
                    raise _wrong(f"no domain has {value!r} in the column {self.by!r}", "unknown-group", hint)
                held = members[value]
                whole = share_of(value, share, sum((present[one] for one in held), Fraction(0)))
                self._take(asked, self._divided(value, whole, held, present, name))
        if self.faults.count > found:
            return {}
        made = {**self._rest(asked, present, name), **asked}
        total = sum(made.values())  # 1 within the tolerance: divided by it, they are what a spec's reader makes of them
        weighed = {
            one["domain"] for phase in plan["phases"] for one in phase["domains"] if one["weight"]["ratio"] != "0/1"
        }
        shown = [domain for domain in present if made[domain] or domain in weighed]
        parts = apportion([made[domain] / total for domain in shown], WHOLE)
        return {domain: Fraction(part, WHOLE) for domain, part in zip(shown, parts, strict=True)}

    def _take(self, asked: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
        twice = asked.keys() & more.keys()
        if twice:
            raise _wrong(
                f"the share of {min(twice)!r} is asked for twice", "shares-overlap", "name it once, or its group"
            )
        asked |= more

    def _members(self, present: Mapping[str, Fraction]) -> dict[str, list[str]]:
        catalog: Catalog = self.mixture.catalog
        columns = catalog.table.column_names
        if self.by is None or self.by not in columns:
            hint = (nearest(self.by, columns) if self.by else None) or f"its columns: {', '.join(columns)}"
            detail = (
                f"the catalog has no column {self.by!r}" if self.by else "groups need `by`, the column that they are of"
            )
            raise _wrong(detail, "unknown-column", hint)
        rows = [catalog.index(domain) for domain in present]
        groups = grouped(catalog.table, (self.by,), rows)
        labels = {cell_text(cast(Cell, key[0])): held for key, held in groups.items()}
        return {text: [catalog.names[row] for row in held] for text, held in labels.items() if text is not None}

    def _divided(
        self, value: str, share: Fraction, members: Sequence[str], present: Mapping[str, Fraction], phase: str
    ) -> dict[str, Fraction]:
        """A group's share among its domains: as they stand to each other now, else by their tokens."""
        whole, scales = sum(present[one] for one in members), dict(present)
        if not whole and share:
            tokens = {domain.name: domain.tokens for domain in self.mixture.lock.data.domains}
            whole, scales = (
                Fraction(sum(tokens[one] for one in members)),
                {one: Fraction(tokens[one]) for one in members},
            )
            if not whole:
                raise _wrong(f"the domains of {value!r} have no tokens", "group-empty", "leave it at 0")
            self.said.append(
                f"phase {phase!r}: {value!r} had no weight: its {len(members)} domains are weighed by their tokens"
            )
        return {one: share * scales[one] / whole if share else Fraction(0) for one in members}

    def _rest(self, asked: Mapping[str, Fraction], present: Mapping[str, Fraction], phase: str) -> dict[str, Fraction]:
        """The shares of the domains that are not named: as they stand to each other now, with what is left."""
        others = {name: share for name, share in present.items() if name not in asked}
        before, left = sum(others.values(), Fraction(0)), 1 - sum(asked.values(), Fraction(0))
        if left < -SUM_TOLERANCE or (not before and abs(left) > SUM_TOLERANCE):
            hint = "they sum to 1 or 100%" if not before else "they sum to 100% at most; the others share what is left"
            raise _wrong(f"the shares asked for in phase {phase!r} sum to {_percent(1 - left)}", "weights-sum", hint)
        left = max(left, Fraction(0))
        weighed = sum(share > 0 for share in others.values())
        if weighed and left != before:
            self.said.append(
                f"phase {phase!r}: the other {weighed} weighed domains were {_percent(before)} together and are"
                f" {_percent(left)}: each is multiplied by {decimal(left / before, digits=6)}"
            )
        return {name: share * left / before if before else share for name, share in others.items()}


def _present(mixture: LoadedMixture, phase: int) -> dict[str, Fraction]:
    """A phase's shares by domain, as the lock has them at its last step, behind a transition; else as its plan does."""
    plan: Any = mixture.plan_json
    own = plan["phases"][phase]
    if own["steps"]:
        return {
            name: Fraction(part, WHOLE)
            for name, part in weights_at(mixture, own["first_step"] + own["steps"] - 1).items()
        }
    exact = [fraction_of(one["weight"]) for one in own["domains"]]
    parts = apportion([share / sum(exact) for share in exact], WHOLE)
    return {one["domain"]: Fraction(part, WHOLE) for one, part in zip(own["domains"], parts, strict=True)}


def weights_at(mixture: LoadedMixture, step: int) -> dict[str, int]:
    """The weights of a step in parts of 10^15, as the lock has them: the same weights are the same in every lock."""
    data = mixture.lock.data
    held = next(one for one in reversed(data.segments) if one.first_step <= step)
    return dict(zip((domain.name for domain in data.domains), held.weights, strict=True))


def _percent(share: Fraction) -> str:
    return f"{decimal(share * 100, digits=6)}%"


def _wrong(detail: str, code: str, hint: str | None) -> Problem:
    return Problem(422, detail, code=code, hint=hint)
