"""plan and lock: exit codes, tables, and a lock file that is whole or not there."""

from __future__ import annotations

import json
from pathlib import Path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_plan_shows_phases_domains_and_findings(small: Path, run) -> None:
    shown = run("plan", small / "mixture.yaml").stdout
    for word in ("first", "second", "61,440", "longest-context", "domain-missing-in-phase", "epochs"):
        assert word in shown
    plan = json.loads(run("plan", small / "mixture.yaml", "--json").stdout)
    assert plan["steps"] == 100
    assert [phase["batch_tokens"] for phase in plan["phases"]] == [512, 1024]
    assert plan["lockable"] is True


def test_an_error_that_is_not_accepted_exits_1_and_writes_no_lock(small: Path, run) -> None:
    (small / "mixture.lock.json").unlink()
    edit(small / "mixture.yaml", "budget: 100 steps", "budget: {steps: 100, tokens: 1M}")
    assert "budget-mismatch" in run("plan", small / "mixture.yaml", code=1).stdout
    assert "error[budget-mismatch]" in run("lock", small / "mixture.yaml", code=1).stderr
    assert sorted(path.name for path in small.iterdir()) == ["cells.csv", "mixture.yaml"]
    edit(small / "mixture.yaml", "phases:", "accept: [budget-mismatch]\nphases:")
    run("plan", small / "mixture.yaml")
    run("lock", small / "mixture.yaml")


def test_a_batch_that_ranks_can_not_share_is_refused(small: Path, run) -> None:
    run("plan", small / "mixture.yaml", "--world-size", 4)
    assert "batch-not-divisible" in run("plan", small / "mixture.yaml", "--world-size", 3, code=1).stdout


def test_locking_again_changes_nothing_and_a_check_holds(small: Path, run) -> None:
    before = (small / "mixture.lock.json").read_bytes()
    assert "unchanged" in run("lock", small / "mixture.yaml").stdout
    assert (small / "mixture.lock.json").read_bytes() == before
    run("lock", small / "mixture.yaml", "--check")


def test_a_check_fails_with_both_figures_when_the_catalog_has_changed(small: Path, run) -> None:
    edit(small / "cells.csv", "c,1000000", "c,801000")
    failed = run("lock", small / "mixture.yaml", "--check", code=1).stderr
    for figure in ("error[catalog-changed]", "1,000,000", "801,000"):
        assert figure in failed


def test_all_errors_of_a_spec_are_shown_at_once_with_their_places(small: Path, run) -> None:
    edit(small / "mixture.yaml", "sequence_length: 64", "sequence_lenght: 64")
    edit(small / "mixture.yaml", "{a: 50%, b: 30%, c: 20%}", "{a: 50%, b: 30%, b: 20%}")
    shown = run("plan", small / "mixture.yaml", code=1).stderr
    assert "mixture.yaml:3:1" in shown
    assert "did you mean 'sequence_length'?" in shown
    assert "mixture.yaml:9:" in shown
    assert shown.count("error[") >= 2
