"""The demo on this machine's own text, and what one does with it afterwards."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from mixture import open_store, open_stream, read_lock

pytestmark = pytest.mark.xdist_group("demo")


def test_the_demo_goes_all_the_way_and_ends_with_three_commands(demo: tuple[Path, str], run) -> None:
    folder, said = demo
    store = open_store(folder / "demo" / "store")
    assert store.overview is not None
    assert len(store.overview.clusters) == 12
    assert 40 <= len(store.domains) <= 60
    for word in ("pretraining", "midtraining", "step 0: 32 rows of 1024 tokens", "python-library", "c00q2"):
        assert word in said
    tail = said[said.index("Three commands to try next") :]
    commands = [shlex.split(line, comments=True) for line in tail.splitlines() if line.startswith("  ")]
    assert [command[1] for command in commands] == ["positions", "find", "stream", "serve", "site"]
    assert "serve    # then open http://127.0.0.1:8000/" in tail
    for command in commands:
        if command[1] != "serve":
            assert run(*command[1:], cwd=folder).stdout
    assert (folder / "site" / "index.html").is_file()


def test_the_demo_run_again_keeps_its_store_and_gives_the_same_lock(demo: tuple[Path, str], run) -> None:
    folder, said = demo
    digest = read_lock(folder / "demo" / "mixture.lock.json").digest
    again = run("demo", "--json", cwd=folder)
    assert "is there already" in again.stderr
    assert json.loads(again.stdout)["digest"] == digest
    assert digest in said
    assert digest in again.stderr


def test_the_demo_does_not_touch_a_folder_with_something_else_in_it(tmp_path: Path, run) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("three years", encoding="utf-8")
    assert "error[folder-in-use]" in run("demo", "-o", tmp_path / "mine", code=1).stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_the_demo_does_not_take_a_project_for_its_own(tmp_path: Path, run) -> None:
    files = {
        "sources.yaml": "domains: {}",
        "catalog.csv": "domain,tokens",
        "mixture.lock.json": "{}",
        "store/store.json": "{}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert "error[folder-in-use]" in run("demo", "-o", tmp_path, code=1).stderr
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in files} == files


@pytest.mark.long
def test_a_demo_that_was_stopped_goes_on(demo: tuple[Path, str], run, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "sources.yaml").write_text("# Written by `mixture demo`.\n", encoding="utf-8")
    (tmp_path / "again" / "text").mkdir()
    run("demo", "-o", tmp_path / "again")
    ours, theirs = (read_lock(folder / "mixture.lock.json") for folder in (tmp_path / "again", demo[0] / "demo"))
    assert ours.digest == theirs.digest


def test_ranks_written_as_arrow_hold_what_the_stream_reads(demo: tuple[Path, str], run) -> None:
    folder = demo[0] / "demo"
    lock, store = folder / "mixture.lock.json", folder / "store"
    read = []
    for rank in range(4):
        out = demo[0] / f"rank{rank}.arrow"
        run("stream", lock, "--store", store, "--first-step", 399, "--last-step", 400,
            "--rank", rank, "--world-size", 4, "-o", out)  # fmt: skip
        read.append(pa.ipc.open_stream(out.read_bytes()).read_all())
    assert read[1].schema.metadata[b"mixture.rank"] == b"1"
    table = pa.concat_tables([part.replace_schema_metadata() for part in read]).sort_by("position")
    stream = open_stream(lock, store, first_step=399)
    batches = [next(stream), next(stream)]
    assert table["position"].to_pylist() == [p for batch in batches for p in batch.position.tolist()]
    assert table["input_ids"].to_pylist() == [row.tolist() for batch in batches for row in batch.input_ids]


def test_the_lock_of_the_demo_fixes_the_text_too(demo: tuple[Path, str], run, tmp_path: Path) -> None:
    folder = demo[0] / "demo"
    run("verify", "--store", folder / "store", folder / "mixture.lock.json")
    run("ingest", folder / "clusters" / "sources.yaml", "-o", tmp_path / "other-seed", "--seed", 1)
    for command in (("stream", folder / "mixture.lock.json", "--store", tmp_path / "other-seed"),
                    ("verify", "--store", tmp_path / "other-seed", folder / "mixture.lock.json")):  # fmt: skip
        assert "error[content-differs]" in run(*command, code=1).stderr


def test_the_end_of_the_run_is_no_step(demo: tuple[Path, str], run) -> None:
    folder = demo[0] / "demo"
    arguments = ("stream", folder / "mixture.lock.json", "--store", folder / "store", "--first-step")
    assert "error[step-out-of-range]" in run(*arguments, 500, code=1).stderr
    assert "error[step-out-of-range]" in run(*arguments, 501, code=1).stderr


def test_rows_are_shown_with_the_documents_they_come_from(demo: tuple[Path, str], run) -> None:
    folder = demo[0] / "demo"
    arguments = ("stream", folder / "mixture.lock.json", "--store", folder / "store", "--first-step", 450)
    rows = [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]
    assert len(rows) == 32
    for row in rows:
        assert sum(document["tokens"] for document in row["documents"]) == 1024
    shown = run(*arguments, "--rows", 3).stdout
    assert shown.splitlines()[0] == "step 450: 32 rows of 1024 tokens"
    assert "… and 29 more rows" in shown


def test_a_store_of_other_text_is_refused_and_named(demo: tuple[Path, str], run, tmp_path: Path) -> None:
    folder = demo[0] / "demo"
    (tmp_path / "a.txt").write_text("some text", encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.txt]}}\n", encoding="utf-8")
    run("ingest", tmp_path / "sources.yaml", "-o", tmp_path / "other")
    for command in (("stream", folder / "mixture.lock.json", "--store", tmp_path / "other"),
                    ("verify", "--store", tmp_path / "other", folder / "mixture.lock.json")):  # fmt: skip
        assert "error[domain-not-in-store]" in run(*command, code=1).stderr
