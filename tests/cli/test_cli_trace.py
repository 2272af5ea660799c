"""mixture trace says what the library says: forwards, backwards and in sums, as tables, JSON and Arrow."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from stream_helpers import lock_over
from traced_store import traced_store

from mixture.data.store import Store
from mixture.lock import Lock, write_lock
from mixture.stream import read_so_far, trace_documents, trace_step

PHASES = """
  - phase: first
    until: step 30
    weights: {code: 40%, held: 0, web: 60%}
  - phase: second
    sequence_length: 128
    weights: {code: 70%, held: 0, web: 30%}
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Lock, Store]:
    """A folder with lock.json and made/store, and what they are."""
    folder = tmp_path_factory.mktemp("trace")
    store = traced_store(folder / "made", {"code": 100, "held": 9, "web": 200})
    keys = {"tokenizer": "bytes", "sequence_length": "64", "batch": "24 sequences", "budget": "60 steps"}
    lock = lock_over(store, folder / "spec", PHASES, **keys)
    write_lock(lock, folder / "lock.json")
    return folder, lock, store


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def arrow(path: Path) -> list[dict]:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all().to_pylist()


def test_a_step_is_traced_to_its_documents_for_all_or_a_rank(traced, run, tmp_path: Path):
    folder, lock, store = traced
    ask = ("trace", "step", folder / "lock.json", 31, "--store", folder / "made" / "store")
    expected = list(trace_step(lock, store, 31, rank=1, world_size=3))
    found = lines(run(*ask, "--rank", 1, "--world-size", 3, "--json").stdout)
    assert [(row["position"], row["slot"], row["first_token"]) for row in found] == [
        (one.position, one.slot, one.first_token) for one in expected
    ]
    for row, one in zip(found, expected, strict=True):
        assert [(d["id"], d["from_token"], d["to_token"], d["attributes"]) for d in row["documents"]] == [
            (part.document.id, part.from_token, part.to_token, part.document.attributes) for part in one.documents
        ]
    shown = run(*ask).stdout.splitlines()
    assert len(shown) == 24 + 2
    assert shown[-1].startswith("step 31: 24 sequences, 3,072 tokens, ")
    run(*ask, "--arrow", tmp_path / "step.arrow")
    rows = arrow(tmp_path / "step.arrow")
    whole = [part for one in trace_step(lock, store, 31) for part in one.documents]
    assert [(row["document"], row["from_token"], row["license"]) for row in rows] == [
        (part.document.id, part.from_token, part.document.attributes["license"]) for part in whole
    ]


def test_documents_are_traced_to_every_place_in_the_order_asked(traced, run, tmp_path: Path):
    folder, lock, store = traced
    ask = ("trace", "document", folder / "lock.json", "--store", folder / "made" / "store")
    found = lines(run(*ask, "web/7", "code/0", "held/2", "--json").stdout)
    traces = trace_documents(lock, store, ["web/7", "code/0", "held/2"])
    assert [(row["document"], row["domain"], row["times"]) for row in found] == [
        (one.document.id, one.domain, one.times) for one in traces if one.document
    ]
    for row, one in zip(found, traces, strict=True):
        assert [(r["position"], r["step"], r["slot"]) for r in row["reads"]] == [
            (r.position, r.step, r.slot) for r in one.reads()
        ]
    shown = run(*ask, "web/7", "--limit", 1).stdout.splitlines()
    first = next(traces[0].reads())
    assert shown[0].startswith("document web/7: tokens ")
    assert shown[2].split()[:3] == [f"{first.position:,}", str(first.step), str(first.slot)]
    assert shown[3] == f"read {traces[0].times} times in all, first at step {first.step}"
    assert "not read in this run" in run(*ask, "held/2").stdout
    run(*ask, "web/7", "code/0", "--arrow", tmp_path / "back.arrow")
    assert [row["position"] for row in arrow(tmp_path / "back.arrow")] == [
        read.position for one in traces[:3] for read in one.reads()
    ]


def test_a_file_that_takes_text_down_says_what_is_still_to_come(traced, run, tmp_path: Path):
    folder, _, _ = traced
    file = tmp_path / "down.txt"
    file.write_text(
        'web/7\n{"domain": "web", "document": "code/0"}\n{"domain": "code", "first_token": 9, "tokens": 70}\n'
    )
    ask = ("trace", "document", folder / "lock.json", "--store", folder / "made" / "store", "--file", file)
    found = lines(run(*ask, "--first-step", 25, "--json").stdout)
    assert [(row["document"], row["domain"]) for row in found] == [("web/7", "web"), ("code/0", "web"), (None, "code")]
    every = lines(run(*ask, "--json").stdout)
    for later, row in zip(found, every, strict=True):
        assert later["reads"] == [read for read in row["reads"] if read["step"] >= 25]
        assert later["times"] == len(later["reads"])
    shown = run(*ask, "--first-step", 25).stdout
    assert (
        f"still to come {found[2]['times']} times from step 25 on, next at step {found[2]['reads'][0]['step']}" in shown
    )
    assert "not read from step 60 on" in run(*ask, "--first-step", 60).stdout
    new = tmp_path / "new.json"
    run("amend", folder / "lock.json", "--step", 25, "--mask", file, "--store", folder / "made" / "store", "-o", new)
    masked = lines(run("trace", "document", new, *ask[3:], "--json").stdout)
    assert {read["masked_tokens"] for row in masked for read in row["reads"] if read["step"] < 25} == {0}
    assert all(read["masked_tokens"] for read in masked[2]["reads"] if read["step"] >= 25)
    for row, before in zip(masked, found, strict=True):
        assert (row["times_down"], before["times_down"]) == (before["times"], 0)
    places = found[2]["times"]
    down = run("trace", "document", new, *ask[3:], "--first-step", 25).stdout
    assert f"{places} places from step 25 on, all taken down: none is read" in down
    whole = run("trace", "document", new, *ask[3:]).stdout
    assert f"{masked[2]['times']} times in all, {places} of them taken down, first at step " in whole
    step = found[2]["reads"][0]["step"]
    read = run("trace", "step", new, step, "--store", folder / "made" / "store").stdout
    assert "tokens taken down" in read.splitlines()[-1]
    rows = lines(run("trace", "step", new, step, "--store", folder / "made" / "store", "--json").stdout)
    hidden = sum(part["masked_tokens"] for row in rows for part in row["documents"])
    assert read.splitlines()[-1].endswith(f"; {hidden} tokens taken down")
    assert "taken down" not in run("trace", "step", new, 24, "--store", folder / "made" / "store").stdout


