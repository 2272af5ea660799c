"""The JSON Schema of a spec file, made from the tables of keys that read one, and how such schemas are written."""

from __future__ import annotations

import json

from mixture.planning.spec.reading import SPEC
from mixture.planning.spec.rules import rule_schema
from mixture.planning.yamlfile import Schema

SCHEMA_FILE = "mixture.schema.json"
"""What the schema's file is called."""

_DRAFT = "http://json-schema.org/draft-07/schema#"  # what editors of YAML know best


def spec_schema() -> Schema:
    """The schema. It refuses no spec that `read_spec` takes, but for values that YAML reads as null (`null`, `~`)."""
    return whole_schema("A data mixture for training a language model", SPEC.schema(), rule=rule_schema())


def whole_schema(title: str, schema: Schema, **definitions: Schema) -> Schema:
    """The schema of a file."""
    return {"$schema": _DRAFT, "title": title, **schema, **({"definitions": definitions} if definitions else {})}


def schema_text(schema: Schema) -> str:
    """A schema as its file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
