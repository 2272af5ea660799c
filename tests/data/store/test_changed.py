"""A file of an open store that is written to in place is not read on from, and cutting it short ends no process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data.makers import MakeStore

from mixture.data.layout.files import DATA_START
from mixture.data.layout.mapping import OpenFile, Standing
from mixture.data.store import Store, open_store
from mixture.errors import StoreError

ONE = np.zeros(1, np.int64)
READS: dict[str, tuple[str, Callable[[Store], object]]] = {
    "a range": ("tokens/*", lambda store: store.read("web", 0, 4)),
    "rows": ("tokens/*", lambda store: store.reader(["web"]).rows(ONE, ONE, 4)),
    "rows into a buffer": ("tokens/*", lambda store: store.reader(["web"]).rows(ONE, ONE, 4, np.empty((1, 4), "u2"))),
    "spans": ("document_ends.arrow", lambda store: store.spans(["web"], ONE, ONE, 4)),
    "documents": ("documents.parquet", lambda store: store.documents("web", 0, 4)),
    "a document": ("documents_by_id.parquet", lambda store: store.document("0")),
}


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store(web=["one and two", "three and four"])


def overwrite(path: Path) -> None:
    """Other bytes, as many of them, of now."""
    data, written = path.read_bytes(), path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.write(bytes(byte ^ 0xFF for byte in data))
    os.utime(path, ns=(written + 1, written + 1))


@pytest.mark.parametrize("begun", [False, True], ids=["not read yet", "read before"])
@pytest.mark.parametrize(("name", "read"), READS.values(), ids=READS)
@pytest.mark.parametrize("harm", ["overwritten", "cut short"])
def test_a_file_that_was_changed_since_the_store_was_opened_is_refused(store: Store, name, read, harm, begun):
    if begun:
        read(store)
    (path,) = store.path.glob(name)
    if harm == "overwritten":
        overwrite(path)
    else:
        os.truncate(path, 100)
    for _ in range(2):
        with pytest.raises(StoreError, match=path.name) as refused:
            read(store)
        assert refused.value.code in ("store-changed", "file-size")


def test_a_row_across_files_is_read_into_a_buffer_as_it_is_from_maps(make_store: MakeStore):
    store = make_store(65_536, web=["0123456789" * 14_000])
    reader, first_token = store.reader(["web"]), np.array([0, 65_530, 65_535, 65_536, 1])
    for length in (18, 2 * 65_536 + 3):
        out = np.empty((5, length), store.dtype)
        first_token[:] = np.minimum(first_token, 140_001 - length)
        reader.rows(np.zeros(5, np.int64), first_token, length, out)
        assert (out == reader.rows(np.zeros(5, np.int64), first_token, length)).all()
        assert out[1].tolist() == store.read("web", int(first_token[1]), length).tolist()


def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(store: Store):
    (path,) = (store.path / "tokens").iterdir()
    opened = OpenFile(str(path), path.stat().st_size, Standing(store.path))
    os.truncate(path, DATA_START + 2)  # after it was looked at
    with pytest.raises(StoreError, match="cut short") as refused:
        opened.read(DATA_START, memoryview(bytearray(8)))
    assert refused.value.code == "file-size"


def test_a_store_that_was_changed_is_read_again_when_it_is_opened_anew(store: Store):
    (path,) = (store.path / "tokens").iterdir()
    path.touch()
    with pytest.raises(StoreError, match="changed in place"):
        store.read("web", 0, 4)
    assert len(open_store(store.path).read("web", 0, 4)) == 4
