"""Copies of `mixture serve` that a test may kill, and nginx in front of them."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import service_processes
from service_processes import GONE_WITHIN, Copy

EXAMPLE = Path(__file__).parents[2] / "deploy" / "nginx.conf"


StartCopy = Callable[..., Copy]


@pytest.fixture
def start_copy(tmp_path: Path) -> Iterator[StartCopy]:
    """Start copies on one data folder: start_copy(port=0, database_url=…). All are gone when the test ends."""
    started: list[Copy] = []

    def start(**settings: object) -> Copy:
        started.append(service_processes.start_copy(cwd=tmp_path, data_dir=tmp_path / "data", **settings))
        return started[-1]

    yield start
    with ExitStack() as ending:
        for copy in started:
            ending.callback(copy.kill)
        for copy in started:
            copy.process.terminate()
        for copy in started:
            copy.end(signal.SIGTERM)


RunNginx = Callable[[Sequence[Copy]], str]


@pytest.fixture
def run_nginx() -> Iterator[RunNginx]:
    """Start nginx of deploy/nginx.conf in front of two copies; gives its address. It is gone when the test ends."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        missing = pytest.fail if os.environ.get("MIXTURE_TEST_ALL") == "1" else pytest.skip
        missing("nginx is not installed: apt-get install nginx-light")
    with _folder_of_nginx() as folder:
        yield lambda copies: _start(program, folder, copies)


def _start(program: str, folder: Path, copies: Sequence[Copy]) -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = EXAMPLE.read_text(encoding="utf-8")
    changes = {"listen 8080": f"listen 127.0.0.1:{port}"}
    changes |= {f"127.0.0.1:{8001 + i}": f"127.0.0.1:{copy.port}" for i, copy in enumerate(copies)}
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    conf = folder / "nginx.conf"
    conf.write_text(text, encoding="utf-8")
    # It goes to the background when it listens. What it says stays in the folder: a pipe would stay open with it.
    with (folder / "said").open("w") as said:
        done = subprocess.run([program, "-p", folder, "-c", conf], stdout=said, stderr=said, check=False, **_user())
    assert done.returncode == 0, (folder / "said").read_text(encoding="utf-8")
    return f"http://127.0.0.1:{port}"


def _stop(folder: Path) -> None:
    """End nginx and wait until it is gone."""
    number = folder / "nginx.pid"
    if not number.is_file():
        return
    handle = os.pidfd_open(int(number.read_text(encoding="utf-8")))
    try:
        os.kill(int(number.read_text(encoding="utf-8")), 15)
        ended, _, _ = select.select([handle], [], [], GONE_WITHIN)
        assert ended, "nginx ends when it is told to"
    finally:
        os.close(handle)


@contextmanager
def _folder_of_nginx() -> Iterator[Path]:
    """A folder for its files: not among pytest's, which other users may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="mixture-nginx-", dir="/tmp"))
    try:
        if _user():
            shutil.chown(folder, "nobody", "nogroup")
        yield folder
    finally:
        try:
            _stop(folder)
        finally:
            shutil.rmtree(folder)


def _user() -> dict[str, object]:
    """It never runs as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
