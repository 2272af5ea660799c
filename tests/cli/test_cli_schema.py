"""`mixture schema`: what editors read."""

from __future__ import annotations

import json

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
