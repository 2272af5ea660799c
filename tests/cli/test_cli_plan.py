"""plan and lock: exit codes, tables, and a lock file that is whole or not there."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
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


def test_a_folder_is_not_a_spec_and_the_spec_in_it_is_named(small: Path, run) -> None:
    assert f"did you mean {small / 'mixture.yaml'}?" in run("plan", small, code=1).stderr
    (small / "mixture.yaml").unlink()
    assert "expected a YAML file" in run("plan", small, code=1).stderr


def test_a_plan_says_where_the_weights_of_a_phase_change_inside_of_it(small: Path, run) -> None:
    assert "change at step" not in run("plan", small / "mixture.yaml").stdout
    edit(small / "mixture.yaml", "phase: second", "phase: second\n    transition: {steps: 8, parts: 3}")
    shown = run("plan", small / "mixture.yaml").stdout
    assert "The weights of phase 'second' change at steps 83, 85 and 88: the table has their mean" in shown


def test_an_error_that_is_not_accepted_exits_1_and_writes_no_lock(small: Path, run) -> None:
    (small / "mixture.lock.json").unlink()
    edit(small / "mixture.yaml", "budget: 100 steps", "budget: {steps: 100, tokens: 1M}")
    assert "budget-mismatch" in run("plan", small / "mixture.yaml", code=1).stdout
    assert "error[budget-mismatch]" in run("lock", small / "mixture.yaml", code=1).stderr
    assert sorted(path.name for path in small.iterdir()) == ["cells.csv", "mixture.yaml"]
    edit(small / "mixture.yaml", "phases:", "accept: [budget-mismatch]\nphases:")
    run("plan", small / "mixture.yaml")
    run("lock", small / "mixture.yaml")


def test_each_finding_of_a_spec_that_is_refused_a_lock_is_said_once(small: Path, run) -> None:
    edit(small / "mixture.yaml", "budget: 100 steps", "budget: {steps: 100, tokens: 1M}")
    said = run("lock", small / "mixture.yaml", "--world-size", 3, code=1).stderr
    assert said.count("the budget says 1,000,000") == 1
    assert said.count("batch-not-divisible") == 1
    assert said.count("domain-missing-in-phase") == 1
    assert said.count("error[") == 1


def test_a_batch_that_ranks_can_not_share_is_refused(small: Path, run) -> None:
    run("plan", small / "mixture.yaml", "--world-size", 4)
    assert "batch-not-divisible" in run("plan", small / "mixture.yaml", "--world-size", 3, code=1).stdout


def test_locking_again_changes_nothing_and_a_check_holds(small: Path, run) -> None:
    before = (small / "mixture.lock.json").read_bytes()
    assert "unchanged" in run("lock", small / "mixture.yaml").stdout
    assert (small / "mixture.lock.json").read_bytes() == before
    run("lock", small / "mixture.yaml", "--check")


def test_a_lock_that_is_replaced_is_named_with_the_step_up_to_which_both_read_the_same(small: Path, run) -> None:
    old = json.loads((small / "mixture.lock.json").read_bytes())["digest"]
    edit(small / "mixture.yaml", "share: 80%", "share: 70%")
    assert f"replaces {old}; both read the same before step 70" in run("lock", small / "mixture.yaml").stdout
    digest = json.loads((small / "mixture.lock.json").read_bytes())["digest"]
    edit(small / "mixture.yaml", "mixture: small", "mixture: small\nseed: 7")
    assert f"replaces {digest}; they differ from the first step on" in run("lock", small / "mixture.yaml").stdout
    (small / "mixture.lock.json").write_text("my notes", encoding="utf-8")
    assert "error[lock-not-json]" in run("lock", small / "mixture.yaml", code=1).stderr
    assert (small / "mixture.lock.json").read_text(encoding="utf-8") == "my notes"


def test_a_lock_changed_by_hand_is_made_again(small: Path, run) -> None:
    whole = (small / "mixture.lock.json").read_bytes()
    edit(small / "mixture.lock.json", '"seed": 0', '"seed": 1')
    assert "error[lock-digest]" in run("lock", small / "mixture.yaml", "--check", code=1).stderr
    run("lock", small / "mixture.yaml")
    assert (small / "mixture.lock.json").read_bytes() == whole


def test_a_check_for_ranks_that_can_not_share_a_batch_fails(small: Path, run) -> None:
    run("lock", small / "mixture.yaml", "--check", "--world-size", 4)
    assert (
        "error[batch-not-divisible]" in run("lock", small / "mixture.yaml", "--check", "--world-size", 3, code=1).stderr
    )


def test_the_text_of_a_store_is_only_fixed_where_the_catalog_counts_its_tokens(small: Path, run) -> None:
    for name in "abc":
        (small / f"{name}.txt").write_text(name * 100, encoding="utf-8")
    domains = ", ".join(f"{name}: {{files: [{name}.txt]}}" for name in "abc")
    (small / "sources.yaml").write_text(f"domains: {{{domains}}}\n", encoding="utf-8")
    run("ingest", small / "sources.yaml", "-o", small / "store")
    before = (small / "mixture.lock.json").read_bytes()
    assert "error[tokens-differ]" in run("lock", small / "mixture.yaml", "--store", small / "store", code=1).stderr
    assert (small / "mixture.lock.json").read_bytes() == before


def test_a_store_that_is_not_there_is_no_table(small: Path, run) -> None:
    assert "error[store-missing]" in run("lock", small / "mixture.yaml", "--store", small / "nowhere", code=1).stderr
    check = ("lock", small / "mixture.yaml", "--check", "--store", small / "nowhere")
    assert "error[store-missing]" in run(*check, code=1).stderr


def test_names_are_never_cut_however_narrow_the_terminal(small: Path) -> None:
    name = "a-domain-with-a-rather-long-name-for-any-table-of-this-width"
    (small / "cells.csv").write_text(f"domain,tokens\n{name},200000\n", encoding="utf-8")
    edit(small / "mixture.yaml", "{a: 50%, b: 30%, c: 20%}", "uniform")
    edit(small / "mixture.yaml", "{a: 20%, b: 80%}", "uniform")
    master, slave = pty.openpty()
    command = [str(Path(sys.executable).with_name("mixture")), "plan", str(small / "mixture.yaml")]
    environment = {"COLUMNS": "60", "TERM": "xterm", "PATH": "/usr/bin"}
    process = subprocess.Popen(command, stdout=slave, stdin=subprocess.DEVNULL, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # what a terminal says when nothing writes to it any more
            break
        if not part:
            break
        shown += part
    assert process.wait(60) == 0
    os.close(master)
    assert name in shown.decode()


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


def test_a_spec_is_planned_with_changes_before_and_after(small: Path, run) -> None:
    spec = (small / "mixture.yaml").read_bytes()
    settings = ("--set", "budget=200 steps", "--set", "phases.first.weights.a=+10")
    shown = run("plan", small / "mixture.yaml", *settings).stdout
    for words in ("100 → 200", "A: before", "B: after", "50% → 60%", "each is multiplied by 0.8", "Findings"):
        assert words in shown
    assert "\nphases[1].weights: warning: domain-missing-in-phase" in shown, "the changed spec is in no file"
    assert (small / "mixture.yaml").read_bytes() == spec
    assert sorted(path.name for path in small.iterdir()) == ["cells.csv", "mixture.lock.json", "mixture.yaml"]


def test_a_changed_spec_is_written_with_its_comments_and_plans_the_same(small: Path, run) -> None:
    edit(small / "mixture.yaml", "budget: 100 steps", "budget: 100 steps  # for now")
    (small / "specs").mkdir()
    out = small / "specs" / "longer.yaml"
    change = ("--set", "budget=200 steps", "-o", out, "--json")
    printed = json.loads(run("plan", small / "mixture.yaml", *change).stdout)
    assert sorted(printed) == ["after", "before", "remarks", "spec"]
    assert (printed["before"]["steps"], printed["after"]["steps"]) == (100, 200)
    assert printed["spec"] == out.read_text(encoding="utf-8")
    assert "budget: 200 steps  # for now" in printed["spec"]
    assert "catalog: ../cells.csv" in printed["spec"]
    assert json.loads(run("plan", out, "--json").stdout) == printed["after"]
    assert "error[file-exists]" in run("plan", small / "mixture.yaml", *change, code=1).stderr


def test_changes_that_are_refused_exit_1_and_write_nothing(small: Path, run) -> None:
    out = small / "more.yaml"
    refused = run("plan", small / "mixture.yaml", "--set", "budget=200 steps", "--world-size", 3, "-o", out, code=1)
    assert "batch-not-divisible" in refused.stdout
    assert "not written" in refused.stderr
    wrong = ("--set", "phases.frist.share=50%", "--set", "budgt=17T", "--set", "phases.first.weights.a=10%")
    failed = run("plan", small / "mixture.yaml", *wrong, "-o", out, code=1).stderr
    assert "error[unknown-phase]: phases.frist.share: there is no phase 'frist' (did you mean 'first'?)" in failed
    assert "error[unknown-key]: budgt: unknown key (did you mean 'budget'?)" in failed
    share = ("--set", "phases.second.share=25%")
    assert "error[phases-miss-budget]" in run("plan", small / "mixture.yaml", *share, code=1).stderr
    assert not out.exists()


def test_groups_of_a_change_are_of_a_column(small: Path, run) -> None:
    (small / "cells.csv").write_text("domain,tokens,kind\na,200000,x\nb,90000,y\nc,1000000,y\n", encoding="utf-8")
    change = ("--set", "phases.first.groups.y=75%", "--json")
    printed = json.loads(run("plan", small / "mixture.yaml", *change, "--by", "kind").stdout)
    shares = [domain["weight"]["ratio"] for domain in printed["after"]["phases"][0]["domains"]]
    assert shares == ["1/4", "9/20", "3/10"]
    assert "error[unknown-column]" in run("plan", small / "mixture.yaml", *change, code=1).stderr
    assert "need --set" in run("plan", small / "mixture.yaml", "--by", "kind", code=2).stderr
