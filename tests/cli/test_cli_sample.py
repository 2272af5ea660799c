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
    assert "error[unknown-phase]" in run("sample", *where, "--tokens", "1M", "-o", out, "--phase", "x", code=1).stderr
    run("sample", *where, "--tokens", "5 steps", "-o", out, code=2)
    unit = run("sample", *where, "--tokens", "1G", "-o", out, code=2).stderr
    assert "K, M, B, T" in unit
    assert "error[file-not-written]" in run("sample", *where, "--tokens", "1M", "-o", tmp_path, code=1).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_sample_says_what_of_it_is_taken_down(run, where, tmp_path):
    lock, store = where[0], where[1:]
    read = json.loads(run("trace", "step", lock, "200", *store, "--json").stdout.splitlines()[0])
    down, masked, out = tmp_path / "down.txt", tmp_path / "masked.json", tmp_path / "sample.parquet"
    down.write_text("".join(f"{document['id']}\n" for document in read["documents"]), encoding="utf-8")
    run("amend", lock, "--step", "200", "--mask", down, *store, "-o", masked)
    said = run("sample", masked, *store, "--tokens", "15M", "-o", out).stdout
    table = pq.read_table(out)
    assert table.column_names[-2:] == ["input_ids", "masked"]
    hidden = [sum(row) for row in table["masked"].to_pylist()]
    count = sum(map(bool, hidden))
    assert count > 0
    assert f"{count} sequence" in said
    assert "(partly) taken down" in said
    for row, ids in zip(table["masked"].to_pylist(), table["input_ids"].to_pylist(), strict=True):
        assert len(row) == len(ids)
        assert len({i for i, is_masked in zip(ids, row, strict=True) if is_masked}) <= 1
    assert (
        json.loads(run("sample", masked, *store, "--tokens", "15M", "-o", out, "--json").stdout)["masked_sequences"]
        == count
    )
