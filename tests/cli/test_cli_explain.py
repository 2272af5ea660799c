"""`mixture explain`: a lock in words and as JSON; ancestors that lie beside it, or are given, say more."""

from __future__ import annotations

import json

from mixture.lock import Amendment, read_lock, write_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec


def amended(small, name="new.lock.json"):
    """The small run with a budget of 120 steps from step 40 on, written beside its lock."""
    spec = (small / "mixture.yaml").read_text().replace("100 steps", "120 steps")
    (small / "longer.yaml").write_text(spec)
    old = read_lock(small / "mixture.lock.json")
    lock = make_lock(make_plan(read_spec(small / "longer.yaml"), amends=Amendment(old, 40, reason="more tokens")))
    write_lock(lock, small / name)
    return old, lock


def test_a_lock_that_amends_nothing_is_said_to_be_a_run_of_its_own(small, run):
    lock = read_lock(small / "mixture.lock.json")
    said = run("explain", small / "mixture.lock.json").stdout
    assert said.splitlines() == [
        f"small, lock {lock.digest}",
        "The run: 100 steps, 800 sequences, 61,440 tokens, 3 domains.",
        "  Phase 'first', steps 0 to 79: 8 sequences of 64 tokens a step, 40,960 tokens.",
        "  Phase 'second', steps 80 to 99: 8 sequences of 128 tokens a step, 20,480 tokens.",
        "",
        "It amends no other lock.",
        "",
        "Checkpoints that may go on under it:",
        f"  of this lock, {lock.digest[:12]}: at any step",
    ]


def test_an_amended_lock_says_its_lineage_with_what_lies_beside_it(small, run, tmp_path):
    old, new = amended(small)
    (small / "damaged.lock.json").write_text("{")
    said = run("explain", small / "new.lock.json").stdout
    assert f"Amendment 1, at step 40, of lock {old.digest[:12]}\n  Why: 'more tokens'.\n" in said
    assert "The run has 120 steps and no longer 100." in said
    assert "This lock reads what that lock reads up to step 80." in said, "the first phase goes on as it was"
    assert "  From step 96 and no longer from 80, phase 'second': " in said
    assert f"of lock {old.digest[:12]}: up to step 80\n" in said
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_lock(new, elsewhere / "new.lock.json")
    alone = run("explain", elsewhere / "new.lock.json").stdout
    assert "This lock reads" not in alone
    assert "the amended lock, which is not at hand:\n  From step 96, phase 'second': " in alone
    assert f"of lock {old.digest[:12]}: up to step 40\n" in alone
    given = run("explain", elsewhere / "new.lock.json", "--with", small / "mixture.lock.json").stdout
    assert given == said


def test_json_is_one_object_with_whole_digests(small, run):
    old, new = amended(small)
    found = json.loads(run("explain", small / "new.lock.json", "--json").stdout)
    assert found["digest"] == new.digest
    assert found["amendments"][0]["amended"] == old.digest
    assert [one["up_to_step"] for one in found["resumable"]] == [80, 120]


def test_a_lock_that_is_no_ancestor_is_refused(small, run):
    amended(small)
    refused = run("explain", small / "mixture.lock.json", "--with", small / "new.lock.json", code=1)
    assert refused.stderr.startswith("error[not-an-ancestor]: ")
