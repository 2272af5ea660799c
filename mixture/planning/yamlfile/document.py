"""YAML to nodes: 1.2, one document, without anchors, aliases, merge keys and tags.

A reviewed file says what it says where it says it. Nodes are built from the parser's events, so that depth and size
are bounded before anything is made of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Never

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StreamMark, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from mixture.errors import Place
from mixture.planning.yamlfile.errors import refuse
from mixture.planning.yamlfile.nodes import Mapping, Node, Scalar, Sequence, key_path
from mixture.units import quote

LARGEST_DEPTH = 20
LARGEST_NUM_NODES = 100_000

_DIRECTIVE = re.compile("(?:^|[\r\x85\u2028\u2029])%", re.MULTILINE)


def parse_document(text: str, *, file: str) -> Node:
    """The nodes of a YAML text. Raises SpecError, with line and column, at the first thing that is not right."""
    directive = _DIRECTIVE.search(text)
    if directive:
        place = Place(file=file, line=text.count("\n", 0, directive.start()) + 1, column=1)
        _refuse_feature(place, "the file has a YAML directive", "a spec is YAML 1.2 without directives")
    builder = _Builder(file)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = builder.last if mark is None else _place(file, mark)
        hint = "indent with spaces" if "'\\t'" in str(error.problem) else None
        refuse(place, f"not YAML: {error.problem or error.context}", code="yaml-syntax", hint=hint)
    except (YAMLError, ValueError, OverflowError) as error:
        refuse(builder.last, f"not YAML: {error}, after this", code="yaml-syntax")
    if builder.root is None or (isinstance(builder.root, Scalar) and not builder.root.text):
        refuse(Place(file=file, line=1, column=1), "the file is empty", code="file-empty")
    return builder.root


@dataclass(slots=True)
class _Open:
    """A mapping or a list that is being read. A mapping's keys and values follow one another."""

    place: Place
    is_mapping: bool
    children: list[Node] = field(default_factory=list)

    @property
    def awaits_key(self) -> bool:
        return self.is_mapping and len(self.children) % 2 == 0

    def child_path(self) -> str:
        """The path of what comes next."""
        if not self.is_mapping:
            return key_path(self.place.path, len(self.children))
        return self.place.path if self.awaits_key else self.children[-1].place.path

    def close(self) -> Node:
        if self.is_mapping:
            keys = [key for key in self.children[::2] if isinstance(key, Scalar)]
            return Mapping(tuple(zip(keys, self.children[1::2], strict=True)), self.place)
        return Sequence(tuple(self.children), self.place)


class _Builder:
    """Makes nodes from the parser's events."""

    def __init__(self, file: str) -> None:
        self.root: Node | None = None
        self.last = Place(file=file, line=1, column=1)
        self._file = file
        self._open: list[_Open] = []
        self._num_nodes = 0

    def take(self, event: Event) -> None:
        """Adds what an event says to the tree. Raises SpecError for what a spec may not use."""
        self.last = _place(self._file, event.start_mark)
        if isinstance(event, DocumentStartEvent):
            self._check_document()
        elif isinstance(event, NodeEvent):
            place = self._check_node(event)
            if isinstance(event, ScalarEvent):
                self._add(Scalar(event.value, event.style is not None, place))
            elif isinstance(event, CollectionStartEvent):
                self._open.append(_Open(place, isinstance(event, MappingStartEvent)))
        elif isinstance(event, CollectionEndEvent):
            self._add(self._open.pop().close())

    def _add(self, node: Node) -> None:
        if not self._open:
            self.root = node
        elif self._open[-1].awaits_key:
            self._open[-1].children.append(_key(node))
        else:
            self._open[-1].children.append(node)

    def _check_document(self) -> None:
        if self.root is not None:
            _refuse_feature(self.last, "a second document begins here", "a spec is one document")

    def _check_node(self, event: NodeEvent) -> Place:
        """The place of a node, with its path. Raises SpecError for anchors, aliases, tags, and too much of anything."""
        path = self._open[-1].child_path() if self._open else ""
        place = replace(self.last, path=path)
        self._num_nodes += 1
        if isinstance(event, AliasEvent) or event.anchor is not None:
            _refuse_feature(place, "anchors and aliases are not used in a spec", "write the value out")
        if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
            _refuse_feature(place, f"tags such as {quote(event.tag)} are not used in a spec", "take the tag out")
        if len(self._open) >= LARGEST_DEPTH or self._num_nodes > LARGEST_NUM_NODES:
            limit = f"{LARGEST_DEPTH} deep and {LARGEST_NUM_NODES:,} values long"
            refuse(place, f"a spec is at most {limit}", code="file-too-large", hint="long weights go into a table")
        return place


def _key(node: Node) -> Scalar:
    if not isinstance(node, Scalar):
        refuse(node.place, "a key is a name, not a list or a mapping", code="key-not-a-name")
    if node.text == "<<" and not node.quoted:
        _refuse_feature(node.place, "merge keys are not used in a spec", "write the entries out")
    return replace(node, place=replace(node.place, path=key_path(node.place.path, node.text)))


def _place(file: str, mark: StreamMark) -> Place:
    return Place(file=file, line=mark.line + 1, column=mark.column + 1)


def _refuse_feature(place: Place, message: str, hint: str) -> Never:
    refuse(place, message, code="yaml-feature", hint=hint)
