"""Rows of bytes out of open files, wherever they begin, however long they are, and never from behind a file's end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data.makers import MakeStore

from mixture.data.layout.file_rows import Files
from mixture.data.layout.gather import longest
from mixture.data.layout.mapping import Standing
from mixture.errors import StoreError

NONE = np.empty(0, np.int64)
CONTENT = [np.random.default_rng(number).integers(0, 256, 300_000, np.uint8) for number in range(3)]


def no_row(row: int, target: memoryview) -> None:
    raise AssertionError(f"row {row} of {len(target)} bytes lies in one file")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    paths = [tmp_path / f"{number}.bin" for number in range(3)]
    for path, content in zip(paths, CONTENT, strict=True):
        path.write_bytes(content.tobytes())
    return Files([str(path) for path in paths], [path.stat().st_size for path in paths], Standing(tmp_path))


@pytest.mark.parametrize("size", [1, 2, 3, 4096, 4098, 131_073])
def test_rows_are_the_bytes_of_their_places_in_memory_of_their_own(files: Files, size: int) -> None:
    file, place = np.array([2, 0, 0, 1, 2]), np.array([0, 1, 300_000 - size, 4097, 16])
    rows = files.rows(file, place, size, NONE, no_row)
    for row, number, at in zip(rows, file.tolist(), place.tolist(), strict=True):
        assert np.array_equal(row, CONTENT[number][at : at + size])
    rows[:] = 0
    assert np.array_equal(files.rows(file[:1], place[:1], size, NONE, no_row)[0], CONTENT[2][:size])


def test_rows_too_long_to_be_gathered_are_among_those(files: Files) -> None:
    assert 4098 < longest(files[0].memory.start + 300_000) < 131_073


def test_a_row_that_goes_on_elsewhere_stands_among_the_others(files: Files) -> None:
    def read(row: int, target: memoryview) -> None:
        target[:] = bytes([row]) * len(target)

    rows = files.rows(np.array([0, 1, 2]), np.array([5, 299_999, 7]), 8, np.array([1]), read)
    assert rows.tolist() == [CONTENT[0][5:13].tolist(), [1] * 8, CONTENT[2][7:15].tolist()]


@pytest.mark.parametrize("size", [64, 131_073])
def test_a_row_that_would_end_behind_its_file_is_refused_by_its_name(files: Files, size: int) -> None:
    with pytest.raises(StoreError, match=r"1\.bin") as caught:
        files.rows(np.array([0, 1, 2]), np.array([0, 300_001 - size, 0]), size, NONE, no_row)
    assert caught.value.code == "file-size"


def test_long_rows_of_a_store_equal_their_ranges(make_store: MakeStore) -> None:
    text = "".join(chr(32 + i * i % 90) for i in range(200_000))
    store = make_store(web=[text], code=[text[::-1]])
    first = np.array([0, 65_536, 30_000, 164_000], np.int64)
    domain = np.array([0, 1, 1, 0])
    for length in (16_383, 36_000):
        rows = store.reader(["web", "code"]).rows(domain, first, length)
        for row, d, at in zip(rows, domain.tolist(), first.tolist(), strict=True):
            assert np.array_equal(row, store.read(("web", "code")[d], at, length))
