"""The keys of a mapping, said once: the table that reads them is the one that their JSON Schema is made from."""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from mixture.planning.yamlfile.fields import Reader, read_fields
from mixture.planning.yamlfile.nodes import Node

Schema = dict[str, Any]
"""A part of a JSON Schema, draft 7."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a mapping may have. It is a `Reader` of its value.

    schema:   what a value is, as far as a schema can say it; it never refuses what `read` takes
    about:    a sentence that editors show
    examples: values as YAML has them, each taken by `read`
    """

    read: Reader
    schema: Schema
    about: str
    examples: tuple[Any, ...] = ()

    def __call__(self, node: Node) -> object:
        """The value that stands at the key."""
        return self.read(node)

    def described(self) -> Schema:
        """The schema of the key's value, with what editors show."""
        examples = {"examples": list(self.examples)} if self.examples else {}
        said = {"description": self.about, **examples}
        # Draft 7 ignores whatever stands beside a reference.
        return said | ({"allOf": [self.schema]} if "$ref" in self.schema else self.schema)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one kind of mapping: which it needs, and of which it has at most one, or at least one.

    elsewhere: hints for keys that it does not have, and another file or an earlier version does
    """

    table: Table[str, Key]
    required: tuple[str, ...] = ()
    at_most_one: tuple[str, ...] = ()
    at_least_one: tuple[str, ...] = ()
    elsewhere: Table[str, str] = field(default_factory=dict)

    def read(self, node: Node) -> dict[str, Any]:
        """The values of the keys that are there, as `read_fields` does; `at_least_one` is for the caller to say."""
        return read_fields(
            node, self.table, required=self.required, alternatives=self.at_most_one, elsewhere=self.elsewhere
        )

    def schema(self) -> Schema:
        """The schema of such a mapping."""
        schema: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: key.described() for name, key in self.table.items()},
        }
        if self.required:
            schema["required"] = list(self.required)
        if self.at_least_one:
            schema["anyOf"] = [{"required": [name]} for name in self.at_least_one]
        if self.at_most_one:
            both = [{"required": list(pair)} for pair in combinations(self.at_most_one, 2)]
            schema["not"] = {"anyOf": both}
        return schema


def any_of(*schemas: Schema) -> Schema:
    """A value that one of these takes."""
    return {"anyOf": list(schemas)}
