"""`mixture site`: what it writes, says and refuses."""

from __future__ import annotations

import json
from pathlib import Path

from mixture_folder import write_mixture

ROOT = Path(__file__).parents[2]


def test_a_site_of_named_folders_is_written_below_its_date(run, tmp_path):
    done = run("site", ROOT / "mixtures" / "demo", "-o", tmp_path / "out", "--date", "2026.11.29")
    assert "1 mixture in" in done.stdout
    assert (tmp_path / "out" / "index.html").as_uri() in done.stdout
    assert done.stderr == "writing demo\n"
    assert (tmp_path / "out" / "2026.11.29" / "mixtures" / "demo" / "index.html").is_file()


def test_a_lock_and_a_spec_are_named_by_their_files(run, tmp_path):
    spec = "mixture: {name}\ncatalog: cells.csv\nsequence_length: 10\nbatch: 10 sequences\nbudget: 100 steps\n"
    spec += "phases:\n  - {{phase: only, weights: uniform}}\n"
    for name in ("run", "draft"):
        (tmp_path / f"{name}.yaml").write_text(spec.format(name=name), encoding="utf-8")
    (tmp_path / "cells.csv").write_text("domain,tokens\na,9000\n", encoding="utf-8")
    run("lock", tmp_path / "run.yaml")
    done = run("site", "run.lock.json", "draft.yaml", "-o", "out", "--json", cwd=tmp_path)
    named = {one["name"]: one["digest"] for one in json.loads(done.stdout)["mixtures"]}
    assert named["run"] == json.loads((tmp_path / "run.lock.json").read_text(encoding="utf-8"))["digest"]
    assert "draft" in named
    assert not (tmp_path / "draft.lock.json").exists()


def test_json_says_what_was_written_and_a_second_time_the_same(run, tmp_path):
    command = ("site", ROOT / "mixtures" / "olmo-3-7b", "-o", tmp_path / "out", "--date", "2026.11.29", "--json")
    one, two = (json.loads(run(*command).stdout) for _ in range(2))
    assert one == two
    assert one["mixtures"][0]["name"] == "olmo-3-7b"
    assert one["bytes"] < 1_000_000


def test_by_default_it_is_of_the_folders_that_a_service_shows(run, tmp_path):
    spec = "mixture: here\ncatalog: cells.csv\nsequence_length: 10\nbatch: 10 sequences\nbudget: 100 steps\n"
    rows = "domain,tokens\na,9000\n"
    write_mixture(tmp_path / "demo", f"{spec}phases:\n  - {{phase: only, weights: uniform}}\n", cells=rows)
    done = run("site", "-o", "out", "--json", cwd=tmp_path)
    assert [one["name"] for one in json.loads(done.stdout)["mixtures"]] == ["here"]


def test_what_is_not_there_or_not_its_own_is_refused(run, tmp_path):
    demo = ROOT / "mixtures" / "demo"
    assert "error[no-mixtures]" in run("site", "-o", tmp_path / "out", cwd=tmp_path, code=1).stderr
    assert "error[no-mixtures]" in run("site", tmp_path / "nowhere", "-o", tmp_path / "out", code=1).stderr
    assert "error[date-invalid]" in run("site", demo, "-o", tmp_path / "out", "--date", "today", code=1).stderr
    assert "--examples" in run("site", demo, "-o", tmp_path / "out", "--examples", "some", code=2).stderr
    (tmp_path / "thesis.txt").write_text("three years")
    assert "error[folder-in-use]" in run("site", demo, "-o", tmp_path, code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_mixture_that_can_not_be_read_is_not_left_out_in_silence(run, tmp_path):
    spec = "mixture: here\ncatalog: cells.csv\nsequence_length: 10\nbatch: 10 sequences\nbudget: 100 steps\n"
    write_mixture(
        tmp_path / "m", f"{spec}phases:\n  - {{phase: only, weights: uniform}}\n", cells="domain,tokens\na,9000\n"
    )
    (tmp_path / "m" / "cells.csv").write_text("domain,tokens\na,9001\n")
    assert "error[" in run("site", tmp_path / "m", "-o", tmp_path / "out", code=1).stderr
    assert not (tmp_path / "out").exists()
