"""YAML as trainers read it: most still by YAML 1.1, where `no`, `1e-6` and `12:30` are no text and no float."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

_PLAIN_TEXT = re.compile(r"[A-Za-z_][\w./@+-]*", re.ASCII)
_OTHER_THINGS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


class Number(str):
    """A number as it is to be written: all of its digits, no exponent."""

    __slots__ = ()


class Written(str):
    """A text without quotes, as written."""

    __slots__ = ()


class Row(dict[str, object]):
    """A mapping on one line."""


class _Representer(RoundTripRepresenter):
    """Writes what this module has kinds for."""


def _number(representer: RoundTripRepresenter, number: Number) -> ScalarNode:
    kind = "float" if "." in number else "int"
    return representer.represent_scalar(f"tag:yaml.org,2002:{kind}", str(number))


_Representer.add_representer(Number, _number)


def yaml_text(value: Mapping[str, object]) -> str:
    """A mapping as YAML that readers of 1.1 and of 1.2 read alike."""
    yaml = YAML(typ="rt")
    yaml.Representer = _Representer
    yaml.width = 1 << 20
    written = io.StringIO()
    yaml.dump(_node(value), written)
    return written.getvalue()


def scalar(text: str) -> str:
    """A text, in quotes where some reader would take it for something else."""
    is_plain = _PLAIN_TEXT.fullmatch(text) and text.lower() not in _OTHER_THINGS
    return text if is_plain else DoubleQuotedScalarString(text)


def _node(value: object) -> object:
    if isinstance(value, Number) or value is None or isinstance(value, int):
        return value
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        mapping = CommentedMap((scalar(key), _node(held)) for key, held in value.items())
        if isinstance(value, Row):
            mapping.fa.set_flow_style()
        return mapping
    assert isinstance(value, Sequence), f"no YAML for {type(value).__name__}"
    return CommentedSeq(_node(held) for held in value)
