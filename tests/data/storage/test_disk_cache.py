"""The cache on a disk: bounded, shared, checked, and careful with what others put there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mixture.data.storage import Address, DiskCache, ObjectFacts, Span, stored_object
from mixture.errors import StoreError


def span(number: int, *, tag: str | None = "t", size: int = 1000) -> Span:
    found = stored_object(Address("s3://bucket", "key"), ObjectFacts(10**9, tag, 7))
    return Span(found, number * size, (number + 1) * size)


def data(number: int, size: int = 1000) -> bytes:
    return bytes([number % 256]) * size


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in files(folder))


def test_what_was_put_is_got_by_another_process_too(tmp_path: Path):
    DiskCache(tmp_path, 10**6).put(span(1), data(1))
    assert DiskCache(tmp_path, 10**6).get(span(1)) == data(1)
    assert DiskCache(tmp_path, 10**6).get(span(2)) is None


def test_an_object_that_was_changed_has_other_bytes(tmp_path: Path):
    cache = DiskCache(tmp_path, 10**6)
    cache.put(span(1), data(1))
    assert cache.get(span(1, tag="u")) is None
    assert cache.get(span(1, tag=None)) is None


def test_it_stays_below_its_bound_and_keeps_what_was_used_last(tmp_path: Path):
    cache = DiskCache(tmp_path, 64_000)
    cache.put(span(0), data(0))
    for number in range(1, 400):
        cache.put(span(number), data(number))
        assert cache.get(span(0)) == data(0), "it is used all the time"
        assert size_of(tmp_path) <= 64_000
    kept = [number for number in range(400) if cache.get(span(number)) is not None]
    assert len(kept) > 40
    assert kept == [0, *range(400 - len(kept) + 1, 400)]


def test_what_others_put_there_is_left_alone(tmp_path: Path):
    cache = DiskCache(tmp_path, 20_000)
    cache.put(span(0), data(0))
    (block,) = files(tmp_path)
    mine = [
        tmp_path / "notes.txt",
        tmp_path / "blocks" / "notes.txt",
        block.with_name("notes.block"),
        block.with_name("0" * 40 + ".block"),  # called as blocks are, and none
    ]
    outside = tmp_path.with_name(tmp_path.name + "-outside")
    outside.write_bytes(block.read_bytes())
    block.with_name("1" * 40 + ".block").symlink_to(outside)
    for path in mine:
        path.write_text("mine " * 1000)
    for path in [*mine, outside]:
        os.utime(path, (0, 0))
    for number in range(1, 200):
        cache.put(span(number), data(number))
    assert all(path.read_text() == "mine " * 1000 for path in mine)
    assert outside.is_file()
    assert cache.get(span(0)) is None


@pytest.mark.parametrize("damage", ["flipped", "short", "empty", "longer"])
def test_what_was_damaged_is_thrown_away(tmp_path: Path, damage: str):
    cache = DiskCache(tmp_path, 10**6)
    cache.put(span(3), data(3))
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    path.write_bytes({"flipped": whole[:-1] + b"\0", "short": whole[:-5], "empty": b"", "longer": whole + b"x"}[damage])
    assert cache.get(span(3)) is None
    assert not path.exists()
    cache.put(span(3), data(3))
    assert cache.get(span(3)) == data(3)


def test_what_a_killed_process_left_is_deleted_when_it_is_old(tmp_path: Path):
    cache = DiskCache(tmp_path, 20_000)
    cache.put(span(0), data(0))
    (block,) = files(tmp_path)
    old, new = (block.with_name(f".{'a' * 40}.{letter * 8}.tmp") for letter in "bc")
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (0, 0))
    for number in range(1, 50):
        cache.put(span(number), data(number))
    assert not old.exists()
    assert new.exists()


def test_a_block_too_large_for_it_is_not_kept(tmp_path: Path):
    cache = DiskCache(tmp_path, 5_000)
    cache.put(span(0), data(0))
    assert files(tmp_path) == []


def test_a_folder_that_can_not_be_one_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        DiskCache(tmp_path / "file", 10**6)
    assert caught.value.code == "cache-unusable"


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from data.storage.test_disk_cache import data, span
from mixture.data.storage import DiskCache
cache = DiskCache(Path(sys.argv[1]), 64_000)
for number in range(300):
    found = cache.get(span(number % 90))
    assert found in (None, data(number % 90)), number
    cache.put(span(number % 90), data(number % 90))
"""


def test_processes_share_a_folder_and_keep_its_bound(tmp_path: Path):
    tests = str(Path(__file__).parents[2])
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(number), tests]) for number in range(4)
    ]
    while any(process.poll() is None for process in running):
        kept = 0
        for path in files(tmp_path):
            try:
                kept += path.stat().st_size
            except FileNotFoundError:
                continue
        assert kept <= 64_000 + 4 * 1024, "four blocks may be on their way"
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert not [path for path in files(tmp_path) if path.suffix == ".tmp"]
