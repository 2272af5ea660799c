"""A YAML file as nodes that keep what was written: raw text, quotes and places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mixture.errors import Place

_PLAIN_WORD = re.compile(r"\w[\w@:/+-]*")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as written: never a bool, a date or a float."""

    text: str
    quoted: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys and values in the order written, duplicates included. A key's place has the path of its value."""

    entries: tuple[tuple[Scalar, Node], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list in the order written."""

    items: tuple[Node, ...]
    place: Place


Node = Scalar | Mapping | Sequence


def key_path(holder: str, part: str | int) -> str:
    """The path of a key or an index in what holds it: ``phases[1]``, ``weights.web``, ``weights["a.b"]``."""
    if isinstance(part, int):
        return f"{holder}[{part}]"
    if not _PLAIN_WORD.fullmatch(part):
        return f"{holder}[{json.dumps(part, ensure_ascii=not part.isprintable())}]"
    return f"{holder}.{part}" if holder else part


def key_places(root: Node) -> Iterator[Place]:
    """The places of all keys and list items below a node; of a key its own place, not its value's."""
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            yield from (key.place for key, _ in node.entries)
            pending.extend(value for _, value in node.entries)
        elif isinstance(node, Sequence):
            yield from (item.place for item in node.items)
            pending.extend(node.items)
