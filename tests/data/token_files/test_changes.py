"""Files that change after they were counted: what opening sees, what verifying sees, what a refresh takes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from data.token_files.token_files import catalog, documents_of, write_arrow, write_megatron, write_parquet, write_raw
from stream_helpers import lock_over

from mixture.data.linking import add_domain, build_catalog, refresh_catalog
from mixture.data.store import Verify, open_store, verify_store
from mixture.errors import IngestError, StoreError
from mixture.stream import open_stream

KEYS = {
    "code": "format: npy, files: ['code*.npy'], dtype: uint16, attributes: {license: MIT}",
    "math": "format: parquet, files: ['math*.parquet']",
    "web": "format: megatron, files: ['web*.bin']",
}
DOCUMENTS = [[1, 2, 3], [4, 5], [6, 7, 8, 9]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three domains of two files each, in a catalog."""
    for number in range(2):
        write_raw(tmp_path / f"code{number}.npy", DOCUMENTS)
        write_parquet(tmp_path / f"math{number}.parquet", DOCUMENTS)
        write_megatron(tmp_path / f"web{number}.bin", DOCUMENTS)
    catalog(tmp_path, KEYS)
    return tmp_path


def keep_time(path: Path, data: bytes) -> None:
    """Overwrite a file and give it the time that it had."""
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_that_was_written_again_with_the_same_size_is_refused_on_opening(folder):
    write_raw(folder / "code1.npy", [[9, 9, 9], [4, 5], [6, 7, 8, 9]])
    with pytest.raises(StoreError, match="domain 'code': the file was changed: its fingerprint") as refused:
        open_store(folder / "catalog")
    assert refused.value.code == "file-changed"
    assert Path(str(refused.value.place)).name == "code1.npy"


def test_files_that_only_got_another_time_are_the_same(folder):
    for path in folder.glob("*.*"):
        os.utime(path, ns=(1, 1))
    assert documents_of(open_store(folder / "catalog"), "web") == DOCUMENTS * 2
    digest = refresh_catalog(folder / "catalog").manifest.digest
    assert refresh_catalog(folder / "catalog").counted == 0
    assert open_store(folder / "catalog").digest == digest


def test_what_changed_in_place_between_the_blocks_of_a_fingerprint_shows_where_all_is_read(tmp_path):
    tokens = np.arange(400_000, dtype=np.uint32) % 900
    tokens.tofile(tmp_path / "a.npy")
    keys = {"web": "format: npy, files: [a.npy], dtype: uint32"}
    store, bare = catalog(tmp_path, keys, full=True), catalog(tmp_path, keys, name="bare")
    assert store.verified is Verify.SIZES
    assert open_store(store.path, verify="full").verified is Verify.FULL
    lock = lock_over(
        store, tmp_path / "run", "  - {phase: all, weights: proportional}",
        sequence_length="64", batch="4 sequences", budget="10 steps",
    )  # fmt: skip
    assert open_stream(lock, store.path).store.verified is Verify.SIZES
    data = bytearray((tmp_path / "a.npy").read_bytes())
    data[60_000] ^= 1
    keep_time(tmp_path / "a.npy", bytes(data))
    next(open_stream(lock, store.path))  # the size, and the time, are what they were
    for ask in (
        lambda: open_stream(lock, store.path, verify="full"),
        lambda: open_stream(lock, store, verify=Verify.FULL),
        lambda: open_store(store.path, verify=Verify.FULL),
    ):
        with pytest.raises(StoreError, match=r"domain 'web': the file was changed: its SHA-256") as refused:
            ask()
        assert refused.value.code == "digest-differs"
        assert Path(str(refused.value.place)).name == "a.npy"
    assert [error.code for error in verify_store(store.path, lock=lock)] == ["digest-differs"]
    with pytest.raises(StoreError, match="no digest was kept of 1 of 1 files") as refused:
        open_store(bare.path, verify="full")
    assert refused.value.code == "digest-missing"


def test_digests_can_be_kept_later(folder):
    assert [error.code for error in verify_store(folder / "catalog")] == ["digest-missing"]
    before = open_store(folder / "catalog").digest
    assert refresh_catalog(folder / "catalog", full=True).counted == 6
    assert verify_store(folder / "catalog") == []
    assert open_store(folder / "catalog").digest == before


