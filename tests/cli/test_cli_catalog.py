"""mixture catalog build|add|refresh and export-store, and all that a store is good for with what they make."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import DOMAINS, make_store

from mixture.data.store import Store, open_store
from mixture.lock import read_lock

SPEC = """\
mixture: linked
catalog: catalog
tokenizer: bytes
sequence_length: 64
batch: 8 sequences
budget: 40 steps
max_epochs: 100
phases:
  - phase: all
    weights:
      - {where: "license = 'MIT'", share: 40%, within: uniform}
      - {where: "license = 'CC0'", share: 60%, within: uniform}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("text") / "native", DOMAINS)


@pytest.fixture
def folder(tmp_path: Path, native: Store, run) -> Path:
    """A folder with exported files, sources.yaml of three formats over them, and a spec."""
    run("export-store", native.path, "--format", "megatron", "-o", tmp_path / "m")
    run("export-store", native.path, "--format", "numpy", "-o", tmp_path / "n")
    (tmp_path / "sources.yaml").write_text(
        "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
        "  code: {format: megatron, files: ['m/*-code.bin'], attributes: {license: MIT}}\n"
        "  notes: {format: npy, files: ['n/*-notes.npy'], attributes: {license: CC0}}\n"
        f"  web: {{format: store, path: {native.path}, attributes: {{license: CC0}}}}\n",
        encoding="utf-8",
    )
    (tmp_path / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_catalog_of_three_formats_is_planned_locked_streamed_traced_and_verified(folder, native, run):
    said = run("catalog", "build", "sources.yaml", "-o", "catalog", "--full", cwd=folder).stdout
    assert said.startswith("catalog: 3 files counted")
    assert "code" in run("plan", "mixture.yaml", cwd=folder).stdout
    run("lock", "mixture.yaml", cwd=folder)
    run("lock", "--check", "mixture.yaml", cwd=folder)
    lock = "mixture.lock.json"
    content = read_lock(folder / lock).content
    assert content["web"] == native.domains["web"].content
    assert content["code"] != native.domains["code"].content
    rows = lines(run("stream", lock, "--store", "catalog", "--first-step", 3, "--json", cwd=folder).stdout)
    assert len(rows) == 8
    traced = lines(run("trace", "step", lock, 3, "--store", "catalog", "--json", cwd=folder).stdout)
    for row in traced:
        tokens = sum(part["to_token"] - part["from_token"] for part in row["documents"])
        assert tokens == 64
    ids = {part["id"] for row in traced if row["domain"] == "code" for part in row["documents"]}
    assert ids
    assert all(one.startswith("00000-code.bin#") for one in ids)
    (found,) = lines(run("trace", "document", lock, "web-7", "--store", "catalog", "--json", cwd=folder).stdout)
    assert found["domain"] == "web"
    assert run("verify", lock, "--store", "catalog", cwd=folder).stdout.startswith("catalog: whole")


def test_export_and_build_give_back_the_same_tokens_and_documents(folder, native, run):
    for form in ("m", "n"):
        (built,) = lines(run("catalog", "build", f"{form}/sources.yaml", "-o", form + "c", "--json", cwd=folder).stdout)
        assert [one["tokens"] for one in built["domains"]] == [d.tokens for d in native.domains.values()]
        assert all(one["content"].startswith("files:") for one in built["domains"])
        linked = open_store(folder / (form + "c"))
        for name, domain in native.domains.items():
            assert np.array_equal(linked.read(name, 0, domain.tokens), native.read(name, 0, domain.tokens))
            ours, theirs = (one.documents_from(name, 0, 999) for one in (linked, native))
            assert ours["first_token"].equals(theirs["first_token"])


def test_files_that_say_nothing_of_documents_are_counted_in_what_building_prints(folder, run):
    (folder / "n" / "sources.yaml").unlink()
    for file in (folder / "n").glob("*.csv.gz"):
        file.unlink()
    (folder / "sources.yaml").write_text(
        "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
        "  code: {format: npy, files: ['n/*-code.npy']}\n"
        "  notes: {format: npy, files: ['n/*-notes.npy']}\n"
        "  web: {format: npy, files: ['n/*-web.npy'], documents: end_of_document}\n"
        "  more: {format: megatron, files: ['m/*.bin']}\n",
        encoding="utf-8",
    )
    said = run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=folder).stdout
    assert "files without a file of documents, each counted as one document: 2; `documents: end_of_document`" in said
    (built,) = lines(run("catalog", "build", "sources.yaml", "-o", "again", "--json", cwd=folder).stdout)
    assert {one["domain"]: one["undivided_files"] for one in built["domains"]} == {
        "code": 1, "notes": 1, "web": 0, "more": 0
    }  # fmt: skip
    text = (
        (folder / "sources.yaml").read_text(encoding="utf-8").replace(".npy']}", ".npy'], documents: end_of_document}")
    )
    (folder / "sources.yaml").write_text(text, encoding="utf-8")
    assert "without a file of documents" not in run("catalog", "build", "sources.yaml", "-o", "c", cwd=folder).stdout
    native_counts = {name: domain.documents for name, domain in open_store(folder / "c").domains.items()}
    assert native_counts["web"] + native_counts["code"] + native_counts["notes"] == native_counts["more"]


