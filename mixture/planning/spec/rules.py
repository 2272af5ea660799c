"""Weights by one rule: a map of domains, a table's column, a word such as `uniform`, or a rule with its parameter."""

from __future__ import annotations

import re

from mixture.errors import UnitError
from mixture.planning.spec.amounts import SUM_TOLERANCE, Amount, settle
from mixture.planning.spec.curve import CURVE, read_curve
from mixture.planning.spec.models import GroupRule, Rule, ShareMap, TableColumn, Temperature, TokenMap, Unimax
from mixture.planning.yamlfile import (
    DOMAINS,
    EPOCHS,
    FACTOR,
    TEXT,
    WEIGHT,
    Gatherer,
    Key,
    Keys,
    Mapping,
    Node,
    Scalar,
    Schema,
    Sequence,
    any_of,
    read_domain,
    read_epochs,
    read_factor,
    read_number,
    read_path,
    read_text,
    read_word,
    refuse,
    unique_entries,
    words,
)
from mixture.units import Quantity, Unit, parse_weight, quote, whole_number

_NUMBER_LIKE = re.compile(r"[-+]?\.?([0-9][0-9_.eE+-]*[KMBT%]?( tokens?)?|nan|inf)", re.IGNORECASE)


def read_rule(node: Node) -> GroupRule:
    """Weights that are not groups, as a phase and a group's `within` may have them. Raises SpecError."""
    if isinstance(node, Sequence):
        refuse(
            node.place, "groups do not stand within groups", code="nested-groups", hint="any other rule is right here"
        )
    if isinstance(node, Scalar):
        if node.text in _KEYED:
            message = f"{quote(node.text)} has a parameter"
            refuse(node.place, message, code="unknown-rule", hint=f"as in {_example(node.text)}")
        return read_word(node, Rule, code="unknown-rule")
    if _is_group(node):
        message = "a group stands alone where a map of domains is right"
        refuse(
            node.place, message, code="group-not-in-list", hint="groups are a list: [{where: …, share: …, within: …}]"
        )
    if _is_keyed(node):
        key, value = node.entries[0]
        rule: GroupRule = _KEYED[key.text].read(value)
        return rule
    if _is_table(node):
        return _read_column(node)
    for key, value in node.entries:
        if key.text in _KEYED and not isinstance(value, Scalar):
            message = f"the rule {quote(key.text)} stands beside other keys"
            refuse(key.place, message, code="rule-not-alone", hint=f"it stands alone, as in {_example(key.text)}")
    return _read_map(node)


def _is_keyed(node: Mapping) -> bool:
    """Whether a mapping is a rule and its parameter. A domain may be called so: it then has all, or tokens."""
    if len(node.entries) != 1 or node.entries[0][0].text not in _KEYED:
        return False
    value = node.entries[0][1]
    if not isinstance(value, Scalar):
        return True
    try:
        weight = parse_weight(value.text)
    except UnitError:
        return True
    return weight.unit is Unit.PERCENT and abs(weight.value - 1) > SUM_TOLERANCE


def _example(name: str) -> str:
    """A rule with its parameter, as a spec has it."""
    return f"{{{name}: {_KEYED[name].examples[0]}}}".replace("'", "")


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
    fields = _COLUMN.read(node)
    return TableColumn(path=fields.pop("table"), **fields)


def _read_temperature(node: Node) -> Temperature:
    return Temperature(temperature=read_factor(node))


def _read_unimax(node: Node) -> Unimax:
    return Unimax(**_UNIMAX.read(node))


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


_COLUMN = Keys(
    {
        "table": Key(read_path, TEXT, "A table beside the spec.", ("cells.csv",)),
        "column": Key(read_text, TEXT, "The table's column of weights.", ("pretraining",)),
        "domain": Key(read_text, TEXT, "The table's column of domains. Default: domain.", ("cell",)),
    },
    required=("table", "column"),
)
_UNIMAX = Keys(
    {"max_epochs": Key(read_epochs, EPOCHS, "How often a domain may be read in the phase.", (4,))},
    required=("max_epochs",),
)

_KEYED = {
    "temperature": Key(
        _read_temperature, FACTOR, "Shares in proportion to tokens^(1/temperature): 1 is proportional.", (2, 1.5)
    ),
    "unimax": Key(
        _read_unimax, _UNIMAX.schema(), "As even as can be, with no domain above so many epochs.", ({"max_epochs": 4},)
    ),
    "curve": Key(read_curve, CURVE.schema(), "A factor that grows with quality, up to a bound.", ({"by": "quality"},)),
}
"""Rules with a parameter: a mapping of this one key."""


def rule_schema() -> Schema:
    """What `read_rule` takes, but that shares sum to 1."""
    keyed = [Keys({name: key}, required=(name,)).schema() for name, key in _KEYED.items()]
    domains = {"type": "object", "minProperties": 1, "propertyNames": DOMAINS, "additionalProperties": WEIGHT}
    return any_of(words(Rule), _COLUMN.schema(), *keyed, domains)
