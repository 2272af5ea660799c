"""The same text in every format is the same run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import write_lines
from stream_helpers import DOMAINS, bytes_of, lock_over, make_store

from mixture.cli import main
from mixture.data.derived import ExportFormat, export_store
from mixture.data.ingest import ingest
from mixture.data.linking import build_catalog
from mixture.data.store import Store, open_store, verify_store
from mixture.errors import SpecError, StoreError
from mixture.lock import Lock, write_lock
from mixture.stream import open_stream

PHASES = """\
  - {phase: first, share: 60%, weights: {web: 50%, code: 30%, notes: 20%}}
  - {phase: second, sequence_length: 128, weights: {code: 40%, web: 60%}}
"""
RUN = {"sequence_length": "64", "batch": "8 sequences", "budget": "60 steps", "max_epochs": "100"}
HEAD = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Text in three domains, some epochs of it in a run."""
    return make_store(tmp_path_factory.mktemp("text") / "native", DOMAINS)


def lists_of(store: Store, name: str) -> list[np.ndarray]:
    """Documents of a domain as arrays."""
    lengths = store.documents_from(name, 0, 1 << 40)["tokens"].to_numpy()
    return np.split(store.read(name, 0, store.domains[name].tokens), np.cumsum(lengths)[:-1])


def as_parquet(store: Store, folder: Path) -> Path:
    """A file of small row groups a domain, with the documents' ids."""
    folder.mkdir()
    lines = []
    for name in store.domains:
        ids = store.documents_from(name, 0, 1 << 40)["id"]
        lists = pa.array([part.tolist() for part in lists_of(store, name)], pa.list_(pa.int32()))
        pq.write_table(pa.table({"doc": ids, "tokens": lists}), folder / f"{name}.parquet", row_group_size=7)
        lines.append(f"  {name}: {{format: parquet, files: [{name}.parquet], column: tokens, id: doc}}")
    (folder / "sources.yaml").write_text(HEAD + "\n".join(lines), encoding="utf-8")
    return folder / "sources.yaml"


def as_datasets(store: Store, folder: Path) -> Path:
    """Saved to disk by Hugging Face datasets, in several files a domain."""
    from datasets import Dataset

    lines = []
    for name in store.domains:
        rows = {"input_ids": [part.tolist() for part in lists_of(store, name)]}
        Dataset.from_dict(rows).save_to_disk(str(folder / name), num_shards=3)
        lines.append(f"  {name}: {{format: arrow, files: [{name}]}}")
    (folder / "sources.yaml").write_text(HEAD + "\n".join(lines), encoding="utf-8")
    return folder / "sources.yaml"


def as_store(store: Store, folder: Path) -> Path:
    """Links to the domains of the store itself."""
    folder.mkdir()
    lines = [f"  {name}: {{format: store, path: {store.path}}}" for name in store.domains]
    (folder / "sources.yaml").write_text(HEAD + "\n".join(lines), encoding="utf-8")
    return folder / "sources.yaml"


def as_megatron(store: Store, folder: Path) -> Path:
    """Exported."""
    export_store(store, ExportFormat.MEGATRON, folder)
    return folder / "sources.yaml"


def as_npy(store: Store, folder: Path) -> Path:
    """Exported."""
    export_store(store, ExportFormat.NPY, folder)
    return folder / "sources.yaml"


@pytest.mark.parametrize("write", [as_megatron, as_npy, as_parquet, as_datasets, as_store])
def test_the_same_mixture_over_the_same_text_reads_the_same_tokens_in_the_same_order(native, tmp_path, write):
    build_catalog(write(native, tmp_path / "files"), tmp_path / "catalog", full=True)
    linked = open_store(tmp_path / "catalog", verify="full")
    ours, theirs = lock_over(native, tmp_path / "a", PHASES, **RUN), lock_over(linked, tmp_path / "b", PHASES, **RUN)
    assert ours.data == theirs.data
    kwargs = {"next_token": True, "documents": True}
    expected, found = list(open_stream(ours, native, **kwargs)), list(open_stream(theirs, linked, **kwargs))
    assert bytes_of(found) == bytes_of(expected)
    assert found[0].input_ids.dtype == expected[0].input_ids.dtype
    for one, other in zip(expected, found, strict=True):
        for field in ("offsets", "document", "end"):
            assert np.array_equal(getattr(one.spans, field), getattr(other.spans, field))
    assert verify_store(tmp_path / "catalog", lock=theirs) == []


