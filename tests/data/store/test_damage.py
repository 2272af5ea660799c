"""A store that is not whole is refused, naming the file and what was compared."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import MakeStore, bare_store, write_tokens

from mixture.data.layout.files import DATA_START
from mixture.data.layout.manifest import read_manifest
from mixture.data.layout.mapping import Standing
from mixture.data.layout.parquet import ParquetTable
from mixture.data.store import Store, Verify, disagreements, open_store, verify_store
from mixture.data.store.checks import SMALL_BYTES
from mixture.errors import StoreError
from mixture.lock import Lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.schedule import WHOLE, Domain
from mixture.stream import open_stream


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store(code=["def f(): pass", "import os"], web=["one", "two", "three " * 20_000])


def token_files(store: Store, domain: str) -> list[Path]:
    return sorted(store.path.glob(f"tokens/*-{domain}-*.arrow"))


def test_a_good_store_has_nothing_wrong(store: Store):
    seen: list[tuple[int, int]] = []
    assert verify_store(store.path, progress=lambda done, total: seen.append((done, total))) == []
    total = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    assert max(seen) == (total - (store.path / "store.json").stat().st_size,) * 2
    assert open_store(store.path, verify=Verify.FULL).verified is Verify.FULL


def test_a_missing_file_is_named_with_its_domain(store: Store):
    token_files(store, "web")[1].unlink()
    with pytest.raises(StoreError, match=r"web-00001.arrow: domain 'web': the file is missing") as caught:
        open_store(store.path)
    assert caught.value.code == "file-missing"


@pytest.mark.parametrize("change", [-1024, -1, 1])
def test_a_file_of_another_size_is_refused_with_both_sizes(store: Store, change: int):
    path = token_files(store, "code")[0]
    size = path.stat().st_size
    data = path.read_bytes()
    path.write_bytes(data[:change] if change < 0 else data + b"\0")
    with pytest.raises(StoreError, match=f"'code': the file has {size + change:,} bytes, .* says {size:,}") as caught:
        open_store(store.path)
    assert caught.value.code == "file-size"


def test_an_unfinished_file_of_the_right_size_is_refused(store: Store):
    path = token_files(store, "web")[0]
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2].ljust(size, b"\0"))
    with pytest.raises(StoreError, match=r"domain 'web'.*does not begin and end as an Arrow file of 65,536") as caught:
        open_store(store.path)
    assert caught.value.code == "file-damaged"


@pytest.mark.parametrize(
    "name", ["domains.parquet", "documents.parquet", "documents_by_id.parquet", "document_ends.arrow"]
)
def test_every_table_must_be_there(store: Store, name: str):
    (store.path / name).unlink()
    with pytest.raises(StoreError, match=name):
        open_store(store.path)


@pytest.mark.parametrize("made", [{"id": ["a"]}, {"id": ["a"], "row": ["0"]}, {"row": [0]}])
def test_a_table_without_a_column_that_is_read_is_refused_by_its_name(tmp_path: Path, made: dict[str, list]):
    pq.write_table(pa.table(made), tmp_path / "documents_by_id.parquet")
    needed = pa.schema({"id": pa.string(), "row": pa.int64()})
    table = ParquetTable(tmp_path / "documents_by_id.parquet", Standing(tmp_path), needed=needed)
    with pytest.raises(
        StoreError, match=r"documents_by_id\.parquet: can not be read: it has no column '(id|row)'"
    ) as caught:
        table.range(0, 1)
    assert caught.value.code == "store-unreadable"


def test_a_small_table_changed_in_place_is_refused_at_once(store: Store):
    path = store.path / "domains.parquet"
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(StoreError, match=r"domains.parquet: the file was changed: its SHA-256 is"):
        open_store(store.path)


def test_tokens_changed_in_place_are_refused_by_the_full_check_and_by_name(store: Store):
    path = token_files(store, "web")[1]
    data = bytearray(path.read_bytes())
    data[DATA_START + 1000] ^= 1
    path.write_bytes(data)
    assert open_store(store.path).verified is Verify.SIZES
    with pytest.raises(StoreError, match=r"web-00001.arrow: domain 'web': the file was changed"):
        open_store(store.path, verify=Verify.FULL)
    (error,) = verify_store(store.path)
    assert error.code == "digest-differs"
    assert error.facts["domain"] == "web"


def changed(path: Path) -> Iterator[int]:
    """Change one byte of a file after another, many in all parts of it; give its place."""
    good = path.read_bytes()
    for at in sorted({*range(0, len(good), len(good) // 50), *range(DATA_START, min(len(good), DATA_START + 45))}):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        yield at


@pytest.mark.parametrize("small", [0, SMALL_BYTES])
@pytest.mark.parametrize("name", ["documents.parquet", "documents_by_id.parquet", "document_ends.arrow"])
def test_a_changed_byte_anywhere_in_a_table_is_told_and_never_breaks_what_reads(
    store: Store, lock: Lock, name: str, small: int, monkeypatch: pytest.MonkeyPatch
):
    # With 0, no table is so small that it is compared when the store is opened: as in a large store.
    monkeypatch.setattr("mixture.data.store.checks.SMALL_BYTES", small)
    for at in changed(store.path / name):
        try:
            found = [error.code for error in verify_store(store.path)]
        except StoreError as error:
            found = [error.code]
        assert set(found) & {"digest-differs", "file-damaged"}, at
        with suppress(StoreError):  # any other error fails
            assert len(list(open_stream(lock, store.path, documents=True, next_token=True))) == 3
            read_all(open_store(store.path))
            assert small == 0, at


def read_all(store: Store) -> None:
    store.read("web", 0, 100_000)
    store.documents("web", 0, 8)
    store.document("0")
    store.spans(["web"], np.array([0]), np.array([0]), 4)


@pytest.mark.parametrize(
    "name",
    [
        "tokens/00001-web-00000.arrow",
        "tokens/00001-web-00001.arrow",
        "document_ends.arrow",
        "documents.parquet",
        "documents_by_id.parquet",
    ],
)
@pytest.mark.parametrize("lost", ["removed", "cut"])
def test_a_file_that_is_lost_after_opening_is_named(store: Store, name: str, lost: str):
    if lost == "removed":
        (store.path / name).unlink()
    else:
        (store.path / name).write_bytes(b"")
    with pytest.raises(StoreError, match=name) as caught:
        read_all(store)
    assert caught.value.code in {"removed": ["file-missing"], "cut": ["file-size", "store-changed"]}[lost]


@pytest.mark.parametrize("kind", ["nothing", "empty", "file"])
def test_where_there_is_no_store_it_says_so(tmp_path: Path, kind: str):
    path = tmp_path / "store"
    if kind == "empty":
        path.mkdir()
    if kind == "file":
        path.write_text("x")
    for call in (open_store, verify_store):
        with pytest.raises(StoreError) as caught:
            call(path)
        assert caught.value.code == "store-missing"
    if kind == "empty":
        (path / "inside").mkdir()
        (path / "inside" / "store.json").write_text("{}")
        with pytest.raises(StoreError) as caught:
            open_store(path)
        assert caught.value.hint == f"did you mean {path / 'inside'}?"


def test_verifying_finds_ids_outside_of_the_vocabulary_and_names_the_document(tmp_path: Path):
    folder = bare_store(tmp_path / "store", {"web": [4, 3]})
    write_tokens(folder, [1, 2, 3, 0, 5, 151_936, 0])
    messages = [str(error) for error in verify_store(folder)]
    assert any("document 'web-1': token 5 is 151936, and the vocabulary has 151,936 ids" in text for text in messages)


def test_verifying_finds_a_document_without_end_of_document(tmp_path: Path):
    folder = bare_store(tmp_path / "store", {"web": [4, 3]})
    write_tokens(folder, [1, 2, 3, 9, 5, 6, 0])
    messages = [str(error) for error in verify_store(folder)]
    assert any("document 'web-0': its last token, 3, is not end-of-document" in text for text in messages)


@pytest.fixture
def lock(store: Store, tmp_path: Path) -> Lock:
    """A lock made from the store."""
    spec = tmp_path / "mixture.yaml"
    spec.write_text(
        f"mixture: m\ncatalog: {store.path}\nsequence_length: 4\nbatch: 1 sequences\nbudget: 3 steps\n"
        "phases: [{phase: all, weights: uniform}]\n"
    )
    content = {name: domain.content for name, domain in store.domains.items()}
    return make_lock(make_plan(read_spec(spec)), content=content)


def weighing(lock: Lock, *domains: Domain, idle: int = 0) -> Lock:
    """The lock with these domains, the last ones of which are never drawn from."""
    drawn = len(domains) - idle
    weights = (WHOLE - drawn + 1, *(1,) * (drawn - 1), *(0,) * idle)
    segments = tuple(replace(segment, weights=weights) for segment in lock.data.segments)
    return replace(lock, data=replace(lock.data, domains=domains, segments=segments))


def test_a_domain_that_no_segment_draws_from_need_not_be_in_the_store(store: Store, lock: Lock):
    code, web = lock.data.domains
    idle = weighing(lock, code, Domain("gone", 7), Domain("web", web.tokens + 1), idle=2)
    assert verify_store(store.path, lock=idle) == []
    assert [error.facts["domain"] for error in disagreements(store, weighing(lock, code, Domain("gone", 7)))] == [
        "gone"
    ]


def test_a_lock_agrees_with_its_store_and_may_leave_domains_out(store: Store, lock: Lock):
    assert verify_store(store.path, lock=lock) == []
    code, _ = lock.data.domains
    assert disagreements(store, weighing(lock, code)) == []


def test_a_lock_of_another_store_disagrees_by_name_and_figure(store: Store, lock: Lock):
    web = lock.data.domains[1]
    other = weighing(lock, web, Domain("code", 5), Domain("cod", 7))
    other = replace(other, content=lock.content | {"web": "0" * 64})
    found = verify_store(store.path, lock=other)
    assert [(error.code, error.facts["domain"]) for error in found] == [
        ("content-differs", "web"),
        ("tokens-differ", "code"),
        ("domain-not-in-store", "cod"),
    ]
    assert "24 tokens, and the lock says 5" in str(found[1])
    assert "did you mean 'code'" in str(found[2])


def test_a_lock_for_another_tokenizer_disagrees_with_both_names(store: Store, lock: Lock):
    (error,) = verify_store(store.path, lock=replace(lock, tokenizer="llama"))
    assert error.code == "tokenizer-differs"
    assert "'bytes', and the lock says 'llama'" in str(error)


def test_what_a_domain_holds_decides_its_content_digest_not_how_it_is_cut(make_store: MakeStore, tmp_path: Path):
    texts = ["x" * 100_000, "y"]
    small = make_store(65_536, web=texts)
    small.path.rename(tmp_path / "small")
    large = make_store(1 << 20, web=texts)
    assert len(read_manifest(tmp_path / "small").domains[0].files) == 2
    assert len(read_manifest(large.path).domains[0].files) == 1
    assert open_store(tmp_path / "small").digest == large.digest
    assert open_store(tmp_path / "small").domains == large.domains
