"""Weights by one rule: a map of domains, a table's column, or a word such as `uniform`."""

from __future__ import annotations

import re

from mixture.errors import UnitError
from mixture.spec.amounts import SUM_TOLERANCE, Amount, settle
from mixture.spec.errors import Gatherer, refuse
from mixture.spec.fields import read_fields, unique_entries
from mixture.spec.models import GroupRule, Rule, ShareMap, TableColumn, TokenMap
from mixture.spec.nodes import Mapping, Node, Scalar, Sequence
from mixture.spec.values import read_domain, read_number, read_path, read_text, read_word
from mixture.units import Quantity, Unit, parse_weight, quote, whole_number

_NUMBER_LIKE = re.compile(r"[-+]?\.?([0-9][0-9_.eE+-]*[KMBT%]?( tokens?)?|nan|inf)", re.IGNORECASE)

_OTHER_RULES = ("temperature", "unimax")


def read_rule(node: Node) -> GroupRule:
    """Weights that are not groups, as a phase and a group's `within` may have them. Raises SpecError."""
    if isinstance(node, Sequence):
        refuse(
            node.place, "groups do not stand within groups", code="nested-groups", hint="any other rule is right here"
        )
    if isinstance(node, Scalar):
        return read_word(node, Rule, code="unknown-rule")
    if _is_group(node):
        message = "a group stands alone where a map of domains is right"
        refuse(
            node.place, message, code="group-not-in-list", hint="groups are a list: [{where: …, share: …, within: …}]"
        )
    if _is_other_rule(node):
        hint = f"right here: {', '.join(Rule)}, a map of domains, a table's column; in a phase also groups"
        refuse(node.place, f"{quote(node.entries[0][0].text)} is not a rule", code="unknown-rule", hint=hint)
    return _read_column(node) if _is_table(node) else _read_map(node)


def _is_other_rule(node: Mapping) -> bool:
    """Whether a mapping is of one key that others know as a rule. A domain may be called so: it then has all."""
    if len(node.entries) != 1 or node.entries[0][0].text not in _OTHER_RULES:
        return False
    value = node.entries[0][1]
    if not isinstance(value, Scalar):
        return True
    try:
        weight = parse_weight(value.text)
    except UnitError:
        return False
    return weight.unit is Unit.PERCENT and abs(weight.value - 1) > SUM_TOLERANCE


def _is_group(node: Mapping) -> bool:
    """Whether a mapping has the keys of a group. Domains may be called so too, but then all have numbers."""
    return any(
        key.text in ("where", "replay", "within")
        and not (isinstance(value, Scalar) and _NUMBER_LIKE.fullmatch(value.text))
        for key, value in node.entries
    )


def _is_table(node: Mapping) -> bool:
    """Whether a mapping names a table. Domains may be called `table` and `column` too, but then have numbers."""
    return any(
        key.text in ("table", "column") and not (isinstance(value, Scalar) and _NUMBER_LIKE.fullmatch(value.text))
        for key, value in node.entries
    )


def _read_column(node: Mapping) -> TableColumn:
    readers = {"table": read_path, "column": read_text, "domain": read_text}
    fields = read_fields(node, readers, required=("table", "column"))
    return TableColumn(path=fields.pop("table"), **fields)


def _read_map(node: Mapping) -> ShareMap | TokenMap:
    gatherer = Gatherer()
    amounts: list[Amount] = []
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            amounts.append(Amount(read_domain(key), read_number(value, _parse_weight), value.place))
    gatherer.finish()
    if not amounts:
        refuse(node.place, "no domain has a weight", code="weights-empty", hint="a domain and its share are right here")
    settled = settle(amounts, node.place)
    weights = dict(zip((amount.name for amount in amounts), settled.values, strict=True))
    if settled.unit is Unit.TOKENS:
        return TokenMap(tokens={name: int(tokens) for name, tokens in weights.items()})
    return ShareMap(shares=weights, written_sum=settled.written_sum)


def _parse_weight(text: str) -> Quantity:
    weight = parse_weight(text)
    if weight.unit is Unit.TOKENS:
        whole_number(text, weight.value, least=0)
    return weight
