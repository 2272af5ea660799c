"""docs/formats.md runs from its first line to its last, and says of every format what the code says."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from docs.folder import run_block
from docs.pages import ROOT, blocks, rows_of
from docs.source_keys import catalog_source_keys
from docs.toys import check_said, commands
from format_trips import put, readable, weighed

from mixture.cli.app import app
from mixture.data.derived import ExportFormat
from mixture.data.layout.linked import LinkedFormat
from mixture.data.linking.sources import link_source
from mixture.data.store import open_store
from mixture.errors import SpecError
from mixture.formats import FORMATS, export_mixture, read_file
from mixture.lock import read_lock
from mixture.planning.catalog import read_catalog
from mixture.planning.plan import make_plan
from mixture.planning.spec import read_spec

PAGE = "formats.md"
OWN = "A format of your own"
"""The heading of a package that adds one."""
PHASES = ("1-pretraining", "2-midtraining")
"""Of the page's mixture, as names of files have them."""
SOURCES = {path.stem.replace("_", "-"): path for path in (ROOT / "mixture" / "formats").rglob("*.py")}
KEYS = {
    "files": ["a"], "dtype": "uint16", "documents": "none", "column": "ids", "id": "id", "path": "store", "domain": "d"
}  # fmt: skip
"""Keys of a domain of token files, with values that are right."""
OTHER_KEYS = {
    "tokenizer", "tokenizer_file", "vocabulary_size", "end_of_document", "domains", "format", "attributes"
}  # fmt: skip
"""Those of all domains, or of every format."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder behind the page's last block."""
    place = tmp_path_factory.mktemp("formats")
    for block in blocks(PAGE):
        if block.heading != OWN:
            run_block(block, place)
    return place


