"""`mixture amend` as a person uses it: a look first, then a new lock, with what it does by domain."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lock_of_run import lock_of_run
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.data.store import Store
from mixture.lock import read_lock, write_lock


def edited(path: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    out = path.with_name(name)
    out.write_text(text, encoding="utf-8")
    return out


def test_a_look_writes_nothing_and_out_writes_a_lock_that_its_spec_gives(small: Path, run) -> None:
    spec = edited(small / "mixture.yaml", "short.yaml", ("100 steps", "60 steps"), ("a: 50%, b: 30%", "a: 60%, b: 20%"))
    before = sorted(small.iterdir())
    looked = run("amend", small / "mixture.lock.json", spec, "--step", 25, "--consumed-step", 24).stdout
    assert "steps 0 to 24 stay as they are" in looked
    assert "steps   100 → 60" in looked
    assert "  name  " not in looked
    assert "nothing was written" in looked
    assert sorted(small.iterdir()) == before
    out = small / "new.lock.json"
    done = run("amend", small / "mixture.lock.json", spec, "--step", 25, "-o", out, "--reason", "budget cut").stdout
    assert "new.lock.json: written" in done
    assert "from step 25: first@25, 23 steps, length 64, batch 8 sequences" in done
    run("lock", spec, "-o", out, "--check")
    lock = read_lock(out)
    assert lock.amends is not None
    assert lock.amends.reason == "budget cut"
    histories = [
        json.loads(run("history", path, "--step", 25, "--json").stdout) for path in (out, small / "mixture.lock.json")
    ]
    assert histories[0] == histories[1]


def test_a_spec_of_another_name_renames_the_run_and_that_is_said(small: Path, run) -> None:
    spec = edited(small / "mixture.yaml", "other.yaml", ("mixture: small", "mixture: other"))
    looked = run("amend", small / "mixture.lock.json", spec, "--step", 25).stdout
    assert "  name    small → other: the spec names the run otherwise\n" in looked


def test_json_has_exact_figures_by_domain(small: Path, run) -> None:
    spec = edited(small / "mixture.yaml", "long.yaml", ("sequence_length: 128\n    ", "sequence_length: 256\n    "))
    report = json.loads(run("amend", small / "mixture.lock.json", spec, "--step", 25, "--json").stdout)
    assert (report["lock"], report["steps"], report["tokens_before"]) == (None, 100, 80 * 512 + 20 * 1024)
    assert report["tokens"] == 80 * 512 + 20 * 2048
    for name in ("drawn", "to_come", "skipped", "repeated"):
        assert report[f"tokens_{name}"] == sum(domain[f"tokens_{name}"] for domain in report["domains"])
    assert report["tokens_drawn"] + report["tokens_to_come"] == report["tokens"]
    assert report["tokens_skipped"] > 0
    assert "longest-context" in {finding["code"] for finding in report["findings"]}


def test_text_is_skipped_without_a_spec_and_the_next_step_is_named_where_it_can_not_be(small: Path, run) -> None:
    lock, out = small / "mixture.lock.json", small / "new.lock.json"
    said = run("amend", lock, "--step", 30, "--skip-steps", 4, "-o", out).stdout
    assert "at step 30 text is skipped: 2,048 tokens are left out" in said
    refused = run("amend", lock, "--step", 80, "--skip-steps", 4, code=1).stderr
    assert "error[skip-not-here]" in refused
    assert "the next step at which it can be is 81" in refused


def test_an_amended_lock_is_not_made_anew_over_itself(small: Path, run) -> None:
    lock = small / "mixture.lock.json"
    run("amend", lock, "--step", 30, "--skip-steps", 4, "-o", lock)
    held = lock.read_bytes()
    assert "error[lock-amended]" in run("lock", small / "mixture.yaml", code=1).stderr
    assert lock.read_bytes() == held
    run("lock", small / "mixture.yaml", "--check")


def test_a_lock_that_is_replaced_is_named_and_a_file_that_is_no_lock_stays(small: Path, run) -> None:
    lock, spec = small / "mixture.lock.json", small / "mixture.yaml"
    ask, digest, text = (
        ("amend", lock, "--step", 30, "--skip-steps", 4, "-o"),
        read_lock(lock).digest,
        spec.read_bytes(),
    )
    assert "error[not-a-lock]" in run(*ask, spec, code=1).stderr
    assert spec.read_bytes() == text
    assert f"replaces {digest}" in run(*ask, lock).stdout


def test_what_is_missing_or_does_not_fit_is_said(small: Path, run) -> None:
    lock = small / "mixture.lock.json"
    assert "say what changes" in run("amend", lock, "--step", 30, code=2).stderr
    assert "90" in run("amend", lock, "--step", 30, 90, "--skip-steps", 4, code=1).stderr, "90 is no spec, and no step"
    assert "--step" in run("amend", lock, "--skip-steps", 1, code=2).stderr
    assert "--store" in run("amend", lock, "--step", 30, "--mask", small / "ids.txt", code=2).stderr
    skip = ("amend", lock, "--step", 30, "--skip-steps", 1)
    assert "--world-size takes a SPEC" in run(*skip, "--world-size", 3, code=2).stderr
    assert "error[amend-invalid]" in run(*skip, "--reason", "a\nb", code=1).stderr
    consumed = run(*skip, "--consumed-step", 40, code=1).stderr
    assert "error[amend-consumed]" in consumed
    other = edited(small / "mixture.yaml", "other.yaml", ("mixture: small", "mixture: small\nseed: 5"))
    assert "other.yaml:2:1: the seed is 0 in the lock and 5" in run("amend", lock, other, "--step", 30, code=1).stderr
    assert "error[lock-missing]" in run("amend", small / "no.json", "--step", 3, "--skip-steps", 1, code=1).stderr
    over = edited(small / "mixture.yaml", "over.yaml", ("phases:", "max_epochs: 0.01\nphases:"))
    assert "error[over-epochs]" in run("amend", lock, over, "--step", 30, code=1).stderr


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "text", DOMAINS)


def test_documents_are_taken_down_from_a_step_on_by_their_ids(store: Store, tmp_path: Path, run) -> None:
    lock = lock_over(
        store, tmp_path / "spec", "  - {phase: all, weights: proportional}",
        sequence_length="32", batch="12 sequences", budget="60 steps",
    )  # fmt: skip
    path, out = tmp_path / "run.lock.json", tmp_path / "new.lock.json"
    write_lock(lock, path)
    (tmp_path / "ids.txt").write_text("web-3\ncode-1\n", encoding="utf-8")
    arguments = ("--mask", tmp_path / "ids.txt", "--store", store.path, "-o", out)
    said = run("amend", path, "--step", 20, *arguments, "--reason", "asked by the author").stdout
    assert "tokens are taken down from step 20 on" in said
    new = read_lock(out)
    assert new.data == lock.data
    assert {mask.domain for mask in new.masks} == {"web", "code"}
    again = run("amend", out, "--step", 30, *arguments[:4])
    assert "nothing of it is in the run, or it is down already" in again.stderr
    (tmp_path / "ids.txt").write_text("web-3\nwebb-4\n", encoding="utf-8")
    refused = run("amend", path, "--step", 20, *arguments, code=1).stderr
    assert "error[unknown-document]" in refused
    assert "ids.txt:2" in refused
    other = make_store(tmp_path / "other", DOMAINS | {"web": {"web-3": "short"}})
    skip = ("amend", path, "--step", 20, "--skip-steps", 2, "--store")
    run(*skip, store.path)
    assert "error[" in run(*skip, other.path, code=1).stderr


def test_a_document_is_taken_down_in_a_domain_that_the_same_amendment_adds(tmp_path: Path, run) -> None:
    both = make_store(
        tmp_path / "text", DOMAINS | {"web@2": {"web-3": DOMAINS["web"]["web-3"], "new": "new text " * 9}}
    )
    keys = {"sequence_length": "32", "batch": "12 sequences", "budget": "60 steps"}
    lock = lock_over(both, tmp_path / "spec", "  - {phase: all, weights: {web: 100%}}", **keys)
    data = replace(lock.data, domains=lock.data.domains[:-1])
    segment = replace(data.segments[0], weights=data.segments[0].weights[:-1])
    old = lock_of_run(replace(data, segments=(segment,)))
    write_lock(old, tmp_path / "run.lock.json")
    lock_over(both, tmp_path / "spec", "  - {phase: all, weights: {web: 50%, web@2: 50%}}", **keys)
    (tmp_path / "ids.txt").write_text("web-3\n", encoding="utf-8")
    out = tmp_path / "new.lock.json"
    run(
        "amend", tmp_path / "run.lock.json", tmp_path / "spec" / "mixture.yaml", "--step", 20,
        "--mask", tmp_path / "ids.txt", "--store", both.path, "-o", out,
    )  # fmt: skip
    assert [mask.domain for mask in read_lock(out).masks] == ["web", "web@2"]


def test_weights_that_would_be_fitted_again_are_shown_and_kept_where_that_is_asked(small: Path, run) -> None:
    text = "mixture: fitted\ncatalog: cells.csv\nsequence_length: 64\nbatch: 8 sequences\nbudget: 1000 steps\n"
    spec = small / "fitted.yaml"
    spec.write_text(f"{text}phases:\n  - phase: all\n    weights: {{unimax: {{max_epochs: 1}}}}\n", encoding="utf-8")
    run("lock", spec)
    lock, shorter = small / "fitted.lock.json", edited(spec, "shorter.yaml", ("1000 steps", "500 steps"))
    looked = run("amend", lock, shorter, "--step", 200).stderr
    assert "warning: weights-moved: the weights of phase 'all' (unimax) are fitted again and move" in looked
    assert "'b' 17.58% → 33.33%, 'c' 43.36% → 33.33% and 'a' 39.06% → 33.33%" in looked
    out = small / "new.lock.json"
    ask = ("amend", lock, shorter, "--step", 200, "--keep-weights", "-o", out)
    assert "note: weights-kept: the weights of phase 'all' (unimax)" in run(*ask).stderr
    weights = [one.weights for one in read_lock(lock).data.segments]
    assert [one.weights for one in read_lock(out).data.segments] == weights
    run("lock", shorter, "-o", out, "--check")
    said = run("explain", out).stdout
    assert "Rules that are fitted to a phase's tokens keep the weights that the run had, where they can." in said
    report = json.loads(run(*ask, "--json").stdout)
    assert "weights-kept" in {finding["code"] for finding in report["findings"]}
    explicit = run("amend", small / "mixture.lock.json", small / "mixture.yaml", "--step", 25, "--keep-weights").stdout
    assert "--keep-weights changes nothing" in explicit
    assert (
        "--keep-weights takes a SPEC"
        in run("amend", lock, "--step", 25, "--keep-weights", "--skip-steps", 1, code=2).stderr
    )
