"""`mixture schema`: what editors read."""

from __future__ import annotations

import json

import jsonschema

from mixture.data.ingest import sources_schema
from mixture.planning.spec import schema_text, spec_schema


def test_the_schema_is_printed_or_written(run, tmp_path):
    assert run("schema").stdout == schema_text(spec_schema())
    assert run("schema", "sources").stdout == schema_text(sources_schema())
    assert run("schema", "-o", "mixture.schema.json", cwd=tmp_path).stdout == "mixture.schema.json: written\n"
    assert json.loads((tmp_path / "mixture.schema.json").read_text(encoding="utf-8"))["title"]
    assert "error[file-not-written]" in run("schema", "-o", "no/such/folder.json", cwd=tmp_path, code=1).stderr


def test_the_help_says_how_an_editor_finds_it(run):
    said = run("schema", "--help").stdout
    assert "# yaml-language-server: $schema=mixture.schema.json" in said


def test_what_commands_print_is_as_its_schema_says_key_by_key(run, small):
    lock, new = small / "mixture.lock.json", small / "new.lock.json"
    commands = {
        "plan": ("plan", small / "mixture.yaml"),
        "amend": ("amend", lock, "--step", 40, "--skip-steps", 2, "-o", new),
        "diff": ("diff", lock, new),
        "explain": ("explain", new, "--with", lock),
        "ladder": ("ladder", small / "mixture.yaml", "--rung", "20000:4", "--simulate-epochs", "-o", small / "rungs"),
    }
    for name, command in commands.items():
        schema = json.loads(run("schema", name).stdout)
        jsonschema.validate(json.loads(run(*command, "--json").stdout), strict(schema))


def strict(schema):
    """The same where each object has the keys that are described, and no other."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {}
    return {name: strict(part) for name, part in schema.items()} | closed
