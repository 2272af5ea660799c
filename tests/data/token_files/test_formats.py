"""What is read of each format: tokens and documents, over files, record batches and row groups."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.token_files.token_files import (
    catalog,
    documents_of,
    flat,
    write_arrow,
    write_megatron,
    write_parquet,
    write_raw,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.data.store import Store
from mixture.errors import StoreError

FILES = st.lists(
    st.lists(st.lists(st.integers(0, 999), min_size=1, max_size=9), min_size=1, max_size=6), min_size=1, max_size=4
)


def write_all(folder: Path, files: list[list[list[int]]], rows: int) -> dict[str, str]:
    """Documents in files of every format; the keys of each domain."""
    for number, documents in enumerate(files):
        write_megatron(folder / f"m{number}.bin", documents, cut=4)
        write_raw(folder / f"r{number}.npy", documents, dtype="uint32")
        write_raw(folder / f"d{number}.ds", documents, beside=".index")
        np.save(folder / f"n{number}.npy", flat(documents, "int64"))
        np.save(folder / f"n{number}.offsets.npy", np.cumsum([0, *map(len, documents)]))
        write_parquet(folder / f"p{number}.parquet", documents, rows=rows)
        write_arrow(folder / f"a{number}.arrow", documents, rows=rows)
    return {
        "arrow": "format: arrow, files: ['a*.arrow']",
        "ds": "format: npy, files: ['d*.ds'], dtype: uint16",
        "megatron": "format: megatron, files: ['m*']",
        "npy": "format: npy, files: ['n*.npy']",
        "parquet": "format: parquet, files: ['p*.parquet']",
        "raw": "format: npy, files: ['r*.npy'], dtype: uint32",
    }


@settings(max_examples=examples(25), deadline=None)
@given(FILES, st.integers(1, 4), st.data())
def test_every_format_gives_the_same_documents_and_the_same_rows_across_them(files, rows, data):
    tokens = flat([document for documents in files for document in documents], "uint16")
    documents = [document for part in files for document in part]
    with tempfile.TemporaryDirectory() as folder:
        store = catalog(Path(folder), write_all(Path(folder), files, rows))
        names = list(store.domains)
        length = data.draw(st.integers(0, len(tokens)))
        places = st.integers(0, len(tokens) - length)
        first = np.array(data.draw(st.lists(places, min_size=1, max_size=8)), np.int64)
        domain = np.array(data.draw(st.lists(st.integers(0, len(names) - 1), min_size=len(first), max_size=len(first))))
        expected = np.array([tokens[at : at + length] for at in first.tolist()]).reshape(len(first), length)
        found = store.reader(names).rows(domain, first, length)
        assert found.dtype == np.uint16
        assert np.array_equal(found, expected)
        out = np.zeros((len(first), length), np.uint16)
        assert store.reader(names).rows(domain, first, length, out) is out
        assert np.array_equal(out, expected)
        spans = store.spans(names, domain, first, length)
        assert [int(end) for end in spans.end[spans.offsets[1:] - 1]] == [length] * len(first) if length else True
        for name in names:
            assert documents_of(store, name) == documents


def test_files_are_one_domain_in_the_order_in_which_they_are_listed(tmp_path):
    write_raw(tmp_path / "b.npy", [[1, 2], [3]])
    write_raw(tmp_path / "a.npy", [[4], [5, 6]])
    store = catalog(tmp_path, {"web": "format: npy, files: [b.npy, a.npy], dtype: uint16"})
    assert store.read("web", 0, 6).tolist() == [1, 2, 3, 4, 5, 6]
    assert store.documents_from("web", 0, 9)["id"].to_pylist() == ["id-0", "id-1", "id-0", "id-1"]


def test_a_file_that_does_not_say_where_documents_end_is_one_document(tmp_path):
    write_raw(tmp_path / "a.npy", [[1, 0], [2, 0]], beside=None)
    write_raw(tmp_path / "b.npy", [[3, 0]], beside=None)
    store = catalog(tmp_path, {"web": "format: npy, files: ['*.npy'], dtype: uint16"})
    assert documents_of(store, "web") == [[1, 0, 2, 0], [3, 0]]
    assert store.documents_from("web", 0, 9)["id"].to_pylist() == ["a.npy#0", "b.npy#0"]


def test_boundaries_are_those_of_the_index_and_not_where_a_token_stands(tmp_path):
    documents = [[5, 0, 6], [0], [7, 8]]  # 0 is end-of-document: inside one, alone, and missing
    write_megatron(tmp_path / "web.bin", documents)
    store = catalog(tmp_path, {"web": "format: megatron, files: [web.bin]"})
    assert documents_of(store, "web") == documents
    spans = store.spans(["web"], np.array([0]), np.array([1]), 3)
    assert spans.document.tolist() == [0, 1]
    assert spans.end.tolist() == [2, 3]


def test_a_row_that_ends_where_a_document_ends_has_no_empty_segment(tmp_path):
    write_megatron(tmp_path / "web.bin", [[1, 2, 3, 4], [5, 6], [7, 8, 9]])
    store = catalog(tmp_path, {"web": "format: megatron, files: [web.bin]"})
    spans = store.spans(["web", "web"], np.array([0, 0]), np.array([0, 4]), 4)
    assert spans.offsets.tolist() == [0, 1, 3]
    assert spans.end.tolist() == [4, 2, 4]


def test_empty_documents_are_none_and_the_others_keep_their_numbers(tmp_path):
    write_parquet(tmp_path / "a.parquet", [[], [1, 2], [], [3]])
    write_arrow(tmp_path / "a.arrow", [[], [1, 2], [], [3]])
    write_megatron(tmp_path / "a.bin", [[], [1, 2], [], [3]])
    keys = {name: f"format: {name}, files: [a.{end}]" for name, end in
            {"arrow": "arrow", "megatron": "bin", "parquet": "parquet"}.items()}  # fmt: skip
    store = catalog(tmp_path, keys)
    for name in keys:
        assert documents_of(store, name) == [[1, 2], [3]]
        assert [i.split("#")[1] for i in store.documents_from(name, 0, 9)["id"].to_pylist()] == ["1", "3"]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "int64"])
def test_megatrons_types_are_read_as_they_are(tmp_path, dtype):
    documents = [[1, 2, 100], [127]]
    write_megatron(tmp_path / "web.bin", documents, dtype=dtype)
    store = catalog(tmp_path, {"web": "format: megatron, files: [web.bin]"}, vocabulary=128)
    assert store.read("web", 0, 4).tolist() == [1, 2, 100, 127]
    assert store.dtype == np.uint16


def test_ids_of_a_large_vocabulary_come_back_as_they_are(tmp_path):
    ids = [0, 65_535, 65_536, 151_935]
    write_megatron(tmp_path / "a.bin", [ids], dtype="int32")
    write_arrow(tmp_path / "a.arrow", [ids])
    write_parquet(tmp_path / "a.parquet", [ids])
    keys = {"arrow": "format: arrow, files: [a.arrow]", "megatron": "format: megatron, files: [a.bin]",
            "parquet": "format: parquet, files: [a.parquet]"}  # fmt: skip
    store = catalog(tmp_path, keys, vocabulary=151_936)
    assert store.dtype == np.uint32
    assert all(store.read(name, 0, 4).tolist() == ids for name in keys)


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.large_list(pa.uint16()), pa.list_(pa.int32(), 2)], ids=str)
def test_arrow_lists_of_every_kind_and_files_as_well_as_streams(tmp_path, kind):
    table = pa.table({"n": [1, 2, 3], "input_ids": pa.array([[1, 2], [3, 4], [5, 6]], kind)})
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table.slice(1), max_chunksize=1)
    store = catalog(tmp_path, {"web": "format: arrow, files: [a.arrow]"})
    assert documents_of(store, "web") == [[3, 4], [5, 6]]


def test_rows_of_tokens_in_numpys_format_lie_one_behind_the_other(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12, dtype=np.uint16).reshape(3, 4))
    store = catalog(tmp_path, {"web": "format: npy, files: [a.npy]"})
    assert store.read("web", 2, 5).tolist() == [2, 3, 4, 5, 6]


def test_an_empty_file_of_tokens_is_a_domain_without_any(tmp_path):
    write_megatron(tmp_path / "a.bin", [])
    write_parquet(tmp_path / "a.parquet", [])
    store = catalog(tmp_path, {"m": "format: megatron, files: [a.bin]", "p": "format: parquet, files: [a.parquet]"})
    assert [(d.tokens, d.documents) for d in store.domains.values()] == [(0, 0), (0, 0)]
    assert store.read("m", 0, 0).tolist() == []


def test_attributes_are_columns_of_the_catalog(tmp_path):
    write_megatron(tmp_path / "a.bin", [[1]])
    write_megatron(tmp_path / "b.bin", [[2]])
    keys = {"a": "format: megatron, files: [a.bin], attributes: {license: MIT, quality: 3}",
            "b": "format: megatron, files: [b.bin], attributes: {quality: 4}"}  # fmt: skip
    store = catalog(tmp_path, keys)
    assert store.labels.drop_columns(["tokenizer"]).to_pylist() == [
        {"domain": "a", "license": "MIT", "quality": 3},
        {"domain": "b", "license": None, "quality": 4},
    ]


def test_what_is_past_the_end_is_refused_with_the_domains_figures(tmp_path):
    write_megatron(tmp_path / "a.bin", [[1, 2, 3]])
    store: Store = catalog(tmp_path, {"web": "format: megatron, files: [a.bin]"})
    for ask in (lambda: store.read("web", 2, 2), lambda: store.reader(["web"]).rows(np.array([0]), np.array([2]), 2)):
        with pytest.raises(StoreError, match="domain 'web' has 3 tokens; asked for 2 from 2") as refused:
            ask()
        assert refused.value.code == "range-outside"


def test_the_table_of_a_row_group_may_hold_other_columns_and_nested_names(tmp_path):
    table = pa.table({"text": ["a", "b"], "ids": pa.array([[1, 2], [3]], pa.list_(pa.uint32())), "url": ["u", "v"]})
    pq.write_table(table, tmp_path / "a.parquet")
    store = catalog(tmp_path, {"web": "format: parquet, files: [a.parquet], column: ids, id: url"})
    assert store.document("v").to_pylist() == [{"domain": "web", "id": "v", "first_token": 2, "tokens": 1}]
