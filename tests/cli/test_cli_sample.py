"""`mixture sample` as a user runs it, on the store and lock of a demo."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def where(demo) -> tuple[str, ...]:
    folder = Path(demo[0]) / "demo"
    return str(folder / "mixture.lock.json"), "--store", str(folder / "store")


def test_a_sample_of_a_demo_has_the_runs_shares_and_its_text(run, where, tmp_path):
    out = tmp_path / "sample.parquet"
    said = run("sample", *where, "--tokens", "300K", "-o", out, "--text").stdout
    assert "pretraining" in said
    assert f"{out}: written, 292 rows, 299,008 tokens" in said
    table = pq.read_table(out)
    assert table.column_names == [
        "position", "step", "phase", "domain", "epoch", "first_token", "tokens", "input_ids", "text",
    ]  # fmt: skip
    for row in table.slice(0, 20).to_pylist():
        assert row["text"] == bytes(i for i in row["input_ids"] if i < 256).decode(errors="replace")


def test_json_says_how_many_sequences_of_each_domain_sample_and_run_have(run, where, tmp_path):
    out = tmp_path / "sample.parquet"
    line = json.loads(run("sample", *where, "--tokens", "100K", "-o", out, "--phase", "midtraining", "--json").stdout)
    assert (line["file"], line["tokens"]) == (str(out), line["sequences"] * 1024)
    (phase,) = line["phases"]
    assert phase["phase"] == "midtraining"
    assert (
        sum(domain["sequences"] for domain in phase["domains"]) == line["sequences"] == pq.read_metadata(out).num_rows
    )
    for domain in phase["domains"]:
        share = domain["run_sequences"] * line["sequences"] / phase["run_sequences"]
        assert abs(domain["sequences"] - share) < 1


def test_what_can_not_be_sampled_is_refused_and_nothing_written(run, where, tmp_path):
    out = tmp_path / "sample.parquet"
    for tokens, code in (("100T", "sample-too-large"), ("3", "sample-too-small")):
        assert f"error[{code}]" in run("sample", *where, "--tokens", tokens, "-o", out, code=1).stderr
    assert "error[phase-unknown]" in run("sample", *where, "--tokens", "1M", "-o", out, "--phase", "x", code=1).stderr
    run("sample", *where, "--tokens", "5 steps", "-o", out, code=2)
    assert "error[file-not-written]" in run("sample", *where, "--tokens", "1M", "-o", tmp_path, code=1).stderr
    assert list(tmp_path.iterdir()) == []