def test_a_run_goes_on_in_a_catalog_that_leads_to_the_store_it_began_in(native, tmp_path):
    build_catalog(as_store(native, tmp_path / "files"), tmp_path / "catalog")
    linked = open_store(tmp_path / "catalog")
    assert {d.name: d.content for d in linked.domains.values()} == {d.name: d.content for d in native.domains.values()}
    lock = lock_over(native, tmp_path / "a", PHASES, **RUN)
    began = open_stream(lock, native)
    first = [next(began) for _ in range(17)]
    state = began.state_dict()
    assert state["content"].startswith("tokens:")
    goes_on = open_stream(lock, linked)
    goes_on.load_state_dict(state)
    assert bytes_of([*first, *goes_on]) == bytes_of(open_stream(lock, native))


def test_a_state_says_that_content_is_of_files_and_does_not_go_on_over_other_files(native, tmp_path):
    for name, write in {"megatron": as_megatron, "npy": as_npy}.items():
        build_catalog(write(native, tmp_path / f"{name}-files"), tmp_path / name)
    stores = {name: open_store(tmp_path / name) for name in ("megatron", "npy")}
    locks = {name: lock_over(store, tmp_path / f"{name}-lock", PHASES, **RUN) for name, store in stores.items()}
    stream = open_stream(locks["megatron"], stores["megatron"])
    next(stream)
    state = stream.state_dict()
    assert state["content"].startswith("files:")
    other = open_stream(locks["npy"], stores["npy"])
    with pytest.raises(Exception, match="content") as refused:
        other.load_state_dict(state)
    assert refused.value.code == "content-differs"


@pytest.mark.parametrize("write", [as_megatron, as_npy, as_parquet, as_datasets])
def test_a_lock_of_a_store_says_how_it_takes_the_same_tokens_in_files(native, tmp_path, write, capsys):
    catalog = tmp_path / "a catalog"
    build_catalog(write(native, tmp_path / "files"), catalog, full=True)
    lock = lock_over(native, tmp_path / "a", PHASES, **RUN)
    with pytest.raises(StoreError) as refused:
        open_stream(lock, catalog)
    assert refused.value.code == "content-differs"
    assert _run_what_it_says(refused.value, lock, tmp_path) == 0
    capsys.readouterr()
    found = open_stream(lock, catalog, accept_content="the same tokens")
    assert bytes_of(found) == bytes_of(open_stream(lock, native))


def _run_what_it_says(error: StoreError, lock: Lock, folder: Path) -> int:
    """The exit code of the command in an error's hint."""
    write_lock(lock, folder / "run.lock.json")
    (command,) = re.findall("`mixture (.*?)`", error.hint or "")
    with pytest.raises(SystemExit) as ended:
        main([str(folder / "run.lock.json") if word == "LOCK" else word for word in shlex.split(command)])
    return ended.value.code or 0


def test_of_a_catalog_without_digests_the_tokens_are_compared_all_the_same(native, tmp_path, capsys):
    build_catalog(as_npy(native, tmp_path / "files"), tmp_path / "catalog")
    lock = lock_over(native, tmp_path / "a", PHASES, **RUN)
    with pytest.raises(StoreError) as refused:
        open_stream(lock, tmp_path / "catalog")
    assert _run_what_it_says(refused.value, lock, tmp_path) == 1
    said = capsys.readouterr().err
    assert "error[digest-missing]" in said
    assert "content-differs" not in said


