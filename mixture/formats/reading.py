"""Reading a trainer's YAML or JSON strictly: every key is read, reported as left out, or refused at its place.

JSON is read as the YAML that it is, so its errors have lines and columns too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from mixture.errors import FormatError, SpecError, UnitError
from mixture.formats.declared import SourceFile
from mixture.formats.format import Remark
from mixture.planning.yamlfile import (
    Gatherer,
    Node,
    Reader,
    Scalar,
    Sequence,
    parse_document,
    read_fields,
    read_items,
    read_number,
    read_scalar,
    read_text,
    refuse,
    unique_entries,
)
from mixture.planning.yamlfile import Mapping as MappingNode
from mixture.units import parse_whole, quote

__all__ = [
    "LeftOut",
    "MappingNode",
    "Node",
    "Reader",
    "Scalar",
    "Sequence",
    "entries",
    "exact",
    "has_key",
    "interpolated",
    "is_null",
    "items",
    "number",
    "optional",
    "read_fields",
    "read_items",
    "read_scalar",
    "read_text",
    "refuse",
    "root_of",
    "some_fields",
    "whole",
    "word",
]

T = TypeVar("T")

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_NAMED = 8
_VARIABLE = re.compile(r"\$\{([A-Za-z_][\w.-]*)\}")
_DEEPEST = 8
"""Variables that name variables, one inside another."""


class LeftOut:
    """Keys that a format has and a spec has no place for, as they are met."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        self._read_as: dict[str, None] = {}

    def keys(self, *names: str) -> dict[str, Reader]:
        """Readers that only note that the keys are there."""
        return dict.fromkeys(names, self.note)

    def note(self, node: Node) -> None:
        """Notes a key; those of a list or of many alike are one."""
        self._paths.setdefault(re.sub(r"\[[0-9]+\]", "[…]", node.place.path))

    def read_as(self, message: str) -> None:
        """Notes how something was read that the file leaves open."""
        self._read_as.setdefault(message)

    def remarks(self) -> tuple[Remark, ...]:
        """One remark that names the keys, and one for each thing that the file leaves open."""
        open_ = tuple(Remark("read-as", message) for message in self._read_as)
        if not self._paths:
            return open_
        paths = list(self._paths)
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        named = ", ".join(quote(path) for path in paths[:_NAMED])
        return (Remark("keys-left-out", f"a spec has no place for {named}{more}"), *open_)


def root_of(source: SourceFile) -> Node:
    """The file's nodes.

    Raises SpecError, with line and column, where it is not YAML or JSON; FormatError `yaml-feature` for anchors, merge
    keys and tags: what they make of a file is for its own trainer to say.
    """
    try:
        return parse_document(source.text, file=str(source.path))
    except SpecError as error:
        if error.code != "yaml-feature":
            raise
        raise FormatError(
            "anchors, aliases, merge keys, tags, directives and second documents are not supported",
            code=error.code,
            place=error.place,
            hint="import the config that the trainer writes out",
        ) from error


def interpolated(root: Node) -> Node:
    """The nodes with variables such as `${variables.seed}` replaced by what they name in the same file.

    Those that name nothing there, or come from elsewhere, as `${oc.env:HOME}`, stay as they are written.
    """
    return _resolved(root, root, ())


def _resolved(node: Node, root: Node, inside: tuple[str, ...]) -> Node:
    if isinstance(node, MappingNode):
        return MappingNode(tuple((key, _resolved(value, root, inside)) for key, value in node.entries), node.place)
    if isinstance(node, Sequence):
        return Sequence(tuple(_resolved(item, root, inside) for item in node.items), node.place)
    whole_name = _VARIABLE.fullmatch(node.text)
    if whole_name is not None:
        return replace(_variable(whole_name[1], node, root, inside), place=node.place)
    text = _VARIABLE.sub(lambda match: _text_of(_variable(match[1], node, root, inside), match[0]), node.text)
    return replace(node, text=text)


def _variable(name: str, node: Scalar, root: Node, inside: tuple[str, ...]) -> Node:
    """What a variable names, itself without variables; the node where it names nothing, or itself."""
    found: Node | None = root
    for part in name.split("."):
        held = found.entries if isinstance(found, MappingNode) else ()
        found = next((value for key, value in held if key.text == part), None)
    if found is None or name in inside or len(inside) >= _DEEPEST:
        return node
    return _resolved(found, root, (*inside, name))


def _text_of(node: Node, written: str) -> str:
    return node.text if isinstance(node, Scalar) and not _VARIABLE.search(node.text) else written


def some_fields(node: Node, readers: Mapping[str, Reader], left_out: LeftOut) -> dict[str, Any]:
    """The keys of a trainer's own section that say something of the mixture; all others are noted as left out."""
    if not isinstance(node, MappingNode):
        refuse(
            node.place, "this is not a mapping", code="not-a-mapping", hint=f"expected keys: {', '.join(readers)}, …"
        )
    values: dict[str, Any] = {}
    gatherer = Gatherer()
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            if key.text in readers:
                values[key.text] = readers[key.text](value)
            else:
                left_out.note(value)
    gatherer.finish()
    return values


def has_key(node: Node, name: str) -> bool:
    """Whether a mapping has a key."""
    return isinstance(node, MappingNode) and any(key.text == name for key, _ in node.entries)


def entries(node: Node, read: Callable[[Node], T]) -> dict[str, T]:
    """A mapping of any names, each value by one reader. Raises SpecFileError with all that is wrong."""
    if not isinstance(node, MappingNode):
        refuse(node.place, "this is not a mapping", code="not-a-mapping", hint="expected names with values")
    values: dict[str, T] = {}
    gatherer = Gatherer()
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            values[key.text] = read(value)
    gatherer.finish()
    return values


def items(node: Node, read: Callable[[Node], T]) -> list[T]:
    """A list that has something in it, each item by one reader. Raises SpecFileError with all that is wrong."""
    values: list[T] = []
    gatherer = Gatherer()
    for item in read_items(node):
        with gatherer:
            values.append(read(item))
    gatherer.finish()
    return values


def optional(read: Callable[[Node], T]) -> Callable[[Node], T | None]:
    """A reader that also takes null."""
    return lambda node: None if is_null(node) else read(node)


def is_null(node: Node) -> bool:
    """Whether a value is null."""
    return isinstance(node, Scalar) and not node.quoted and node.text.lower() in ("", "~", "null", "none")


def number(node: Node) -> Fraction:
    """A number as trainers write it, at least 0, exact: 0.25, .05, 30, 1e-6."""
    return read_number(node, exact)


def whole(node: Node, *, least: int = 0) -> int:
    """An integer, at least `least`."""
    return read_number(node, partial(parse_whole, least=least))


def exact(text: str) -> Fraction:
    """The exact value of a number. Raises UnitError."""
    if not _NUMBER.fullmatch(text):
        raise UnitError(
            f"{quote(text)} is not a number", code="not-a-number", hint="expected a number such as 0.25 or 1e-6"
        )
    value = Fraction(text)
    if value < 0:
        raise UnitError(f"{quote(text)} is negative", code="negative", hint="expected 0 or more")
    return value


def word(node: Node) -> str:
    """A value as written, whatever YAML takes it for."""
    return read_scalar(node).text
