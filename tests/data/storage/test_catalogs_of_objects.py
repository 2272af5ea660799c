"""Catalogs that lead to objects, catalogs in buckets, and specs that name them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from data.storage.conftest import Bucket, Run
from data.storage.web_server import web_server
from data.token_files.token_files import catalog, write_arrow, write_megatron, write_parquet, write_raw
from stream_helpers import bytes_of

from mixture.data.linking import add_domain, build_catalog, refresh_catalog
from mixture.data.store import Store, open_store, verify_store
from mixture.errors import CatalogError, IngestError, StoreError
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import open_stream

pytestmark = [
    pytest.mark.needs_objects,
    pytest.mark.skipif(
        importlib.util.find_spec("moto") is None and "MIXTURE_TEST_ALL" not in os.environ,
        reason="obstore and moto are not installed",
    ),
]
DOCUMENTS = [[(7 * i + j) % 900 + 1 for j in range(3 + i % 40)] + [0] for i in range(300)]
WRITERS = {
    "megatron": (lambda path: write_megatron(path, DOCUMENTS), ".bin", ""),
    "npy": (lambda path: write_raw(path, DOCUMENTS), ".npy", ", dtype: uint16"),
    "parquet": (lambda path: write_parquet(path, DOCUMENTS, rows=20), ".parquet", ""),
    "arrow": (lambda path: write_arrow(path, DOCUMENTS, rows=20), ".arrow", ""),
}


@pytest.fixture(autouse=True)
def environment(s3: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials come from the environment."""
    for key, value in s3.settings:
        name = {"endpoint": "AWS_ENDPOINT_URL", "region": "AWS_REGION"}.get(key, f"AWS_{key.upper()}")
        monkeypatch.setenv(name, value)


def same(one: Store, other: Store) -> bool:
    """Whether two stores have the same tokens and documents, read in any way."""
    for name, domain in one.domains.items():
        tokens = domain.tokens
        first = np.arange(0, tokens - 90, 37)
        readers = [store.reader([name], unit_tokens=128) for store in (one, other)]
        for reader in readers:
            reader.prefetch(np.zeros(len(first), np.int64), first, 90)
        rows = [reader.rows(np.zeros(len(first), np.int64), first, 90) for reader in readers]
        if not np.array_equal(*rows) or not np.array_equal(one.read(name, 0, tokens), other.read(name, 0, tokens)):
            return False
        if one.documents(name, 0, tokens) != other.documents(name, 0, tokens):
            return False
    return one.digest == other.digest


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("full", [False, True])
def test_files_in_a_bucket_are_counted_and_read_as_those_here(s3: Bucket, tmp_path: Path, form: str, full: bool):
    write, ending, keys = WRITERS[form]
    (tmp_path / "files").mkdir()
    for name in ("a", "b"):
        write(tmp_path / "files" / f"{name}{ending}")
    url = s3.put(tmp_path / "files", f"{form}{full}")
    here = catalog(tmp_path, {"d": f"format: {form}, files: ['files/*{ending}']{keys}"}, name="here", full=full)
    there = catalog(tmp_path, {"d": f"format: {form}, files: ['{url}/*{ending}']{keys}"}, name="there", full=full)
    assert there.is_distant
    assert same(here, there)
    wrong = {error.code for error in verify_store(there.path)}
    assert wrong == (set() if full else {"digest-missing"})
    assert refresh_catalog(there.path).counted == 0


def test_domains_here_in_a_bucket_and_of_a_store_there_are_one_catalog(
    run: Run, s3: Bucket, in_s3: str, tmp_path: Path
):
    """Mixed in one step; a domain of a store keeps its digest wherever that lies."""
    domain = run.store.domains["web"]
    head = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
    raw = tmp_path / "code.npy"
    code = run.store.read("code", 0, run.store.domains["code"].tokens)
    raw.write_bytes(code.tobytes())
    url = s3.put(raw, "mixed/code.npy")
    (tmp_path / "sources.yaml").write_text(
        head
        + f"  web: {{format: store, path: '{in_s3}'}}\n"
        + "  here: {format: npy, files: [code.npy], dtype: uint16}\n"
        + f"  there: {{format: npy, files: ['{url}'], dtype: uint16}}\n"
    )
    build_catalog(tmp_path / "sources.yaml", tmp_path / "catalog")
    store = open_store(tmp_path / "catalog")
    assert store.domains["web"].content == domain.content
    numbers, first = np.array([0, 1, 2] * 5), np.arange(15) * 100
    rows = store.reader(["here", "there", "web"]).rows(numbers, first, 70)
    for number, start, row in zip(numbers.tolist(), first.tolist(), rows, strict=True):
        expected = run.store.read("web", start, 70) if number == 2 else code[start : start + 70]
        assert np.array_equal(row, expected)