def test_files_of_other_tokens_or_other_documents_do_not_pass_as_those_of_the_store(native, tmp_path):
    lock = lock_over(native, tmp_path / "a", PHASES, **RUN)
    folder = tmp_path / "files"
    folder.mkdir()
    lines = []
    for name in native.domains:
        parts = [part.astype("<u2") for part in lists_of(native, name)]
        if name == "web":
            parts[3][5] ^= 1
        if name == "notes":  # the same tokens, two documents as one
            parts[4:6] = [np.concatenate(parts[4:6])]
        rows = pa.array([part.tolist() for part in parts], pa.list_(pa.int32()))
        pq.write_table(pa.table({"tokens": rows}), folder / f"{name}.parquet")
        lines.append(f"  {name}: {{format: parquet, files: [{name}.parquet], column: tokens}}")
    (folder / "sources.yaml").write_text(HEAD + "\n".join(lines), encoding="utf-8")
    build_catalog(folder / "sources.yaml", tmp_path / "catalog", full=True)
    wrong = verify_store(tmp_path / "catalog", lock=lock)
    assert {(error.code, error.facts["domain"]) for error in wrong} == {
        ("content-differs", "web"),
        ("content-differs", "notes"),
    }
    for error in wrong:
        assert "other tokens or documents" in error.message
        assert "mixture verify" not in str(error.hint), "it is what was run"


def test_domains_of_every_format_mix_in_one_catalog(native, tmp_path):
    export_store(native, ExportFormat.MEGATRON, tmp_path / "megatron")
    as_parquet(native, tmp_path / "parquet")
    as_datasets(native, tmp_path / "datasets")
    lines = [
        "  code: {format: megatron, files: ['megatron/*-code.bin']}",
        "  notes: {format: parquet, files: [parquet/notes.parquet], column: tokens}",
        "  web: {format: arrow, files: [datasets/web]}",
    ]
    (tmp_path / "sources.yaml").write_text(HEAD + "\n".join(lines), encoding="utf-8")
    build_catalog(tmp_path / "sources.yaml", tmp_path / "catalog")
    linked = open_store(tmp_path / "catalog")
    lock = lock_over(native, tmp_path / "a", PHASES, **RUN)
    other = lock_over(linked, tmp_path / "b", PHASES, **RUN)
    assert bytes_of(open_stream(other, linked, 1, 2)) == bytes_of(open_stream(lock, native, 1, 2))


@pytest.mark.parametrize("write", [as_parquet, as_store, as_megatron])
def test_held_out_domains_are_held_out_in_a_catalog_too(tmp_path, write):
    rows = [{"text": f"text {number}", "id": number} for number in range(60)]
    write_lines(tmp_path / "in.jsonl", rows)
    (tmp_path / "sources.yaml").write_text(
        "domains: {web: {files: [in.jsonl], id: id, holdout: {share: 30%}}}", encoding="utf-8"
    )
    store = open_store(ingest(tmp_path / "sources.yaml", tmp_path / "store").path)
    linked = open_store(build_catalog(write(store, tmp_path / "files"), tmp_path / "catalog").path)
    assert list(linked.domains) == ["web", "web@validation"]
    for name, domain in store.domains.items():
        assert np.array_equal(linked.read(name, 0, domain.tokens), store.read(name, 0, domain.tokens))


@pytest.mark.parametrize("name", ["'@validation'", "web@validation@validation", "a@sha256:1", "a@sha256:1@validation"])
def test_other_reserved_names_are_refused(tmp_path, name):
    (tmp_path / "sources.yaml").write_text(f"{HEAD}  {name}: {{format: npy, files: [a.npy]}}", encoding="utf-8")
    with pytest.raises(SpecError, match="reserved") as caught:
        build_catalog(tmp_path / "sources.yaml", tmp_path / "catalog")
    assert caught.value.code == "reserved-name"