@pytest.mark.long
def test_a_package_adds_a_format_by_its_entry_point(folder: Path, tmp_path: Path) -> None:
    project, module, told = (block for block in blocks(PAGE) if block.heading == OWN)
    for block in (project, module):
        run_block(replace(block, language="text"), tmp_path)
    points = tomllib.loads(project.text)["project"]["entry-points"]["mixture.formats"]
    installed = tmp_path / "mixture_lines-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mixture-lines\nVersion: 1.0\n", encoding="utf-8")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (installed / "entry_points.txt").write_text(f"[mixture.formats]\n{lines}", encoding="utf-8")
    for name in ("toy.lock.json", "cells.csv"):
        shutil.copy(folder / name, tmp_path / name)
    program = [sys.executable, "-c", "from mixture.cli import main; main()"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    for command, expected in list(commands(told.text))[1:]:
        done = subprocess.run(
            [*program, *shlex.split(command)[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        check_said(done.stdout, expected, command)
    plan = make_plan(read_spec(tmp_path / "from-lines" / "mixture.yaml"))
    assert weighed(plan) == weighed(read_lock(tmp_path / "toy.lock.json"))


def table(head: str, column: str) -> list[list[str]]:
    """The rows of the table that has these words at the head of its first column and of another."""
    found = rows_of(PAGE, head=head, beside=column)
    assert found
    return found


def code(cell: str) -> list[str]:
    """What stands as code in a cell."""
    return re.findall("`([^`]+)`", cell)


def test_every_format_that_can_be_imported_comes_back_as_it_was_written(folder: Path) -> None:
    lock = read_lock(folder / "toy.lock.json")
    for name, form in FORMATS.items():
        assert (folder / name).is_dir()
        assert (folder / f"from-{name}").is_dir() == (form.read is not None)
        if form.read is not None:
            plan = make_plan(read_spec(folder / f"from-{name}" / "mixture.yaml"))
            assert weighed(plan) == weighed(lock), name
            assert plan.data.batches == lock.data.batches, name


def test_every_format_has_a_line_with_its_unit_its_files_and_what_comes_back(folder: Path) -> None:
    lock, catalog = read_lock(folder / "toy.lock.json"), read_catalog(folder / "cells.csv")
    rows = table("format", "weights count")
    assert [code(row[0])[0] for row in rows] == list(FORMATS)
    for cell, whose, units, changes, files, back in rows:
        form = FORMATS[code(cell)[0]]
        assert form.title.startswith(whose)
        assert units == " or ".join(form.units)
        assert changes == ", ".join(sorted(form.holds))
        unit = next((one for one in form.units if one == "sequences"), form.unit)
        exported = export_mixture(lock, form, catalog=catalog, unit=unit)
        names = {name.replace("PHASE", part) for name in code(files) for part in PHASES}
        assert {name.replace("NAME", "toy") for name in names} == set(exported.files)
        if form.read is None:
            assert back == "is not imported"
            continue
        paths = readable(exported, put(folder / "read" / form.name, exported.files))
        said = form.read([read_file(path) for path in paths], form.unit)
        phase = said.phases[0]
        found = {
            "name": said.name, "steps": phase.steps, "tokens": phase.tokens,
            "phases' names": phase.name if phase.name == "pretraining" else None,
            "length": phase.sequence_length, "batch": phase.batch_sequences, "seed": said.seed,
            "tokenizer": said.tokenizer, "sizes": said.tokens or None,
        }  # fmt: skip
        assert set(back.split(", ")) == {what for what, value in found.items() if value is not None}, form.name


def notes(path: Path) -> set[str]:
    """The codes of remarks that a file makes."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    codes = [call.args[0] for call in calls if getattr(call.func, "id", "") == "Remark"]
    assert all(isinstance(one, ast.Constant) for one in codes), path
    return {str(one.value) for one in codes if isinstance(one, ast.Constant)}


def test_every_format_has_a_line_on_how_its_trainer_draws_and_what_it_can_not_say() -> None:
    rows = table("format", "what it makes of weights")
    written = {code(cell)[0]: (version, draws) for cell, version, draws, _ in rows}
    assert written == {form.name: (form.version or "", form.draws) for form in FORMATS.values()}
    for cell, _, _, said in rows:
        own = SOURCES.get(code(cell)[0], SOURCES["plan-csv"])
        assert set(code(said)) == notes(own), own.name


def test_every_note_is_described_and_no_other() -> None:
    known = set().union(*(notes(path) for path in SOURCES.values()))
    assert {"domains-vanish", "weights-converted", "order-not-kept"} <= known
    assert {name for cell, *_ in rows_of(PAGE, head="note") for name in code(cell)} == known


def test_every_option_of_the_two_commands_has_a_line_and_no_other() -> None:
    program = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {(name, max(held.opts, key=len)) for name in ("export", "import") for held in program[name].params}
    named = rows_of(PAGE, head="option")
    said = {(owner, option) for names, owners, *_ in named for owner in code(owners) for option in code(names)}
    assert said == {(name, option) for name, option in options if option.startswith("--")}


def takes(form: LinkedFormat, key: str) -> bool:
    """Whether a domain of a format may have a key."""
    needed = {"path": "store"} if form is LinkedFormat.STORE else {"files": ["a"]}
    try:
        link_source("d", {"format": form.value, **needed, key: KEYS[key]}, ROOT)
    except SpecError:
        return False
    return True


def test_every_format_of_token_files_has_a_line_with_its_keys() -> None:
    assert catalog_source_keys() == KEYS.keys() | OTHER_KEYS
    rows = table("format", "keys of a domain")
    assert [code(row[0])[0] for row in rows] == [form.value for form in LinkedFormat]
    for cell, _, keys, _ in rows:
        assert set(code(keys)) == {key for key in KEYS if takes(LinkedFormat(code(cell)[0]), key)}, cell
    ways = {words.split("--format ")[1].split()[0] for block in blocks(PAGE) for words, _ in commands(block.text)
            if words.startswith("mixture export-store")}  # fmt: skip
    assert ways == {form.value for form in ExportFormat}
    assert [code(row[0])[0] for row in table("`--format`", "documents")] == [form.value for form in ExportFormat]


def test_tokens_that_went_out_and_came_back_are_the_same(folder: Path) -> None:
    stores = [open_store(folder / name) for name in ("store", "catalog", "catalog-again")]
    first, *others = [store.read("notes", 0, store.domains["notes"].tokens) for store in stores]
    assert len(first) > 30
    assert all(np.array_equal(first, other) for other in others)
