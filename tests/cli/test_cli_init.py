"""`mixture init`: a spec for a catalog, with the schema beside it, planned and locked as it is."""

from __future__ import annotations

import json

import pytest

from mixture.planning.spec import read_spec, schema_text, spec_schema


@pytest.fixture
def cells(tmp_path):
    (tmp_path / "data").mkdir()
    rows = "".join(f"c{i},{i % 4},{10**7 + i}\n" for i in range(12))
    (tmp_path / "data" / "cells.csv").write_text(f"cell,quality,tokens\n{rows}", encoding="utf-8")
    return tmp_path


def test_what_it_writes_is_planned_and_locked(cells, run):
    said = run("init", "data/cells.csv", "--domain", "cell", cwd=cells).stdout
    assert said.startswith("mixture.yaml: 119,996,416 tokens in ")
    assert (cells / "mixture.schema.json").read_text(encoding="utf-8") == schema_text(spec_schema())
    assert run("plan", "mixture.yaml", cwd=cells).stdout
    run("lock", "mixture.yaml", cwd=cells)
    assert read_spec(cells / "mixture.yaml").mixture == cells.name


def test_it_lies_where_it_is_asked_to_and_has_the_tokens_that_it_is_asked_to(cells, run):
    (cells / "specs").mkdir()
    (cells / "specs" / "mixture.schema.json").write_text("{}", encoding="utf-8")
    out = ("-o", "specs/a.yaml", "--tokens", "20M", "--domain", "cell", "--json")
    said = json.loads(run("init", "data/cells.csv", *out, cwd=cells).stdout)
    assert said["spec"] == "specs/a.yaml"
    assert 19 * 10**6 < said["tokens"] <= 20 * 10**6
    assert (cells / "specs" / "mixture.schema.json").read_text(encoding="utf-8") == "{}"
    run("plan", "specs/a.yaml", cwd=cells)


def test_it_writes_over_nothing(cells, run):
    (cells / "mixture.yaml").write_text("mine", encoding="utf-8")
    assert "error[file-exists]: mixture.yaml" in run("init", "data/cells.csv", cwd=cells, code=1).stderr
    assert (cells / "mixture.yaml").read_text(encoding="utf-8") == "mine"
    assert not (cells / "mixture.schema.json").exists()


def test_a_table_with_other_columns_is_refused_with_what_names_them(cells, run):
    said = run("init", "data/cells.csv", cwd=cells, code=1).stderr
    assert "has no column 'domain' (--domain COLUMN names the one of the domains; its columns: 'cell'" in said
    table = cells / "data" / "cells.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("tokens", "size"), encoding="utf-8")
    said = run("init", "data/cells.csv", "--domain", "cell", cwd=cells, code=1).stderr
    assert "has no column 'tokens' (the sizes are in one of this name; its columns: 'cell'" in said


def test_one_sequence_a_step_is_no_plural(cells, run):
    run("init", "data/cells.csv", "--domain", "cell", "--tokens", "100K", cwd=cells)
    lines = (cells / "mixture.yaml").read_text(encoding="utf-8").splitlines()
    assert [line.split("#")[0].rstrip() for line in lines if line.startswith("batch:")] == ["batch: 1 sequence"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["none.csv"], "file-missing"),
        (["data/cells.csv"], "missing-column"),
        (["data/cells.csv", "--tokens", "2 steps"], "wrong-unit"),
    ],
)
def test_what_is_no_catalog_or_no_budget_is_refused(cells, run, arguments, code):
    assert f"error[{code}]" in run("init", *arguments, cwd=cells, code=1).stderr
    assert not (cells / "mixture.yaml").exists()
