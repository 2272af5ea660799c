"""Reading far into large files, from many files, in threads, and again and again."""

from __future__ import annotations

import gzip
import pickle
import resource
import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.token_files.token_files import catalog, documents_of, write_megatron
from stream_helpers import lock_over

from mixture.data.derived import ExportFormat, export_store
from mixture.data.linking import build_catalog
from mixture.data.store import open_store
from mixture.data.token_files import row_groups
from mixture.stream import open_stream


def write_sparse(path: Path, lengths: list[int], tokens: dict[int, list[int]]) -> None:
    """A .bin of holes with some tokens in it, of int32, and its .idx: a document may be several sequences."""
    cuts = [[min(1 << 30, length - i) for i in range(0, length, 1 << 30)] for length in lengths]
    sequences = np.array([one for cut in cuts for one in cut], "<i8")
    with path.open("wb") as file:
        file.truncate(4 * sum(lengths))
        for at, ids in tokens.items():
            file.seek(4 * at)
            file.write(np.array(ids, "<i4").tobytes())
    bounds = np.cumsum([0, *map(len, cuts)]).astype("<i8")
    header = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, 4, len(sequences), len(bounds))
    pointers = ((np.cumsum(sequences) - sequences) * 4).astype("<i8")
    path.with_suffix(".idx").write_bytes(
        header + sequences.astype("<i4").tobytes() + pointers.tobytes() + bounds.tobytes()
    )


def test_a_document_that_begins_at_token_2_to_the_32_plus_5_is_read_as_it_is(tmp_path):
    start = 2**32 + 5
    write_sparse(tmp_path / "web.bin", [start, 130_000, 3], {start: [7, 8, 9], start + 130_000: [5, 6, 0]})
    store = catalog(tmp_path, {"web": "format: megatron, files: [web.bin]"})
    assert store.documents("web", start, 1).to_pylist() == [
        {"id": "web.bin#1", "first_token": start, "tokens": 130_000}
    ]
    assert store.read("web", start - 1, 4).tolist() == [0, 7, 8, 9]
    rows = store.reader(["web"]).rows(np.array([0, 0]), np.array([start + 129_999, start]), 4)
    assert rows.tolist() == [[0, 5, 6, 0], [7, 8, 9, 0]]
    assert len(store.read("web", start, 130_000)) == 130_000
    spans = store.spans(["web"], np.array([0]), np.array([start + 129_999]), 4)
    assert spans.document.tolist() == [1, 2]


