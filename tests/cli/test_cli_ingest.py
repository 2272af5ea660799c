"""`mixture ingest` as a user runs it: what it would read, what it tells of what it left out, and --strict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from mixture.cli import main
from mixture.data.store import open_store

LINES = """\
{"text": "one", "label": "08", "n": 1}
{"text": "two", "label": 8, "n": "x"}
{"text": "three"}
{"text": "", "label": "08"}
{bad
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text(LINES)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a note")
    (tmp_path / "notes" / ".hidden").write_text("none")
    path = tmp_path / "sources.yaml"
    path.write_text(
        "files: [rows.jsonl]\ndomain_column: label\nattributes: [n]\n"
        "domains: {notes: {files: [notes], holdout: {share: 100%, max: 3}}}\n"
    )
    return path


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(tmp_path: Path, sources: Path, run):
    done = run("ingest", sources, "-o", tmp_path / "store", "--dry-run", "--json")
    assert json.loads(done.stdout) == {
        "sources": [
            {"domain": "notes", "files": 1, "source_bytes": 6, "formats": {"text": 1}},
            {"domain_column": "label", "files": 1, "source_bytes": len(LINES), "formats": {"jsonl": 1}},
        ],
        "skipped_files": {"hidden-file": 1},
        "unreadable": [],
    }
    assert "by the column label" in run("ingest", sources, "-o", tmp_path / "store", "--dry-run").stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "rows.jsonl", "sources.yaml"]


def test_what_was_left_out_and_what_looks_odd_is_told(tmp_path: Path, sources: Path, run):
    said = json.loads(run("ingest", sources, "-o", tmp_path / "json", "--json").stdout)
    assert {one["domain"]: (one["documents"], one["dropped"]) for one in said["domains"]} == {
        "08": (1, {"empty-text": 1}),
        "8": (1, {}),
        "notes": (1, {}),
    }
    assert said["by_column"] == {
        "files": 1,
        "source_bytes": len(LINES),
        "dropped": {"not-json": 1, "domain-missing": 1},
    }
    assert (said["look_alike"], said["mixed"], said["not_held"]) == ([["08", "8"]], ["n"], ["notes"])
    assert said["quarantine"] == 3
    text = run("ingest", sources, "-o", tmp_path / "text").stdout
    assert "'08' and '8' are domains that look alike" in text
    assert "attribute 'n' has values of several types" in text
    assert "no document of 'notes' is held out" in text
    assert "quarantine.parquet: 3 rows left out, with their places" in " ".join(text.split())
    assert open_store(tmp_path / "text").digest == said["digest"]


def test_strictly_the_first_row_left_out_ends_it_with_its_line(tmp_path: Path, sources: Path, run):
    done = run("ingest", sources, "-o", tmp_path / "store", "--strict", code=1)
    assert "error[left-out]" in done.stderr
    assert "rows.jsonl:3: this would be left out: domain-missing" in done.stderr
    assert not (tmp_path / "store").exists()


def test_unreadable_files_and_shared_ids_are_told(tmp_path: Path, run):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "one"}\n{"id": "1", "text": "two"}\n')
    (tmp_path / "b.parquet").write_bytes(b"hello")
    (tmp_path / "c.png").write_bytes(b"\x89PNG" + bytes(9))
    path = tmp_path / "sources.yaml"
    path.write_text("domains: {web: {files: [a.jsonl, b.parquet, c.png], id: id}}")
    refused = run("ingest", path, "-o", tmp_path / "store", "--dry-run", code=1).stderr
    assert refused.count("error[source-unreadable]") == 2
    dry = run("ingest", path, "-o", tmp_path / "store", "--dry-run", "--skip-unreadable").stdout
    assert dry.count("left out: ") == 2
    text = " ".join(run("ingest", path, "-o", tmp_path / "store", "--skip-unreadable").stdout.split())
    assert "2 documents have an id that another document of their domain has, with another text: 2 of 'web'" in text
    assert "quarantine.parquet: 2 rows left out" in text
    for n in range(5):
        (tmp_path / f"d{n}.png").write_bytes(b"\x89PNG" + bytes(9))
    path.write_text("domains: {web: {files: [a.jsonl, b.parquet, '*.png'], id: id}}")
    for command in (("ingest", "--dry-run"), ("ingest",), ("cluster", "-k", "2")):
        arguments = (command[0], path, "-o", tmp_path / "many", *command[1:])
        refused = run(*arguments, code=1).stderr
        assert refused.count("error[source-unreadable]") == 5
        assert "7 files cannot be read as asked; the first 5 follow, --all lists every one" in refused
        every = run(*arguments, "--all", code=1).stderr
        assert every.count("error[source-unreadable]") == 7
        assert "--all" not in every
    dry = ("ingest", path, "-o", tmp_path / "many", "--dry-run", "--skip-unreadable")
    assert run(*dry).stdout.count("left out: ") == 5
    assert run(*dry, "--all").stdout.count("left out: ") == 7
    assert len(json.loads(run(*dry, "--json").stdout)["unreadable"]) == 7
    path.write_text("domains: {web: {files: [c.png]}}")
    assert "error[source-empty]" in run("ingest", path, "-o", tmp_path / "no", "--skip-unreadable", code=1).stderr
    run("ingest", path, "-o", tmp_path / "no", "--skip-unreadable", "--allow-empty")


def test_texts_that_end_with_end_of_document_are_told_with_what_became_of_it(tmp_path: Path, capsys):
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("a", -3.0), ("b", -3.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, 0))
    tokenizer.save(str(tmp_path / "t.json"))
    (tmp_path / "a.jsonl").write_text('{"text": "a</s>"}\n{"text": "b</s>"}\n{"text": "ab"}\n{"text": "a</s>b"}\n')
    path = tmp_path / "sources.yaml"
    for choice, said in (
        ("drop", "it is dropped, so that each document has one"),
        ("keep", "these documents have two"),
    ):
        path.write_text(f"end_of_document_in_text: {choice}\ndomains: {{web: {{files: [a.jsonl]}}}}")
        arguments = ["ingest", str(path), "--tokenizer", str(tmp_path / "t.json"), "-o"]
        ended([*arguments, str(tmp_path / choice)])
        text = " ".join(capsys.readouterr().out.split())
        assert "documents whose text ends with the tokenizer's end-of-document: 2 (2 of 'web'); " in text
        assert said in text
        assert "documents with the tokenizer's end-of-document inside their text: 1 (1 of 'web'); it is kept" in text
        ended([*arguments, str(tmp_path / f"{choice}-json"), "--json"])
        report = json.loads(capsys.readouterr().out)
        assert report["end_of_document_in_text"] == choice
        counts = {"end-of-document": 2, "end-of-document-inside": 1}
        assert report["domains"][0]["tokens_in_text"] == counts


def ended(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code
