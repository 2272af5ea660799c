"""A phase's weights: one rule for all domains, or groups of domains with a rule for each."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping as Table
from fractions import Fraction
from functools import partial
from typing import Any

from mixture.errors import nearest
from mixture.spec.amounts import Amount, settle
from mixture.spec.errors import Gatherer, refuse
from mixture.spec.fields import Reader, read_fields, read_items
from mixture.spec.models import Groups, ReplayGroup, Weights, WhereGroup
from mixture.spec.nodes import Mapping, Node, Sequence
from mixture.spec.rules import read_rule
from mixture.spec.values import read_condition, read_share, read_text, read_tokens
from mixture.units import Quantity, Unit, quote


def read_weights(node: Node, *, earlier_phases: Collection[str]) -> Weights:
    """A phase's weights; a replay names one of the earlier phases. Raises SpecError."""
    return _read_groups(node, earlier_phases) if isinstance(node, Sequence) else read_rule(node)


def _read_groups(node: Sequence, earlier_phases: Collection[str]) -> Groups:
    gatherer = Gatherer()
    groups: list[WhereGroup | ReplayGroup] = []
    for item in read_items(node):
        with gatherer:
            groups.append(_read_group(item, earlier_phases))
    gatherer.finish()
    amounts = [
        Amount(f"group {number}", _quantity(group), item.place)
        for number, (group, item) in enumerate(zip(groups, node.items, strict=True), start=1)
    ]
    settled = settle(amounts, node.place)
    if settled.unit is Unit.TOKENS:
        return Groups(groups=tuple(groups))
    shares = zip(groups, settled.values, strict=True)
    divided = tuple(group.model_copy(update={"share": share}) for group, share in shares)
    return Groups(groups=divided, written_sum=settled.written_sum)


def _read_group(node: Node, earlier_phases: Collection[str]) -> WhereGroup | ReplayGroup:
    amounts: dict[str, Reader] = {"share": read_share, "tokens": read_tokens}
    if isinstance(node, Mapping) and any(key.text == "replay" for key, _ in node.entries):
        readers: dict[str, Reader] = {"replay": partial(_read_replay, earlier_phases=earlier_phases), **amounts}
        return ReplayGroup(**_read_with_amount(node, readers, required=("replay",)))
    readers = {"where": read_condition, **amounts, "within": read_rule}
    return WhereGroup(**_read_with_amount(node, readers, required=("where", "within")))


def _read_with_amount(node: Node, readers: Table[str, Reader], *, required: Collection[str]) -> dict[str, Any]:
    fields = read_fields(node, readers, required=required, alternatives=("share", "tokens"))
    if not fields.keys() & {"share", "tokens"}:
        refuse(node.place, "the group has no share", code="missing-key", hint="share or tokens is right here")
    return fields


def _read_replay(node: Node, *, earlier_phases: Collection[str]) -> str:
    name = read_text(node)
    if name not in earlier_phases:
        hint = nearest(name, earlier_phases) or f"earlier phases: {', '.join(earlier_phases) or 'none'}"
        refuse(node.place, f"{quote(name)} is not an earlier phase", code="unknown-phase", hint=hint)
    return name


def _quantity(group: WhereGroup | ReplayGroup) -> Quantity:
    if group.share is not None:
        return Quantity(group.share, Unit.PERCENT)
    assert group.tokens is not None, "a group has a share or tokens"
    return Quantity(Fraction(group.tokens), Unit.TOKENS)
