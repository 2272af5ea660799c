"""What the service says when its own files are taken away, can not be written, or are damaged."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from api_helpers import ask
from fastapi import FastAPI

from mixture.api.database import Repository, RepositoryError, Scope

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: only
    weights: {a: 50%, b: 50%}
"""
NEW = {"spec": SPEC, "tables": {"cells.csv": "domain,tokens\na,200000\nb,90000\n"}}


@pytest.fixture
def app(make_app) -> FastAPI:
    return make_app()


@pytest.fixture
def headers(app: FastAPI) -> dict[str, str]:
    """Of somebody who may write everything."""
    return {"Authorization": f"Bearer {app.state.services.repository.add_token('ann', list(Scope))[1]}"}


def said(app: FastAPI, method: str, address: str, **options) -> tuple[int, str | None]:
    answer = ask(app, method, address, **options)
    return answer.status_code, answer.headers.get("x-error-code")


@pytest.mark.parametrize("lost", ["data", "data/mixture.db", "data/objects"])
def test_nothing_is_taken_for_written_when_the_folder_was_removed_under_the_service(app, headers, tmp_path, lost):
    run = ask(app, "POST", "/v1/runs", json={"mixture": "demo"}, headers=headers).json()["id"]
    (tmp_path / lost).rename(tmp_path / "away")
    unusable = (503, "data-dir-unusable")
    assert said(app, "GET", "/readyz") == unusable
    assert said(app, "PUT", "/v1/mixtures/small", json=NEW, headers=headers) == unusable
    if lost != "data/objects":
        assert said(app, "POST", f"/v1/runs/{run}/progress", json={"step": 3}, headers=headers) == unusable
    (tmp_path / "away").rename(tmp_path / lost)
    assert said(app, "GET", "/readyz") == (200, None)
    assert ask(app, "GET", f"/v1/runs/{run}/progress").json()["items"] == []
    assert said(app, "PUT", "/v1/mixtures/small", json=NEW, headers=headers) == (201, None)


def test_an_object_that_can_not_be_written_is_no_fault_of_the_service(app, headers, tmp_path):
    (tmp_path / "data" / "objects").rmdir()
    (tmp_path / "data" / "objects").write_text("a file", encoding="utf-8")
    assert said(app, "PUT", "/v1/mixtures/small", json=NEW, headers=headers) == (503, "data-dir-unusable")


FULL = """
import resource, signal, sys
from pathlib import Path
from mixture.api.database.objects import Objects

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
objects = Objects(Path(sys.argv[1]))
try:
    objects.put(bytes(2000))
except Exception as error:
    print(type(error).__name__, error.code)
print([str(path) for path in objects.folder.rglob("*") if path.is_file()])
"""


def test_where_there_is_no_room_for_an_object_nothing_of_it_stays(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "objects")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["RepositoryError data-dir-unusable", "[]"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], check=False)
    if mount.returncode:
        pytest.skip("this user may not mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_said_and_leaves_nothing_half_written(make_app, small_disk, monkeypatch):
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", None)
    app = make_app(data_dir=small_disk / "data")
    headers = {"Authorization": f"Bearer {app.state.services.repository.add_token('ann', list(Scope))[1]}"}
    assert said(app, "GET", "/readyz") == (200, None)
    assert said(app, "PUT", "/v1/mixtures/small", json=NEW, headers=headers) == (201, None)
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(32 * 2**20))
    files = sorted(path for path in small_disk.rglob("*") if path.is_file())
    unusable = (503, "data-dir-unusable")
    other = NEW | {"spec": SPEC + "seed: 1\n"}
    assert said(app, "GET", "/readyz") == unusable
    assert said(app, "PUT", "/v1/mixtures/other", json=other, headers=headers) == unusable
    assert said(app, "POST", "/v1/runs", json={"mixture": "small"}, headers=headers) == unusable
    assert sorted(path for path in small_disk.rglob("*") if path.is_file()) == files
    for address in ("/v1/mixtures/small", "/v1/mixtures/small/plan", "/v1/mixtures/small/composition"):
        assert said(app, "GET", address) == (200, None)
    assert said(app, "POST", "/v1/mixtures/small/what-if", json={"budget": "20 steps"}) == (200, None)
    ballast.unlink()
    assert said(app, "GET", "/readyz") == (200, None)
    assert said(app, "PUT", "/v1/mixtures/other", json=other, headers=headers) == (201, None)


def damage(path: Path, kind: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    harmed = {
        "pages overwritten": data[:4096] + bytes(range(1, 256)) * (len(data) // 255),
        "no database": b"none " * 99,
    }
    path.write_bytes(harmed[kind])


@pytest.mark.parametrize("kind", ["pages overwritten", "no database"])
@pytest.mark.parametrize("when", ["while it runs", "before it starts"])
def test_a_damaged_database_is_named_and_mixtures_of_folders_are_shown(make_app, tmp_path, kind, when):
    with closing(Repository.open(tmp_path / "data")) as repository:
        secret = repository.add_token("ann", list(Scope))[1]
    headers = {"Authorization": f"Bearer {secret}"}
    app = make_app()
    if when == "while it runs":
        assert said(app, "GET", "/readyz") == (200, None)
    damage(tmp_path / "data" / "mixture.db", kind)
    damaged = (503, "database-damaged")
    assert said(app, "GET", "/readyz") == damaged
    assert said(app, "GET", "/v1/runs") == damaged
    assert said(app, "PUT", "/v1/mixtures/small", json=NEW, headers=headers) == damaged
    assert said(app, "GET", "/v1/mixtures/demo") == (200, None)
    assert said(app, "GET", "/v1/mixtures/demo/composition") == (200, None)
    with pytest.raises(RepositoryError) as refused:
        Repository.open(tmp_path / "data").check()
    assert refused.value.code == "database-damaged"


def test_what_the_service_keeps_is_for_its_user_alone(tmp_path):
    before = os.umask(0)
    try:
        repository = Repository.open(tmp_path / "new" / "data")
        repository.objects.put(b"text")
        repository.add_token("ann", [Scope.RUN])
        kept = sorted((tmp_path / "new" / "data").rglob("*"))
        modes = {path.name: path.stat().st_mode & 0o777 for path in kept}
        repository.close()
    finally:
        os.umask(before)
    assert {"mixture.db", "mixture.db-wal", "mixture.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600, 0o700}
    assert {path.stat().st_mode & 0o777 for path in kept if path.is_dir()} == {0o700}
    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700
