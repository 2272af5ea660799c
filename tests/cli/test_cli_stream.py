"""`mixture stream` of a run from which text was taken down by `mixture amend --mask`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mixture.data.store import Store, open_store

STEP = 400
MARK = f"[taken down at step {STEP}]"


@pytest.fixture(scope="module")
def arguments(demo: tuple[Path, str]) -> tuple[object, ...]:
    folder = demo[0] / "demo"
    return (folder / "mixture.lock.json", "--store", folder / "store")


@pytest.fixture
def store(demo: tuple[Path, str]) -> Store:
    return open_store(demo[0] / "demo" / "store")


def rows_of(run, *arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("stream", *arguments, "--json").stdout.splitlines()]


def test_what_was_taken_down_is_a_mark_in_text_and_json_and_a_column_in_arrow(
    arguments: tuple[object, ...], run, store: Store, tmp_path: Path
) -> None:
    plain, *where = arguments
    before = rows_of(run, plain, *where, "--first-step", 450)
    read = [document["id"] for row in before for document in row["documents"] if document["tokens"] > 1]
    gone = sorted(set(read))[:3]
    (tmp_path / "down.txt").write_text("".join(f"{one}\n" for one in gone), encoding="utf-8")
    lock = tmp_path / "new.lock.json"
    run("amend", plain, "--step", STEP, "--mask", tmp_path / "down.txt", *where, "-o", lock)

    after = rows_of(run, lock, *where, "--first-step", 450)
    ends = {row["first_token"] + row["tokens"] for one in gone for row in store.document(one).to_pylist()}
    for row, was in zip(after, before, strict=True):
        hidden = 0
        place = row["first_token"]
        for document, known in zip(row["documents"], was["documents"], strict=True):
            place += document["tokens"]
            if document["id"] in gone:
                hidden += document["tokens"] - (place in ends)
                assert document["text"] in (MARK, "")  # of a document whose end alone is here there is no text
            else:
                assert document == known
        assert row["masked_tokens"] == hidden
    assert sum(row["masked_tokens"] for row in after) > 0
    assert "masked_tokens" not in before[0]

    text = run("stream", lock, *where, "--first-step", 450, "--rows", len(after)).stdout
    assert MARK in text
    assert "tokens taken down" in text

    out = tmp_path / "step.arrow"
    run("stream", lock, *where, "--first-step", 450, "-o", out)
    table = pa.ipc.open_stream(out.read_bytes()).read_all()
    assert [sum(row) for row in table["masked"].to_pylist()] == [row["masked_tokens"] for row in after]
    run("stream", plain, *where, "--first-step", 450, "-o", out)
    assert "masked" not in pa.ipc.open_stream(out.read_bytes()).schema.names


def test_before_the_step_all_is_read_as_it_was(arguments: tuple[object, ...], run, tmp_path: Path) -> None:
    plain, *where = arguments
    last = STEP - 1
    before = rows_of(run, plain, *where, "--first-step", last)
    (tmp_path / "down.txt").write_text(f"{before[0]['documents'][0]['id']}\n", encoding="utf-8")
    lock = tmp_path / "new.lock.json"
    run("amend", plain, "--step", STEP, "--mask", tmp_path / "down.txt", *where, "-o", lock)
    after = rows_of(run, lock, *where, "--first-step", last)
    assert [{**row, "masked_tokens": 0} for row in before] == after


def test_a_line_of_the_file_that_names_nothing_is_refused_with_its_place(
    arguments: tuple[object, ...], run, tmp_path: Path
) -> None:
    plain, *where = arguments
    file = tmp_path / "down.txt"
    file.write_text("\nno such document\n", encoding="utf-8")
    said = run("amend", plain, "--step", STEP, "--mask", file, *where, code=1).stderr
    assert "error[unknown-document]" in said
    assert f"{file}:2" in said