def test_a_file_that_is_written_to_while_the_catalog_is_open_is_refused_when_read(folder):
    store = open_store(folder / "catalog")
    write_megatron(folder / "web0.bin", [[9, 9, 9], [9, 9], [9, 9, 9, 9]])
    write_parquet(folder / "math0.parquet", [[9]])
    for name in ("web", "math"):
        with pytest.raises(StoreError) as refused:
            store.read(name, 0, 9)
        assert refused.value.code == "store-changed"
    assert store.read("code", 0, 3).tolist() == [1, 2, 3]


def test_a_refresh_says_what_changed_and_leaves_it_until_that_is_accepted(folder):
    write_megatron(folder / "web1.bin", [*DOCUMENTS, [1, 1]])
    write_megatron(folder / "web2.bin", [[3, 3]])
    (folder / "math0.parquet").unlink()
    before = (folder / "catalog" / "store.json").read_bytes()
    with pytest.raises(StoreError) as refused:
        refresh_catalog(folder / "catalog")
    assert refused.value.code == "catalog-changed"
    assert refused.value.message.splitlines() == [
        "the files of 2 domains are not as they were counted:",
        "  domain 'math' had 18 tokens and has 9: files 1 missing (math0.parquet)",
        "  domain 'web' had 18 tokens and has 22: files 1 grown (web1.bin), 1 new (web2.bin)",
    ]
    known = [(one.name, one.tokens) for one in refused.value.facts["changes"]]
    assert known == [("math", (18, 9)), ("web", (18, 22))]
    assert (folder / "catalog" / "store.json").read_bytes() == before
    report = refresh_catalog(folder / "catalog", accept=True)
    math, web = report.changes
    assert (math.name, math.tokens, math.missing) == ("math", (18, 9), ("math0.parquet",))
    assert (web.name, web.tokens, web.grown, web.new) == ("web", (18, 22), ("web1.bin",), ("web2.bin",))
    assert report.counted == 2
    store = open_store(folder / "catalog")
    assert documents_of(store, "web") == [*DOCUMENTS, *DOCUMENTS, [1, 1], [3, 3]]
    assert documents_of(store, "math") == DOCUMENTS
    assert documents_of(store, "code") == DOCUMENTS * 2
    assert store.documents_from("code", 0, 9)["id"].to_pylist() == ["id-0", "id-1", "id-2"] * 2
    assert store.labels["license"].to_pylist() == ["MIT", None, None]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_a_refreshed_catalog_is_the_one_that_would_be_built_now(folder):
    write_raw(folder / "code1.npy", [[7, 7]])
    write_parquet(folder / "math2.parquet", DOCUMENTS)
    refresh_catalog(folder / "catalog", accept=True)
    built = catalog(folder, KEYS, name="again")
    assert open_store(folder / "catalog").digest == built.digest
    for name in ("pieces.parquet", "documents.parquet", "domains.parquet"):
        one, other = (pq.read_table(folder / place / name) for place in ("catalog", "again"))
        assert one.equals(other)


def test_a_changed_index_changes_the_domain(folder):
    write_megatron(folder / "web0.bin", [[1, 2], [3, 4, 5], [6, 7, 8, 9]])
    with pytest.raises(StoreError) as refused:
        refresh_catalog(folder / "catalog")
    assert refused.value.code == "catalog-changed"
    refresh_catalog(folder / "catalog", accept=True)
    assert documents_of(open_store(folder / "catalog"), "web")[:2] == [[1, 2], [3, 4, 5]]


