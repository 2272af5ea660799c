"""Mappings of a spec: every key read, once, and none that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from collections.abc import Mapping as Table
from types import MappingProxyType
from typing import Any

from mixture.errors import nearest
from mixture.planning.yamlfile.errors import Gatherer, refuse
from mixture.planning.yamlfile.nodes import Mapping, Node, Scalar, Sequence
from mixture.units import quote

Reader = Callable[[Node], Any]


def read_fields(
    node: Node,
    readers: Table[str, Reader],
    *,
    required: Collection[str] = (),
    alternatives: Collection[str] = (),
    elsewhere: Table[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The values of a mapping's keys, each by its reader; of the alternatives at most one may stand there.

    elsewhere: hints for keys that another file has for what is meant

    Raises SpecFileError with all that is wrong in it.
    """
    known = ", ".join(readers)
    if not isinstance(node, Mapping):
        hint = f"right here: {known}"
        refuse(node.place, "this is not a mapping", code="not-a-mapping", hint=hint)
    values: dict[str, Any] = {}
    gatherer = Gatherer()
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            if key.text not in readers:
                hint = elsewhere.get(key.text) or nearest(key.text, readers) or f"right here: {known}"
                refuse(key.place, f"nothing reads the key {quote(key.text)}", code="unknown-key", hint=hint)
            values[key.text] = readers[key.text](value)
    written = {key.text: key for key, _ in node.entries}
    unknown = written.keys() - readers.keys()
    for name in required:
        with gatherer:
            # A slip in a key is one error, not an unknown key and a missing one.
            if name not in written and not any(nearest(key, [name]) for key in unknown):
                refuse(node.place, f"the key {quote(name)} is missing", code="missing-key")
    with gatherer:
        given = [key for name, key in written.items() if name in alternatives]
        if len(given) > 1:
            message = f"{quote(given[0].text)} and {quote(given[1].text)} are both given"
            refuse(given[1].place, message, code="key-conflict", hint="one of them is right")
    gatherer.finish()
    return values


def unique_entries(node: Mapping, gatherer: Gatherer) -> Iterator[tuple[Scalar, Node]]:
    """The entries whose key has not stood before in the mapping; the others go to the gatherer."""
    first: dict[str, Scalar] = {}
    for key, value in node.entries:
        if key.text in first:
            with gatherer:
                lines = (first[key.text].place.line, key.place.line)
                message = f"the key {quote(key.text)} stands twice, on line {lines[0]} and on line {lines[1]}"
                refuse(key.place, message, code="duplicate-key", hint="one of them is right", lines=lines)
            continue
        first[key.text] = key
        yield key, value


def read_list(node: Node) -> tuple[Node, ...]:
    """The items of a list."""
    if not isinstance(node, Sequence):
        refuse(node.place, "this is not a list", code="not-a-list", hint="a list is right here")
    return node.items


def read_items(node: Node) -> tuple[Node, ...]:
    """The items of a list that has some."""
    items = read_list(node)
    if not items:
        refuse(node.place, "the list is empty", code="empty-list", hint="at least one item is right here")
    return items
