"""A phase's weights: one rule for all domains, or groups of domains with a rule for each."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import partial
from typing import Any

from mixture.errors import nearest
from mixture.planning.spec.amounts import Amount, settle
from mixture.planning.spec.models import Groups, ReplayGroup, Weights, WhereGroup
from mixture.planning.spec.rules import read_rule
from mixture.planning.yamlfile import (
    CONDITION,
    RULE,
    SHARE,
    TEXT,
    Gatherer,
    Key,
    Keys,
    Mapping,
    Node,
    Schema,
    Sequence,
    any_of,
    count,
    read_condition,
    read_items,
    read_share,
    read_text,
    read_tokens,
    refuse,
)
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
    if isinstance(node, Mapping) and any(key.text == "replay" for key, _ in node.entries):
        return ReplayGroup(**_read_with_amount(node, _replay_keys(earlier_phases)))
    return WhereGroup(**_read_with_amount(node, _WHERE_KEYS))


def _read_with_amount(node: Node, keys: Keys) -> dict[str, Any]:
    fields = keys.read(node)
    if not fields.keys() & set(keys.at_least_one):
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


_AMOUNTS = {
    "share": Key(
        read_share, SHARE, "The group's share of the phase's tokens; those of all groups sum to 100%.", ("30%",)
    ),
    "tokens": Key(read_tokens, count([Unit.TOKENS], least=0), "The group's tokens, instead of its share.", ("4.51T",)),
}
_WHERE = Key(
    read_condition,
    CONDITION,
    "Which domains: a condition on the catalog's columns.",
    ("quality >= 3", "domain = 'web'"),
)
_WITHIN = Key(read_rule, RULE, "How the group's share is dealt among its domains.", ("proportional", "uniform"))
_WHERE_KEYS = Keys(
    {"where": _WHERE, **_AMOUNTS, "within": _WITHIN},
    required=("where", "within"),
    at_most_one=tuple(_AMOUNTS),
    at_least_one=tuple(_AMOUNTS),
)


def _replay_keys(earlier_phases: Collection[str]) -> Keys:
    read = partial(_read_replay, earlier_phases=earlier_phases)
    replay = Key(read, TEXT, "An earlier phase, whose weights the group has.", ("pretraining",))
    return Keys(
        {"replay": replay, **_AMOUNTS}, required=("replay",), at_most_one=tuple(_AMOUNTS), at_least_one=tuple(_AMOUNTS)
    )


def weights_schema() -> Schema:
    """What `read_weights` takes."""
    groups = any_of(_WHERE_KEYS.schema(), _replay_keys(()).schema())
    return any_of(RULE, {"type": "array", "minItems": 1, "items": groups})