def test_a_domain_is_added_and_locks_that_were_made_before_still_fit(folder, monkeypatch):
    run = {"sequence_length": "4", "batch": "2 sequences", "budget": "6 steps", "max_epochs": "9"}
    store = open_store(folder / "catalog")
    lock = lock_over(store, folder / "run", "  - {phase: all, weights: {web: 50%, math: 50%}}", **run)
    expected = [batch.input_ids.tolist() for batch in open_stream(lock, store)]
    (folder / "more").mkdir()
    write_arrow(folder / "more" / "a.arrow", [[7], [8, 8]])
    monkeypatch.chdir(folder / "more")
    fields = {"format": "arrow", "files": ["*.arrow"], "attributes": {"license": "CC0", "year": "2026"}}
    assert add_domain(folder / "catalog", "arts", fields).counted == 1
    store = open_store(folder / "catalog")
    assert list(store.domains) == ["arts", "code", "math", "web"]
    assert documents_of(store, "arts") == [[7], [8, 8]]
    assert store.labels["license"].to_pylist() == ["CC0", "MIT", None, None]
    assert store.labels["year"].to_pylist() == [2026, None, None, None]
    assert [batch.input_ids.tolist() for batch in open_stream(lock, store)] == expected
    with pytest.raises(StoreError) as refused:
        add_domain(folder / "catalog", "arts", fields)
    assert refused.value.code == "domain-exists"
    with pytest.raises(IngestError) as shared:
        add_domain(folder / "catalog", "again", {"format": "megatron", "files": ["../web0.bin"]})
    assert shared.value.code == "files-shared"


def test_a_catalog_moves_with_its_files(folder):
    moved = folder.parent / f"{folder.name}-moved"
    shutil.move(folder, moved)
    store = open_store(moved / "catalog")
    assert documents_of(store, "math") == DOCUMENTS * 2


def test_a_store_that_is_linked_to_and_made_anew_is_seen(make_store, tmp_path):
    store = make_store(web=["one", "two"])
    keys = {"text": f"format: store, path: {store.path.name}, domain: web"}
    head = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
    (tmp_path / "sources.yaml").write_text(head + f"  text: {{{keys['text']}}}\n", encoding="utf-8")
    from mixture.data.linking import build_catalog

    build_catalog(tmp_path / "sources.yaml", tmp_path / "catalog")
    shutil.rmtree(store.path)
    make_store(web=["one", "two", "three"])
    with pytest.raises(StoreError):
        open_store(tmp_path / "catalog")
    (change,) = refresh_catalog(tmp_path / "catalog", accept=True).changes
    assert change.tokens == (8, 14)
    assert open_store(tmp_path / "catalog").domains["text"].documents == 3


def test_a_store_that_was_made_with_another_tokenizer_is_refused(make_store, tmp_path):
    store = make_store(web=["one", "two"])
    with pytest.raises(StoreError, match="the store has the tokenizer 'bytes', a vocabulary of 257") as refused:
        catalog(tmp_path, {"web": f"format: store, path: {store.path.name}"}, vocabulary=257)
    assert refused.value.code == "tokenizer-differs"


def test_a_store_that_has_its_tokens_itself_is_no_catalog_to_refresh(make_store):
    with pytest.raises(StoreError) as refused:
        refresh_catalog(make_store(web=["one"]).path)
    assert refused.value.code == "not-a-catalog"


def test_a_store_that_is_gone_names_its_domain_and_hinders_no_other(folder, make_store):
    made = make_store(talk=["some", "words"])
    shutil.move(made.path, folder / "talk")
    lines = (
        f"tokenizer: {made.tokenizer}\nvocabulary_size: {made.vocabulary}\nend_of_document: {made.end_of_document}\n"
        "domains:\n  talk: {format: store, path: talk}\n  web: {format: megatron, files: ['web*.bin']}\n"
    )
    (folder / "both.yaml").write_text(lines, encoding="utf-8")
    build_catalog(folder / "both.yaml", folder / "both")
    (folder / "talk").rename(folder / "elsewhere")
    for accept in (False, True):
        with pytest.raises(StoreError, match="domain 'talk': no such folder") as refused:
            refresh_catalog(folder / "both", accept=accept)
        assert refused.value.code == "store-missing"
    add_domain(folder / "both", "code", {"format": "npy", "files": [f"{folder}/code*.npy"], "dtype": "uint16"})
    (folder / "elsewhere").rename(folder / "talk")
    assert list(open_store(folder / "both").domains) == ["code", "talk", "web"]
    assert open_store(folder / "both").domains["talk"].content == made.domains["talk"].content
    assert not refresh_catalog(folder / "both").changes
