"""The weights of a phase with some shares changed: the other domains keep their proportions and share the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from mixture.errors import SpecError, nearest
from mixture.planning.catalog import Cell, cell_text, grouped
from mixture.planning.spec import SUM_TOLERANCE
from mixture.planning.whatif.changes import PhaseChange
from mixture.planning.whatif.faults import Faults
from mixture.planning.whatif.original import Original
from mixture.planning.whatif.shares import share_after
from mixture.schedule import WHOLE, apportion
from mixture.units import decimal, percent


@dataclass(slots=True)
class ChangedWeights:
    """Computes the changed weights of a phase. remarks: what happened to shares that no change names."""

    original: Original
    index: int
    by: str | None
    faults: Faults
    remarks: list[str] = field(default_factory=list)

    def weights(self, change: PhaseChange) -> dict[str, Fraction]:
        """The weights after the change, in parts of 10^15, of all domains that have a weight in some phase.

        Errors go to `faults`; then the weights are empty. Raises SpecError, `weights-sum`.
        """
        name = self.original.phases[self.index].phase
        present = self.original.weights_at_end(self.index)
        changed: dict[str, Fraction] = {}
        count = self.faults.count
        for domain, share in change.weights:
            with self.faults.at("phases", name, "weights", domain):
                if domain not in present:
                    hint = self.faults.nearest(domain, present)
                    raise SpecError(f"unknown domain {domain!r}", code="unknown-domain", hint=hint)
                _add(changed, {domain: share_after(domain, share, present[domain])})
        members = self._members(present) if change.groups else {}
        for value, share in change.groups:
            with self.faults.at("phases", name, "groups", value):
                if value not in members:
                    hint = self.faults.nearest(value, members, kind="values")
                    message = f"no domain has {value!r} in the column {self.by!r}"
                    raise SpecError(message, code="unknown-group", hint=hint)
                whole = share_after(value, share, sum((present[one] for one in members[value]), Fraction(0)))
                _add(changed, self._divided(value, whole, members[value], present))
        if self.faults.count > count:
            return {}
        weights = {**self._rest(changed, present), **changed}
        total = sum(weights.values())  # 1 within the tolerance: divided by it, as in the reader of a spec
        weighted = self.original.weighted_domains()
        names = [domain for domain in present if weights[domain] or domain in weighted]
        parts = apportion([weights[domain] / total for domain in names], WHOLE)
        return {domain: Fraction(part, WHOLE) for domain, part in zip(names, parts, strict=True)}

    def _members(self, present: Mapping[str, Fraction]) -> dict[str, list[str]]:
        """The domains of every group, by the value that they have in the column."""
        catalog = self.original.catalog
        columns = catalog.table.column_names
        if self.by is None or self.by not in columns:
            hint = (nearest(self.by, columns) if self.by else None) or f"its columns: {', '.join(columns)}"
            message = (
                f"the catalog has no column {self.by!r}" if self.by else "groups need `by`, the column that they are of"
            )
            raise SpecError(message, code="unknown-column", hint=hint)
        rows = [catalog.index(domain) for domain in present]
        groups = grouped(catalog.table, (self.by,), rows)
        texts = {cell_text(cast(Cell, key[0])): group for key, group in groups.items()}
        return {text: [catalog.names[row] for row in group] for text, group in texts.items() if text is not None}

    def _divided(
        self, value: str, share: Fraction, members: Sequence[str], present: Mapping[str, Fraction]
    ) -> dict[str, Fraction]:
        """A group's share by domain: in proportion to the present shares, or to the tokens if these are all 0."""
        total, scales = sum(present[one] for one in members), dict(present)
        if not total and share:
            tokens = {domain.name: domain.tokens for domain in self.original.data.domains}
            scales = {one: Fraction(tokens[one]) for one in members}
            total = sum(scales.values(), Fraction(0))
            if not total:
                raise SpecError(f"the domains of {value!r} have no tokens", code="group-empty", hint="leave it at 0")
            self.remarks.append(
                f"phase {self._name!r}: {value!r} had no weight: its {len(members)} domains are weighed by their tokens"
            )
        return {one: share * scales[one] / total if share else Fraction(0) for one in members}

    def _rest(self, changed: Mapping[str, Fraction], present: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """The shares of all other domains: the rest, in proportion to their present shares."""
        others = {name: share for name, share in present.items() if name not in changed}
        before, left = sum(others.values(), Fraction(0)), 1 - sum(changed.values(), Fraction(0))
        if left < -SUM_TOLERANCE or (not before and abs(left) > SUM_TOLERANCE):
            hint = "they sum to 1 or 100%" if not before else "they sum to 100% at most; the others share what is left"
            message = f"the shares asked for in phase {self._name!r} sum to {percent(1 - left, digits=6)}"
            raise SpecError(message, code="weights-sum", hint=hint)
        left = max(left, Fraction(0))
        weighted = sum(share > 0 for share in others.values())
        if weighted and left != before:
            self.remarks.append(
                f"phase {self._name!r}: the other {weighted} weighed domains were {percent(before, digits=6)} together"
                f" and are {percent(left, digits=6)}: each is multiplied by {decimal(left / before, digits=6)}"
            )
        return {name: share * left / before if before else share for name, share in others.items()}

    @property
    def _name(self) -> str:
        return self.original.phases[self.index].phase


def _add(changed: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
    twice = changed.keys() & more.keys()
    if twice:
        hint = "name it once, or its group"
        raise SpecError(f"the share of {min(twice)!r} is asked for twice", code="shares-overlap", hint=hint)
    changed |= more
