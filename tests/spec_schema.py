"""Spec files as a validator of JSON Schema sees them: their plain words resolved as YAML 1.2 resolves them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema

from mixture.planning.spec.schema import spec_schema
from mixture.planning.yamlfile.document import parse_document
from mixture.planning.yamlfile.nodes import Mapping, Node, Scalar

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@cache
def _validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(spec_schema())


def schema_errors(text: str) -> list[str]:
    """What the schema says against a spec; nothing where it takes it."""
    value = value_of(parse_document(text, file="test.yaml"))
    return [f"{error.json_path}: {error.message}" for error in _validator().iter_errors(value)]


def value_of(node: Node) -> Any:
    """The value of a node by the core schema of YAML 1.2."""
    if isinstance(node, Mapping):
        return {key.text: value_of(value) for key, value in node.entries}
    if not isinstance(node, Scalar):
        return [value_of(item) for item in node.items]
    return node.text if node.quoted else _plain(node.text)


def _plain(text: str) -> Any:
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false") and text in (text.lower(), text.capitalize(), text.upper()):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and len(text) < 4000:
        return int(text)
    if text.startswith(("0o", "0x")) and re.fullmatch("0o[0-7]+|0x[0-9a-fA-F]+", text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def says_null(text: str) -> bool:
    """Whether a spec has a value that is null to YAML: the one thing that the loader takes and the schema does not."""
    return _has_null(value_of(parse_document(text, file="test.yaml")))


def _has_null(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_null, value.values() if isinstance(value, dict) else value))
    return value is None
