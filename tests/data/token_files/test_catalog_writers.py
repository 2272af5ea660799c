"""Catalogs while they are written anew: by a process that is killed, by two at a time, under the eyes of readers."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from data.token_files.token_files import catalog, documents_of, write_raw

from mixture.data.linking import add_domain, refresh_catalog, replacing
from mixture.data.store import open_store
from mixture.errors import StoreError

DOCUMENTS = [[1, 2, 3], [4, 5]]
MORE = [*DOCUMENTS, [6, 7]]

KILLED = """
import os, signal, sys
from mixture import refresh_catalog

refresh_catalog(sys.argv[1], accept=True, progress=lambda done, total: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalog of one domain, the file of which has grown since."""
    write_raw(tmp_path / "web.npy", DOCUMENTS)
    catalog(tmp_path, {"web": "format: npy, files: ['web*.npy'], dtype: uint16"})
    write_raw(tmp_path / "web.npy", MORE)
    return tmp_path


def test_a_killed_refresh_leaves_the_catalog_and_the_next_one_clears_up(folder):
    before = {path.name: path.read_bytes() for path in (folder / "catalog").iterdir()}
    names = {path.name for path in folder.iterdir()}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder / "catalog")], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {path.name for path in folder.iterdir()} == names | {".catalog.next.ingest"}
    assert {path.name: path.read_bytes() for path in (folder / "catalog").iterdir()} == before
    refresh_catalog(folder / "catalog", accept=True)
    assert documents_of(open_store(folder / "catalog"), "web") == MORE
    assert {path.name for path in folder.iterdir()} == names


def test_two_that_write_a_catalog_at_a_time_do_not_lose_what_one_of_them_wrote(folder):
    refused: list[StoreError] = []

    def add(done: int, total: int) -> None:
        write_raw(folder / "code.npy", DOCUMENTS)
        with pytest.raises(StoreError, match="another process is writing this catalog") as caught:
            add_domain(
                folder / "catalog", "code", {"format": "npy", "files": [f"{folder}/code.npy"], "dtype": "uint16"}
            )
        refused.append(caught.value)

    refresh_catalog(folder / "catalog", accept=True, progress=add)
    assert [error.code for error in refused] == ["catalog-busy"]
    assert list(open_store(folder / "catalog").domains) == ["web"]


def test_a_refresh_of_what_another_process_wrote_meanwhile_is_refused(folder, monkeypatch):
    def late(place: Path) -> object:
        monkeypatch.undo()
        write_raw(folder / "code.npy", DOCUMENTS)
        add_domain(folder / "catalog", "code", {"format": "npy", "files": [f"{folder}/code.npy"], "dtype": "uint16"})
        return replacing.replacing(place)

    monkeypatch.setattr("mixture.data.linking.catalogs.replacing", late)
    with pytest.raises(StoreError) as refused:
        refresh_catalog(folder / "catalog", accept=True)
    assert refused.value.code == "store-replaced"
    refresh_catalog(folder / "catalog", accept=True)
    assert list(open_store(folder / "catalog").domains) == ["code", "web"]


def test_a_reader_finds_a_catalog_at_every_moment_of_a_refresh(folder):
    ended = threading.Event()
    missing: list[Path] = []

    def read() -> None:
        while not ended.is_set():
            if not (folder / "catalog" / "store.json").exists():
                missing.append(folder)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(12):
            os.utime(folder / "web.npy", ns=(number, number))
            refresh_catalog(folder / "catalog", accept=True)
    finally:
        ended.set()
        reader.join()
    assert not missing


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS])
def test_folders_change_places_where_the_system_can_not_do_it_at_once(tmp_path, monkeypatch, number):
    def refused(one: Path, other: Path) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "one" / "1").touch()
    monkeypatch.setattr(replacing, "_exchange", refused)
    replacing.exchange(tmp_path / "one", tmp_path / "other")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["one", "other", "other/1"]


def test_folders_that_can_not_change_places_stay_where_they_are(tmp_path):
    (tmp_path / "other").mkdir()
    with pytest.raises(FileNotFoundError, match="other"):
        replacing.exchange(tmp_path / "gone", tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
