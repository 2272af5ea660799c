"""Tokens come back as they were written, from wherever they lie."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from data.makers import MakeStore, text_of

from mixture.data.store import open_store, verify_store, write_holes
from mixture.errors import StoreError


@pytest.fixture
def long_text() -> str:
    return "".join(chr(32 + i * i % 90) for i in range(200_000))


def test_a_short_text_is_its_bytes_and_end_of_document(make_store: MakeStore):
    store = make_store(web=["hällo"])
    assert store.read("web", 0, 7).tolist() == [*"hällo".encode(), 256]
    assert store.dtype == np.uint16
    assert store.end_of_document == 256
    assert store.tokenizer == "bytes"


def test_a_domain_over_several_files_reads_as_one(make_store: MakeStore, long_text: str):
    store = make_store(web=[long_text])
    assert len(list((store.path / "tokens").iterdir())) == 4
    whole = store.read("web", 0, 200_001)
    assert text_of(whole) == long_text + "|"
    for first, count in [(0, 65_536), (65_535, 2), (65_536, 65_536), (1, 199_999), (200_000, 1), (131_000, 3000)]:
        assert np.array_equal(store.read("web", first, count), whole[first : first + count])


def test_a_range_within_a_file_is_a_view_that_can_not_be_written(make_store: MakeStore, long_text: str):
    view = make_store(web=[long_text]).read("web", 70_000, 100)
    assert view.base is not None
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_rows_of_several_domains_equal_their_ranges_also_across_files(make_store: MakeStore, long_text: str):
    store = make_store(a=[long_text], b=[long_text[::-1]], c=["short"])
    names = ["b", "a"]
    domain = np.array([0, 1, 1, 0, 1, 0, 1])
    first = np.array([65_530, 0, 131_071, 17, 199_937, 65_536 - 64, 65_536 - 63], np.int64)
    rows = store.reader(names).rows(domain, first, 64)
    assert rows.shape == (7, 64)
    assert rows.dtype == np.uint16
    for row, d, f in zip(rows, domain.tolist(), first.tolist(), strict=True):
        assert np.array_equal(row, store.read(names[d], f, 64))


def test_rows_read_ahead_are_the_same_and_bounded_likewise(make_store: MakeStore, long_text: str):
    store = make_store(web=[long_text])
    reader = store.reader(["web"])
    domain, first = np.array([0, 0, 0]), np.array([65_530, 5, 199_985], np.int64)
    reader.prefetch(domain, first, 16)
    assert np.array_equal(reader.rows(domain, first, 16)[2], store.read("web", 199_985, 16))
    with pytest.raises(StoreError, match="asked for 16 from 199,986"):
        reader.prefetch(domain, first + 1, 16)


def test_rows_go_where_they_are_wanted(make_store: MakeStore, long_text: str):
    store = make_store(web=[long_text])
    reader = store.reader(["web"])
    domain, first = np.array([0, 0, 0]), np.array([65_530, 5, 131_071], np.int64)
    buffer = np.full((5, 16), 7, np.uint16)
    rows = reader.rows(domain, first, 16, out=buffer[1:4])
    assert np.shares_memory(rows, buffer)
    assert np.array_equal(buffer[1:4], reader.rows(domain, first, 16))
    assert np.all(buffer[[0, 4]] == 7)
    for wrong in (buffer, np.empty((3, 16), np.uint32), np.empty((3, 32), np.uint16)[:, ::2]):
        with pytest.raises(StoreError, match="of shape") as caught:
            reader.rows(domain, first, 16, out=wrong)
        assert caught.value.code == "out-unfit"


def test_no_rows_and_no_tokens_can_be_read(make_store: MakeStore):
    store = make_store(web=["abc"])
    none = np.empty(0, np.int64)
    assert store.reader(["web"]).rows(none, none, 4).shape == (0, 4)
    assert store.read("web", 4, 0).tolist() == []


@pytest.mark.parametrize(("first", "count"), [(0, 5), (4, 1), (-1, 2), (2**62, 1), (1, -1)])
def test_a_range_past_the_end_is_refused_with_the_figures(make_store: MakeStore, first: int, count: int):
    store = make_store(web=["abc"])
    with pytest.raises(StoreError, match="domain 'web' has 4 tokens") as caught:
        store.read("web", first, count)
    assert caught.value.code == "range-outside"


def test_a_row_past_the_end_of_its_domain_is_refused_by_name(make_store: MakeStore):
    store = make_store(web=["abcdefgh"], code=["abc"])
    with pytest.raises(StoreError, match="domain 'code' has 4 tokens; asked for 4 from 1"):
        store.reader(["web", "code"]).rows(np.array([0, 1]), np.array([4, 1]), 4)


def test_an_unknown_domain_is_refused_with_the_nearest(make_store: MakeStore):
    store = make_store(code=["abc"])
    with pytest.raises(StoreError, match="did you mean 'code'") as caught:
        store.read("cod", 0, 1)
    assert caught.value.code == "domain-not-in-store"


def test_domains_stand_in_order_of_name_with_their_totals(make_store: MakeStore):
    store = make_store(b=["abc", "de"], a=["x"])
    assert [(d.name, d.tokens, d.documents) for d in store.domains.values()] == [("a", 2, 1), ("b", 7, 2)]


def test_a_store_travels_to_another_process_by_its_path(make_store: MakeStore):
    store = make_store(web=["abc"])
    store.read("web", 0, 4)
    other = pickle.loads(pickle.dumps(store))
    assert other.digest == store.digest
    assert text_of(other.read("web", 0, 4)) == "abc|"


def test_a_store_of_trillions_of_tokens_opens_and_reads(tmp_path: Path):
    write_holes(tmp_path / "holes", {"web": 3 * 10**12, "code": 10}, file_tokens=2**41)
    store = open_store(tmp_path / "holes")
    assert store.domains["web"].tokens == 3 * 10**12
    assert store.read("web", 3 * 10**12 - 5, 5).tolist() == [0] * 5
    assert store.read("web", 2**41 - 2, 4).tolist() == [0] * 4


def test_a_store_is_read_under_a_name_that_is_not_utf8(make_store: MakeStore, tmp_path: Path):
    path = make_store(web=["one", "two"]).path.rename(tmp_path / os.fsdecode(b"st\xff"))
    store = open_store(path)
    assert store.document("0").num_rows == 1
    assert store.documents("web", 0, 8).num_rows == 2
    assert verify_store(path) == []
