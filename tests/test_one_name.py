"""One thing has one name in commands, queries, request bodies, specs and Python's public functions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import mixture
import mixture.client
import mixture.stream
from mixture.cli.app import app
from mixture.planning.spec import SCHEMA_FILE

ROOT = Path(__file__).parents[1]
NAMES = {
    "length": "sequence_length", "seq_length": "sequence_length", "seq_len": "sequence_length",
    "at_step": "step", "steps_done": "step", "from_step": "first_step", "start_step": "first_step",
    "until_step": "last_step", "end_step": "last_step", "to_step": "last_step",
    "start": "first_position", "count": "last_position",
    "most": "limit", "max_rows": "limit", "page_size": "limit",
    "world": "world_size", "num_ranks": "world_size", "ranks": "world_size",
    "group_by": "by", "filter": "where", "condition": "where", "licence": "license",
}  # fmt: skip
"""Names that are not used, and the one that is."""


def _commands(command: Any, path: str = "mixture") -> Iterator[tuple[str, str]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{path} {name}")
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            yield path, option.lstrip("-").replace("-", "_").lower()


def _queries_and_bodies() -> Iterator[tuple[str, str]]:
    described = json.loads((ROOT / "mixture" / "api" / "openapi.json").read_text(encoding="utf-8"))
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                yield f"{method.upper()} {path}", parameter["name"].lower()
    for name, schema in described["components"]["schemas"].items():
        yield from ((name, key) for key in schema.get("properties", ()))


def _spec_keys() -> Iterator[tuple[str, str]]:
    def walk(schema: object) -> Iterator[str]:
        if isinstance(schema, dict):
            properties = schema.get("properties")
            yield from properties if isinstance(properties, dict) else ()
            for value in schema.values():
                yield from walk(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from walk(value)

    text = (ROOT / "mixture" / "planning" / "spec" / SCHEMA_FILE).read_text(encoding="utf-8")
    yield from (("spec", key) for key in walk(json.loads(text)))


def _functions() -> Iterator[tuple[str, str]]:
    for module in (mixture, mixture.stream, mixture.client):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield from (
                    (f"{module.__name__}.{name}", parameter) for parameter in inspect.signature(value).parameters
                )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (lambda: _commands(typer.main.get_command(app)), ("mixture trace step", "world_size")),
        (_queries_and_bodies, ("GET /v1/mixtures/{ref}/batches", "last_step")),
        (_spec_keys, ("spec", "sequence_length")),
        (_functions, ("mixture.open_stream", "first_step")),
    ],
    ids=["commands", "service", "specs", "python"],
)
def test_a_thing_has_the_same_name_everywhere(names, expected):
    found = set(names())
    assert expected in found
    assert not [f"{place}: {name}, elsewhere {NAMES[name]}" for place, name in sorted(found) if name in NAMES]
