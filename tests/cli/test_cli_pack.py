"""`mixture pack` as a user runs it, on real text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import DOMAINS, make_store

from mixture.data.store import open_store

LENGTH = 2048


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of documents of some hundred tokens."""
    return make_store(tmp_path_factory.mktemp("small") / "made", DOMAINS).path


@pytest.fixture(scope="module")
def packed(demo: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory, run) -> tuple[Path, dict]:
    """The demo's store in packed rows, and what the program said."""
    out = tmp_path_factory.mktemp("packed") / "store"
    done = run("pack", demo[0] / "demo" / "store", "-L", LENGTH, "-o", out, "--json")
    return out, json.loads(done.stdout)


def fewest_rows(lengths: np.ndarray) -> int:
    """No way of packing takes fewer rows: the bound L2 of Martello and Toth (1990), for the rests of documents."""
    rest = lengths % LENGTH
    rest = rest[rest > 0]
    bounds = [-(-int(rest.sum()) // LENGTH)]
    for least in np.unique(rest[2 * rest <= LENGTH]).tolist():
        alone = int((rest > LENGTH - least).sum())
        large = rest[(2 * rest > LENGTH) & (rest <= LENGTH - least)]
        small = rest[(2 * rest <= LENGTH) & (rest >= least)]
        too_much = int(small.sum()) - (len(large) * LENGTH - int(large.sum()))
        bounds.append(alone + len(large) + max(0, -(-too_much // LENGTH)))
    bounds.append(int((2 * rest > LENGTH).sum()))
    return int((lengths // LENGTH).sum()) + max(bounds)


def test_real_text_takes_hardly_more_rows_than_the_fewest_possible(demo, packed):
    _, said = packed
    assert said["sequence_length"] == LENGTH
    assert said["padding"] == sum(one["padding"] for one in said["domains"])
    assert said["rows"] == sum(one["rows"] for one in said["domains"])
    assert said["padding"] < 0.02 * LENGTH * said["rows"]
    store, fewest = open_store(demo[0] / "demo" / "store"), 0
    for one in said["domains"]:
        assert one["tokens"] + one["padding"] == LENGTH * one["rows"]
        lengths = np.concatenate([t["tokens"].to_numpy() for t in store.scan_documents(one["domain"], ["tokens"])])
        needed = fewest_rows(lengths)
        assert one["rows"] >= needed, one
        fewest += needed
    assert said["rows"] <= 1.01 * fewest


def test_packed_rows_are_verified_locked_and_streamed(packed, tmp_path, run):
    store, _ = packed
    verified = json.loads(run("verify", "--store", store, "--json").stdout)
    assert verified["whole"]
    (tmp_path / "mixture.yaml").write_text(
        f"mixture: packed\ncatalog: {store}\nsequence_length: {LENGTH}\nbatch: 8 sequences\nbudget: 4 steps\n"
        "accept: [never-read]\n"
        "phases:\n  - {phase: all, weights: proportional}\n",
        encoding="utf-8",
    )
    run("lock", tmp_path / "mixture.yaml")
    lock = tmp_path / "mixture.lock.json"
    streamed = run("stream", lock, "--store", store, "--json").stdout.splitlines()
    assert streamed


def test_rows_of_another_length_are_refused_when_a_run_is_planned_or_locked(packed, tmp_path, run):
    (tmp_path / "mixture.yaml").write_text(
        f"mixture: packed\ncatalog: {packed[0]}\nsequence_length: 1024\nbatch: 8 sequences\nbudget: 400 steps\n"
        "phases:\n  - {phase: all, weights: proportional}\n",
        encoding="utf-8",
    )
    for command in ("plan", "lock"):
        refused = run(command, tmp_path / "mixture.yaml", code=1)
        assert "packed-length-differs" in refused.stdout + refused.stderr
        assert "phase 'all' reads sequences of 1,024 tokens" in refused.stdout + refused.stderr
        assert "packed to 2,048" in refused.stdout + refused.stderr


def test_the_table_says_rows_documents_and_padding_of_each_domain(small, tmp_path, run):
    done = run("pack", small, "-L", 512, "-o", tmp_path / "packed")
    lines = done.stdout.splitlines()
    (head,) = (line for line in lines if line.split()[:1] == ["domain"])
    title = " ".join(lines[: lines.index(head)]).split()
    assert title[-5:-2] == ["rows", "of", "512,"]
    assert title[-1] == "padding"
    assert head.split() == ["domain", "rows", "documents", "tokens", "padding", "share", "split", "left", "out"]
    assert done.stdout.splitlines()[-1].startswith("digest ")


def test_long_documents_are_left_out_where_that_is_asked_for(small, tmp_path, run):
    done = run("pack", small, "-L", 512, "--long", "drop", "-o", tmp_path / "packed", "--json")
    domains = json.loads(done.stdout)["domains"]
    assert sum(one["dropped"] for one in domains) > 0
    assert all(one["split"] == 0 for one in domains)


def test_domains_are_split_by_the_length_of_their_documents(small, tmp_path, run):
    done = run("pack", small, "--split-by-length", "250,720", "-o", tmp_path / "split", "--json")
    domains = json.loads(done.stdout)["domains"]
    assert [one["domain"] for one in domains[:3]] == [
        f"{domains[0]['source']}@{ending}" for ending in ("0-250", "250-720", "720-")
    ]
    table = run("pack", small, "--split-by-length", "250,720", "-o", tmp_path / "again").stdout
    assert domains[0]["domain"] in table
    assert json.loads(run("verify", "--store", tmp_path / "split", "--json").stdout)["whole"]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["-L", 512, "--split-by-length", "512"],
        ["--split-by-length", "1k"],
        ["-L", 512, "--long", "cut"],
        ["-L", 0],
    ],
)
def test_what_can_not_be_meant_is_wrong_usage(small, tmp_path, run, wrong):
    run("pack", small, "-o", tmp_path / "packed", *wrong, code=2)
    assert not (tmp_path / "packed").exists()


def test_a_store_that_is_packed_is_not_packed_again(packed, tmp_path, run):
    refused = run("pack", packed[0], "-L", 512, "-o", tmp_path / "again", code=1)
    assert "error[packed-already]" in refused.stderr
