"""An amendment that is refused is shown all the same: what it would do, and then why it is not done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mixture_folder import write_mixture

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
max_epochs: 2
phases:
  - {phase: first, share: 80%, weights: {a: 50%, b: 50%}}
  - {phase: second, weights: {a: 20%, b: 80%}}
"""
CELLS = "domain,tokens\na,20000\nb,20000\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_mixture(tmp_path / "small", SPEC, cells=CELLS)
    (tmp_path / "small" / "longer.yaml").write_text(SPEC.replace("100 steps", "400 steps"), encoding="utf-8")
    return tmp_path / "small"


def test_a_refused_plan_is_shown_and_nothing_is_written(folder: Path, ask) -> None:
    amend = (
        "amend",
        folder / "mixture.lock.json",
        folder / "longer.yaml",
        "--step",
        "50%",
        "-o",
        folder / "new.json",
    )
    error = ask(*amend, code=1, both=True)
    assert "steps   100 → 400" in error
    assert "nothing was written: the amendment is refused" in error
    assert "error[over-epochs]" in error
    assert not (folder / "new.json").exists()
    report = json.loads(ask(*amend, "--json", code=1, both=True).splitlines()[0])
    assert (report["lock"], report["digest"], report["step"], report["steps"]) == (None, None, 50, 400)
    assert {one["code"] for one in report["findings"]} >= {"over-epochs"}
    assert sum(one["tokens_drawn"] for one in report["domains"]) == 50 * 8 * 64


def test_one_that_its_store_refuses_is_shown_too(folder: Path, ask, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"some text of {name} " * 2000, encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.txt]}, b: {files: [b.txt]}}\n", encoding="utf-8")
    ask("ingest", tmp_path / "sources.yaml", "-o", tmp_path / "store")
    spec = folder / "shorter.yaml"
    spec.write_text(SPEC.replace("100 steps", "90 steps"), encoding="utf-8")
    said = ask(
        "amend", folder / "mixture.lock.json", spec, "--step", 50, "--store", tmp_path / "store", code=1, both=True
    )
    assert "steps   100 → 90" in said
    assert said.count("error[") == 1
