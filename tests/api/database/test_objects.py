"""Files by digest: whole or not there, and compared with their digest when read."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mixture.api.database import Repository, RepositoryError
from mixture.api.database.objects import Objects, sweep


@pytest.fixture
def objects(tmp_path):
    return Objects(tmp_path / "objects")


@pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 10_000])
def test_bytes_are_given_back_by_their_sha_256(objects, data):
    digest = objects.put(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert objects.get(digest) == data
    assert Objects(objects.folder).get(digest) == data


def test_what_a_killed_process_left_unfinished_is_removed_after_an_hour(objects):
    digest = objects.put(b"whole")
    (whole,) = [path for path in objects.folder.rglob("*") if path.is_file()]
    old, new = (whole.with_name(f".{name}.0123456789abcdef.tmp") for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert sweep(objects.folder, now=time.time()) == 1
    assert (old.exists(), new.exists(), objects.get(digest)) == (False, True, b"whole")
    assert sweep(objects.folder / "not there", now=time.time()) == 0


def test_what_is_gone_or_cannot_be_removed_does_not_end_the_removal(objects):
    folder = objects.folder / "00"
    folder.mkdir()
    gone, stays, old = (folder / f".{name}.0123456789abcdef.tmp" for name in ("gone", "stays", "old"))
    gone.symlink_to(folder / "finished by another copy")
    stays.mkdir()
    old.write_bytes(b"half")
    for path in (stays, old):
        os.utime(path, (0, 0))
    assert sweep(objects.folder, now=time.time()) == 1
    assert (stays.exists(), old.exists()) == (True, False)


def test_an_object_that_is_not_there_is_named(objects):
    with pytest.raises(RepositoryError, match="0" * 64) as caught:
        objects.get("0" * 64)
    assert caught.value.code == "object-missing"


def test_a_damaged_object_is_refused_and_made_whole_by_the_next_who_brings_it(objects):
    digest = objects.put(b"a text of some length")
    (path,) = [path for path in objects.folder.rglob("*") if path.is_file()]
    path.write_bytes(b"a text of same length")
    with pytest.raises(RepositoryError) as caught:
        objects.get(digest)
    assert caught.value.code == "object-damaged"
    assert objects.put(b"a text of some length") == digest
    assert objects.get(digest) == b"a text of some length"


def test_many_who_bring_the_same_at_once_leave_one_file_and_nothing_beside_it(objects):
    data = bytes(100_000)
    with ThreadPoolExecutor(16) as threads:
        digests = set(threads.map(lambda _: Objects(objects.folder).put(data), range(64)))
    assert digests == {hashlib.sha256(data).hexdigest()}
    assert [path.stat().st_size for path in objects.folder.rglob("*") if path.is_file()] == [100_000]


def test_what_a_writer_left_behind_that_was_killed_is_never_read(objects):
    digest = objects.put(b"whole")
    (path,) = [path for path in objects.folder.rglob("*") if path.is_file()]
    path.rename(path.with_name(f".{path.name}.0011.tmp"))
    with pytest.raises(RepositoryError) as caught:
        objects.get(digest)
    assert caught.value.code == "object-missing"
    objects.put(b"whole")
    assert objects.get(digest) == b"whole"


def test_git_passes_over_the_folder_of_the_service_and_its_own_file_for_that_stays(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    def untracked():
        command = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    folder = tmp_path / "mixture-data"
    Repository.open(folder).close()
    assert (folder / "mixture.db").exists()
    assert untracked() == ""
    (folder / ".gitignore").write_text("objects/\n", encoding="utf-8")
    Repository.open(folder).close()
    assert "mixture-data/mixture.db" in untracked(), "what somebody has written there holds"