@pytest.mark.parametrize("asked", ["00000-code#7", "m/00000-code.bin#7", "00000-cod.bin#7"])
def test_an_unknown_document_of_a_file_is_answered_with_the_same_number_in_the_file_that_is_known(folder, run, asked):
    run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=folder)
    run("lock", "mixture.yaml", cwd=folder)
    trace = ("trace", "document", "mixture.lock.json", "--store", "catalog")
    assert "did you mean '00000-code.bin#7'?" in run(*trace, asked, cwd=folder, code=1).stderr
    assert "error[unknown-document]" in run(*trace, "00000-code#99999", cwd=folder, code=1).stderr


def test_a_refresh_refuses_and_then_takes_what_changed(folder, run):
    run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=folder)
    run("lock", "mixture.yaml", cwd=folder)
    (same,) = lines(run("catalog", "refresh", "catalog", "--json", cwd=folder).stdout)
    assert (same["counted_files"], same["changes"]) == (0, [])
    tokens = np.load(next((folder / "n").glob("*-notes.npy")))
    np.save(folder / "n" / "9-notes.npy", tokens[:10])
    refused = run("catalog", "refresh", "catalog", cwd=folder, code=1).stderr
    assert refused.startswith(
        "error[catalog-changed]: catalog: domain 'notes' had 2,637 tokens and has 2,647: files 1 new"
    )
    changes = [
        {"domain": "notes", "tokens_before": 2637, "tokens": 2647, "changed": [], "grown": [], "missing": [],
         "new": ["n/9-notes.npy"]}
    ]  # fmt: skip
    (looked,) = lines(run("catalog", "refresh", "catalog", "--json", cwd=folder, code=1).stdout)
    assert looked == {"catalog": "catalog", "changes": changes}
    (changed,) = lines(run("catalog", "refresh", "catalog", "--accept", "--json", cwd=folder).stdout)
    assert changed["changes"] == changes
    refused = run("stream", "mixture.lock.json", "--store", "catalog", cwd=folder, code=1).stderr
    assert refused.startswith("error[tokens-differ]: catalog: domain 'notes' has 2,647 tokens, and the lock says 2,637")


def test_a_refresh_lists_the_domains_that_changed_and_json_has_all(tmp_path, run):
    names = [f"d{i:02}" for i in range(25)]
    for i, name in enumerate(names):
        np.save(tmp_path / f"{name}.npy", np.zeros(10 + i, dtype=np.uint16))
    (tmp_path / "sources.yaml").write_text(
        "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
        + "".join(f"  {name}: {{format: npy, files: [{name}.npy]}}\n" for name in names),
        encoding="utf-8",
    )
    run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=tmp_path)
    for i, name in enumerate(names[:23]):  # d00 keeps its tokens, d01 has one more, and so on
        np.save(tmp_path / f"{name}.npy", np.ones(10 + 2 * i, dtype=np.uint16))
    first, *rest, last = run("catalog", "refresh", "catalog", cwd=tmp_path, code=1).stderr.splitlines()
    assert first == "error[catalog-changed]: catalog: the files of 23 domains are not as they were counted:"
    assert rest[0] == "  domain 'd22' had 32 tokens and has 54: files 1 grown (d22.npy)"
    assert [line.split("'")[1] for line in rest] == names[22:2:-1], "the largest change first"
    assert last.startswith("  and 3 more: `--json` lists all (`--accept` takes the files as they are now;")
    (looked,) = lines(run("catalog", "refresh", "catalog", "--json", cwd=tmp_path, code=1).stdout)
    found = {one["domain"]: (one["tokens_before"], one["tokens"]) for one in looked["changes"]}
    assert found == {name: (10 + i, 10 + 2 * i) for i, name in enumerate(names[:23])}
    said = run("catalog", "refresh", "catalog", "--accept", cwd=tmp_path).stdout
    assert "domain 'd00' has 10 tokens as before: files 1 changed (d00.npy)" in said
    assert sum(line.startswith("domain 'd") for line in said.splitlines()) == 23


def test_a_domain_is_added_with_paths_from_where_one_stands(folder, run):
    run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=folder)
    ask = ("--format", "npy", "--files", "*-code.npy", "--attribute", "license=MIT")
    run("catalog", "add", "../catalog", "code-again", *ask, cwd=folder / "n")
    assert "code-again" in run("plan", "mixture.yaml", "--all", cwd=folder).stdout
    twice = run("catalog", "add", "../catalog", "more", *ask, cwd=folder / "n", code=1).stderr
    assert twice.startswith("error[files-shared]")
    wrong = run("catalog", "add", "catalog", "more", "--format", "npz", "--files", "n/*", cwd=folder, code=1).stderr
    assert "error[unknown-format]" in wrong
    assert "did you mean 'npy'?" in wrong
    assert "is not KEY=VALUE" in run(
        "catalog", "add", "catalog", "more", "--format", "npy", "--attribute", "x", cwd=folder, code=2
    ).stderr  # fmt: skip


def test_a_place_that_is_taken_and_files_that_are_not_there_are_refused(folder, native, run):
    run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=folder)
    assert "error[store-exists]" in run("catalog", "build", "sources.yaml", "-o", "catalog", cwd=folder, code=1).stderr
    assert (
        "error[place-taken]" in run("export-store", "catalog", "--format", "npy", "-o", "m", cwd=folder, code=1).stderr
    )
    assert "megatron, npy" in run("export-store", "catalog", "--format", "arrow", "-o", "x", cwd=folder, code=2).stderr
    assert "error[not-a-catalog]" in run("catalog", "refresh", native.path, cwd=folder, code=1).stderr
    (folder / "m" / "00000-code.idx").unlink()
    refused = run("catalog", "build", "sources.yaml", "-o", "other", cwd=folder, code=1).stderr
    assert refused.startswith("error[index-missing]")
    assert not (folder / "other").exists()