def test_thirteen_tokens_in_rows_of_four_are_three_rows_and_what_remains_is_stated(tmp_path):
    write_megatron(tmp_path / "web.bin", [list(range(13))])
    store = catalog(tmp_path, {"web": "format: megatron, files: [web.bin]"})
    run = {"sequence_length": "4", "batch": "3 sequences", "budget": "1 steps"}
    lock = lock_over(store, tmp_path / "run", "  - {phase: all, weights: proportional}", **run)
    (batch,) = open_stream(lock, store)
    assert sorted(batch.input_ids.tolist()) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    (wide,) = open_stream(lock, store, next_token=True)
    assert sorted(wide.input_ids.tolist()) == [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [8, 9, 10, 11, 12]]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_ten_epochs_of_a_file_of_many_row_groups_take_no_more_memory_than_one(tmp_path, form, monkeypatch):
    monkeypatch.setattr(row_groups, "STRETCH_BYTES", 1 << 20)
    monkeypatch.setattr(row_groups, "GROUP_BYTES", 1 << 20)
    values = np.random.default_rng(0).integers(0, 69_999, 5_000_000, np.int32)
    lists = pa.ListArray.from_arrays(pa.array(range(0, len(values) + 1, 1000), pa.int32()), pa.array(values))
    table = pa.table({"input_ids": lists})
    if form == "parquet":
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=50)  # a hundred groups, of 20 MB in all
    else:
        with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    store = catalog(tmp_path, {"web": f"format: {form}, files: ['a.*']"}, vocabulary=70_000)
    run = {"sequence_length": "4096", "batch": "8 sequences", "max_epochs": "20", "shuffle": "{block: 65536 tokens}"}
    steps = 10 * len(values) // (4096 * 8)
    phases = "  - {phase: all, weights: proportional}"
    lock = lock_over(store, tmp_path / "run", phases, budget=f"{steps} steps", **run)
    tracemalloc.start()
    before = pa.total_allocated_bytes()  # of tests that ran here before
    try:
        held = []
        for batch in open_stream(lock, store):
            if batch.step % (steps // 10) == steps // 10 - 1:
                held.append(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before)
        assert len(held) >= 9
        assert max(held[2:]) - held[1] < 1 << 20
        assert max(held) < 14_000_000  # the schedule's some 8 MB, and not all of the file
    finally:
        tracemalloc.stop()


def test_more_files_than_a_process_may_open_are_read(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 300
    for number in range(count):
        np.full(50, number, np.uint16).tofile(tmp_path / f"{number:04}.npy")
    catalog(tmp_path, {"web": "format: npy, files: ['*.npy'], dtype: uint16"})
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        store = open_store(tmp_path / "catalog")
        first = np.arange(count - 1) * 50 + 40
        rows = store.reader(["web"]).rows(np.zeros(count - 1, np.int64), first, 20)
        out = np.empty_like(rows)
        store.reader(["web"]).rows(np.zeros(count - 1, np.int64), first, 20, out)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for number, row in enumerate(rows.tolist()):
        assert row == [number] * 10 + [number + 1] * 10
    assert np.array_equal(out, rows)


def test_threads_and_other_processes_share_a_catalog(tmp_path):
    lists = [[number] * 100 for number in range(200)]
    table = pa.table({"input_ids": pa.array(lists, pa.list_(pa.int32()))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=5)
    write_megatron(tmp_path / "a.bin", lists)
    keys = {"m": "format: megatron, files: [a.bin]", "p": "format: parquet, files: [a.parquet]"}
    store = pickle.loads(pickle.dumps(catalog(tmp_path, keys)))
    reader = store.reader(["p", "m"])

    def read(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        first, domain = rng.integers(0, 19_000, 50), rng.integers(0, 2, 50)
        expected = (first[:, None] + np.arange(1000)) // 100
        reader.prefetch(domain, first, 1000)
        return bool(np.array_equal(reader.rows(domain, first, 1000), expected))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(read, range(40)))


@pytest.mark.parametrize("form", list(ExportFormat))
def test_what_is_exported_has_no_token_more_or_less(tmp_path, make_store, form):
    store = make_store(a=["x" * 70_000, "y"], b=["z"])
    (one, two) = export_store(store, form, tmp_path / "out")
    assert (one.name, one.tokens, one.documents) == ("a", 70_003, 2)
    assert (two.name, two.tokens, two.documents) == ("b", 2, 1)
    if form is ExportFormat.NUMPY:
        assert np.array_equal(np.load(tmp_path / "out" / one.file), store.read("a", 0, 70_003))
    else:
        assert np.array_equal(np.fromfile(tmp_path / "out" / one.file, np.uint16), store.read("a", 0, 70_003))
    if form in (ExportFormat.NPY, ExportFormat.NUMPY):
        (row,) = gzip.decompress((tmp_path / "out" / "00001-b.csv.gz").read_bytes()).splitlines()
        assert row.startswith(b'0,2,"')


def test_datatrove_has_a_folder_a_domain_with_the_ends_of_documents_and_the_type_of_tokens(tmp_path, make_store):
    store = make_store(a=["xyz", "y"], b=["z"])
    (one, two) = export_store(store, ExportFormat.DATATROVE, tmp_path / "out")
    assert (one.file, two.file) == ("00000-a/00000-a.ds", "00001-b/00001-b.ds")
    assert np.fromfile(tmp_path / "out" / f"{one.file}.index", np.uint64).tolist() == [4, 6]
    assert (tmp_path / "out" / f"{one.file}.metadata").read_text() == f"{store.tokenizer}|2\n6\n"


@pytest.mark.parametrize("form", list(ExportFormat))
def test_what_is_exported_is_read_back_in_place_in_every_format(tmp_path, make_store, form):
    store = make_store(**{"a/b": ["x" * 700, "y", "z" * 30], "b": ["z"]})
    export_store(store, form, tmp_path / "out")
    build_catalog(tmp_path / "out" / "sources.yaml", tmp_path / "again")
    again = open_store(tmp_path / "again")
    for name, domain in store.domains.items():
        assert (again.domains[name].tokens, again.domains[name].documents) == (domain.tokens, domain.documents)
        assert np.array_equal(again.read(name, 0, domain.tokens), store.read(name, 0, domain.tokens))


def test_ids_come_back_from_files_that_keep_them_whatever_is_in_them(tmp_path):
    ids = ["plain", "a, b", 'say "x"', "two\nlines", "", "né", "7"]
    table = pa.table({"input_ids": [[n + 1] * (n + 1) for n in range(7)], "id": ids})
    pq.write_table(table, tmp_path / "web.parquet")
    store = catalog(tmp_path, {"web": "format: parquet, files: [web.parquet], id: id"})
    export_store(store, ExportFormat.NPY, tmp_path / "out")
    build_catalog(tmp_path / "out" / "sources.yaml", tmp_path / "again")
    again = open_store(tmp_path / "again")
    assert again.documents_from("web", 0, 99)["id"].to_pylist() == ids
    assert documents_of(again, "web") == documents_of(store, "web")
    export_store(store, ExportFormat.NPY, tmp_path / "once more")
    packed = [(tmp_path / folder / "00000-web.csv.gz").read_bytes() for folder in ("out", "once more")]
    assert packed[0] == packed[1]