def test_a_file_of_documents_asks_for_all_the_domains_that_its_lines_name(traced, run, tmp_path: Path):
    folder, _, _ = traced
    file = tmp_path / "asked.txt"
    ask = ("trace", "document", folder / "lock.json", "--store", folder / "made" / "store", "--file", file, "--json")
    for text, domains in (
        ('{"domain": "web", "document": "code/0"}\n{"domain": "code", "document": "code/0"}\n', ["code", "web"]),
        ('code/0\n{"domain": "web", "document": "code/0"}\n', ["code", "web"]),
        ('{"domain": "code", "document": "code/0"}\n', ["code"]),
    ):
        file.write_text(text)
        assert [row["domain"] for row in lines(run(*ask).stdout)] == domains
    file.write_text('{"domain": "code", "document": "web/7"}\n')
    assert "domain 'code' of the store has no document 'web/7'" in run(*ask, code=1).stderr


def test_a_token_needs_no_store(traced, run):
    folder, lock, _ = traced
    (found,) = lines(run("trace", "token", folder / "lock.json", "web", 4_321, "--json").stdout)
    assert [read["position"] for read in found["reads"]] == lock.schedule().find("web", 4_321)


def test_what_was_read_so_far_is_summed_by_any_column(traced, run, tmp_path: Path):
    folder, lock, store = traced
    ask = ("trace", "read-so-far", folder / "lock.json", 40, "--store", folder / "made" / "store")
    for by in ("domain", "license", "quality"):
        expected = [
            {"value": one.value, "documents": one.documents, "tokens": one.tokens}
            | {"tokens_with_repeats": one.tokens_with_repeats, "tokens_masked": 0}
            for one in read_so_far(lock, store, 40, by=by).values
        ]
        assert lines(run(*ask, "--by", by, "--json").stdout) == expected
        run(*ask, "--by", by, "--arrow", tmp_path / f"{by}.arrow")
        assert arrow(tmp_path / f"{by}.arrow") == expected
    shown = run(*ask, "--by", "license").stdout
    assert "read before step 40, by license" in shown
    assert f"{int(lock.schedule().tokens(40).sum()):,}" in shown
    before = run("trace", "read-so-far", folder / "lock.json", 0, "--store", folder / "made" / "store").stdout
    assert before.split()[-6:] == ["in", "all", "0", "0", "0", "0%"]


def test_what_there_is_not_is_refused_and_what_makes_no_sense_is_wrong_usage(traced, run):
    folder, _, _ = traced
    lock, store = folder / "lock.json", ("--store", folder / "made" / "store")
    for ask, code in (
        (("document", lock, "wob/7", *store), "unknown-document"),
        (("step", lock, 60, *store), "step-out-of-range"),
        (("step", lock, 1, "--rank", 3, "--world-size", 2, *store), "rank-invalid"),
        (("step", lock, 1, "--world-size", 5, *store), "batch-not-divisible"),
        (("read-so-far", lock, 3, "--by", "licenze", *store), "unknown-column"),
        (("token", lock, "wob", 1), "unknown-domain"),
        (("document", lock, "--file", folder / "none", *store), "mask-file-missing"),
    ):
        assert f"error[{code}]" in run("trace", *ask, code=1).stderr
    ranks = [
        run("trace", "step", lock, 1, *store, "--world-size", 5, "--rank", r, "--uneven", "--json") for r in (0, 4)
    ]
    assert [len(lines(rank.stdout)) for rank in ranks] == [4, 5], "24 sequences, as a stream of uneven ranks has them"
    for usage in (
        ("step", lock, 1),
        ("step", lock, *store),
        ("document", lock, *store),
        ("document", lock, "web/1"),
        ("document", lock, "web/1", "--file", "ids.txt", *store),
        ("document", lock, "web/1", "--rank", 1, *store),
        ("token", lock, "web"),
        ("step", lock, 1, "--by", "license", *store),
        ("step", lock, 1, "--limit", 1, *store),
        ("step", lock, 1, "--json", "--arrow", "x", *store),
    ):
        run("trace", *usage, code=2)