def test_changed_grown_and_missing_objects_are_noticed(s3: Bucket, tmp_path: Path):
    (tmp_path / "files").mkdir()
    path = write_raw(tmp_path / "files" / "a.npy", DOCUMENTS, beside=None)
    url = s3.put(path, "moving/a.npy")
    keys = f"format: npy, files: ['{url.rpartition('/')[0]}'], dtype: uint16"
    store = catalog(tmp_path, {"d": keys})
    data = path.read_bytes()
    path.write_bytes(data[:2] + data[:-2])
    s3.put(path, "moving/a.npy")
    with pytest.raises(StoreError) as caught:
        store.read("d", 0, 100)
    assert caught.value.code == "store-changed"
    with pytest.raises(StoreError) as caught:
        refresh_catalog(store.path)
    assert caught.value.code == "catalog-changed"
    s3.put(path, "moving/b.npy")
    (change,) = refresh_catalog(store.path, accept=True).changes
    assert change.new == (url.replace("a.npy", "b.npy"),)
    assert open_store(store.path).domains["d"].tokens == len(data)


def test_patterns_that_match_nothing_or_one_object_twice_are_refused(s3: Bucket, tmp_path: Path):
    path = write_raw(tmp_path / "a.npy", DOCUMENTS, beside=None)
    url = s3.put(path, "twice/deep/a.npy")
    with pytest.raises(IngestError) as caught:
        catalog(tmp_path, {"d": f"format: npy, files: ['{s3.url}/twice/*.npy'], dtype: uint16"}, name="none")
    assert caught.value.code == "no-files"
    domains = {
        "d": f"format: npy, files: ['{s3.url}/twice/**/*.npy', '{url}'], dtype: uint16",
        "e": f"format: npy, files: ['{url}'], dtype: uint16",
    }
    with pytest.raises(IngestError) as caught:
        catalog(tmp_path, domains, name="both")
    assert caught.value.code == "files-shared"
    with web_server(tmp_path) as web, pytest.raises(IngestError, match="lists no files"):
        catalog(tmp_path, {"d": f"format: npy, files: ['{web.url}/*.npy'], dtype: uint16"}, name="web")


def test_a_catalog_in_a_bucket_finds_the_files_beside_it(run: Run, s3: Bucket, tmp_path: Path):
    """Its paths begin in the folder that it lies in, wherever that is."""
    shutil.copytree(run.store.path, tmp_path / "all" / "store")
    head = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
    lines = [f"  {name}: {{format: store, path: store}}" for name in run.store.domains]
    (tmp_path / "all" / "sources.yaml").write_text(head + "\n".join(lines))
    build_catalog(tmp_path / "all" / "sources.yaml", tmp_path / "all" / "catalog")
    url = s3.put(tmp_path / "all", "beside")
    there = open_store(f"{url}/catalog")
    assert there.digest == open_store(tmp_path / "all" / "catalog").digest
    assert bytes_of(open_stream(run.lock, there)) == bytes_of(open_stream(run.lock, run.store))
    assert {error.code for error in verify_store(f"{url}/catalog")} == {"digest-missing"}


def test_a_domain_of_a_bucket_is_added_to_a_catalog(s3: Bucket, tmp_path: Path):
    path = write_raw(tmp_path / "a.npy", DOCUMENTS, beside=None)
    store = catalog(tmp_path, {"d": "format: npy, files: [a.npy], dtype: uint16"})
    url = s3.put(path, "added/a.npy")
    add_domain(store.path, "e", {"format": "npy", "files": [url], "dtype": "uint16"})
    grown = open_store(store.path)
    assert np.array_equal(grown.read("d", 0, 500), grown.read("e", 0, 500))


def test_a_spec_names_a_store_or_a_table_by_its_address(run: Run, s3: Bucket, in_s3: str, tmp_path: Path):
    lines = "mixture: m\ntokenizer: bytes\nseed: 3\nsequence_length: 64\nbatch: 8 sequences\nbudget: 40 steps\n"
    phases = "phases:\n  - {phase: all, weights: {code: 30%, notes: 10%, web: 60%}}\n"
    table = tmp_path / "cells.csv"
    table.write_text("".join(["domain,tokens\n", *(f"{d.name},{d.tokens}\n" for d in run.store.domains.values())]))
    digests = set()
    for place in (str(run.store.path), in_s3, s3.put(table, "tables/cells.csv"), str(table)):
        (tmp_path / "mixture.yaml").write_text(
            f"{lines}catalog: {place}\nshuffle: {{block: 512 tokens, window: 8 blocks}}\n{phases}"
        )
        lock = make_lock(make_plan(read_spec(tmp_path / "mixture.yaml")))
        digests.add(lock.schedule().history(40))
    assert len(digests) == 1
    (tmp_path / "mixture.yaml").write_text(f"{lines}catalog: {s3.url}/tables/none.csv\n{phases}")
    with pytest.raises(CatalogError, match=r"mixture\.yaml:\d+:\d+.*s3://texts/tables/none\.csv"):
        make_plan(read_spec(tmp_path / "mixture.yaml"))
