"""`mixture ladder` as a user runs it."""

from __future__ import annotations

import json

SIMULATED = ("--rung", "12.8K:4", "--rung", "25.6K", "--simulate-epochs")


def test_rungs_are_written_and_each_is_what_its_spec_gives(run, small):
    said = run("ladder", small / "mixture.yaml", *SIMULATED, "-o", small / "rungs").stdout
    assert "2 rungs of a run of 100 steps" in said
    assert "epochs asked" in said
    names = sorted(path.name for path in (small / "rungs").iterdir())
    assert names == [f"small-{size}.{ending}" for size in ("12.8K", "25.6K") for ending in ("lock.json", "yaml")]
    for size in ("12.8K", "25.6K"):
        assert "is what the spec" in run("lock", "--check", f"small-{size}.yaml", cwd=small / "rungs").stdout
        run("plan", f"small-{size}.yaml", cwd=small / "rungs")
        assert run("counts", f"small-{size}.lock.json", "--step", "1", cwd=small / "rungs").stdout


def test_json_is_one_rung_a_line_with_exact_epochs_asked_and_got(run, small):
    lines = run("ladder", small / "mixture.yaml", *SIMULATED, "--json").stdout.splitlines()
    first, second = (json.loads(line) for line in lines)
    assert (first["rung"], second["rung"]) == ("12.8K:4", "25.6K")
    assert (first["tokens_asked"], first["phases"][0]["batch_sequences"]) == (12_800, 4)
    plan = json.loads(run("plan", small / "mixture.yaml", "--json").stdout)
    asked = {domain["domain"]: domain["epochs"] for domain in plan["domains"]}
    for domain in first["domains"]:
        assert domain["epochs_asked"] == asked[domain["domain"]]
        numerator, denominator = map(int, domain["epochs"]["ratio"].split("/"))
        held = domain["pool_tokens"] or domain["tokens"]
        assert numerator * held == domain["tokens_drawn"] * denominator
    assert first["phases"][0]["asked_end"]["decimal"] == str(first["steps"] * 4 / 5).removesuffix(".0")
    assert "lock" not in first


def test_rungs_of_the_same_tokens_have_their_batch_in_their_names(run, small):
    out = small / "rungs"
    run("ladder", small / "mixture.yaml", "--rung", "12.8K:4", "--rung", "12.8K:2", "-o", out)
    assert {path.name for path in out.glob("*.yaml")} == {"small-12.8K-4.yaml", "small-12.8K-2.yaml"}


def test_the_lock_of_a_full_rung_is_the_specs_own(run, small):
    spec = small / "mixture.yaml"
    tokens = json.loads(run("plan", spec, "--json").stdout)["tokens"]
    said = run("ladder", spec, "--rung", str(tokens), "--simulate-epochs", "--json", "-o", small / "rungs").stdout
    line = json.loads(said)
    assert line["is_full_run"] is True
    own = (small / "mixture.lock.json").read_bytes()
    assert (small / "rungs" / line["lock"].rsplit("/", 1)[1]).read_bytes() == own


def test_a_rung_that_can_not_be_locked_is_told_of_and_nothing_is_written(run, small):
    spec = small / "mixture.yaml"
    spec.write_text(spec.read_text().replace("share: 80%", "until: step 2"), encoding="utf-8")
    done = run("ladder", spec, "--rung", "5120", "--rung", "25.6K", "-o", small / "rungs", code=1)
    assert "rung 5.12K: " in done.stderr
    assert "phase-vanished" in done.stderr
    assert not (small / "rungs").exists()


def test_what_is_no_rung_is_wrong_usage(run, small):
    assert "47.9B:1024" in run("ladder", small / "mixture.yaml", "--rung", "many", code=2).stderr
    run("ladder", small / "mixture.yaml", code=2)
    refused = run("ladder", small / "mixture.yaml", "--rung", "1K", "--rung", "1000", code=1)
    assert "error[rung-twice]" in refused.stderr
    larger = run("ladder", small / "mixture.yaml", "--rung", "1M", "-o", small / "rungs", code=1).stderr
    assert "error[rung-too-large]" in larger
    assert "rung 1M has 1,000,000 tokens, more than the full run, which reads 61,440" in larger


def test_all_domains_are_shown_only_if_asked(run, small):
    rows = "".join(f"d{i:02},{100_000 + i}\n" for i in range(60))
    (small / "cells.csv").write_text(f"domain,tokens\n{rows}", encoding="utf-8")
    text = (small / "mixture.yaml").read_text().split("phases:")[0]
    (small / "mixture.yaml").write_text(f"{text}phases:\n  - {{phase: all, weights: uniform}}\n", encoding="utf-8")
    some = run("ladder", small / "mixture.yaml", "--rung", "25.6K").stdout
    assert "and 20 more domains" in some
    every = run("ladder", small / "mixture.yaml", "--rung", "25.6K", "--all").stdout
    assert all(f"d{i:02}" in every for i in range(60))


def test_the_lock_of_a_rung_is_not_made_anew_over_itself_for_a_spec_says_no_pools(run, small):
    run("ladder", small / "mixture.yaml", *SIMULATED, "-o", small / "rungs")
    lock = small / "rungs" / "small-12.8K.lock.json"
    held = lock.read_bytes()
    assert "error[lock-has-pools]" in run("lock", "small-12.8K.yaml", cwd=small / "rungs", code=1).stderr
    assert lock.read_bytes() == held
    run("lock", "small-12.8K.yaml", "-o", "whole.lock.json", cwd=small / "rungs")


def test_rungs_over_a_store_fix_its_text_and_can_be_streamed(run, demo, tmp_path):
    spec, store = demo[0] / "demo" / "mixture.yaml", demo[0] / "demo" / "store"
    rungs = ("--rung", "1M:8", "--rung", "4M:16")
    for line in run("ladder", spec, *rungs, "--simulate-epochs", "--json", "-o", tmp_path).stdout.splitlines():
        rung = json.loads(line)
        assert json.loads(run("lock", "--check", rung["spec"], "--json").stdout)["text_compared"] is True
        shown = run("stream", rung["lock"], "--store", store, "--json").stdout.splitlines()
        assert len(shown) == rung["phases"][0]["batch_sequences"]
