"""Copies of `mixture serve` that a test may kill, and nginx in front of them."""

from __future__ import annotations

import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("mixture"))
EXAMPLE = Path(__file__).parents[2] / "deploy" / "nginx.conf"
GONE_WITHIN = 20


@dataclass(frozen=True)
class Copy:
    """A running copy of the service."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """End it without a word, as a machine that fails does."""
        self.process.kill()
        self.process.wait(GONE_WITHIN)


StartCopy = Callable[..., Copy]


@pytest.fixture
def start_copy(tmp_path: Path) -> Iterator[StartCopy]:
    """Start copies: start_copy(port=0, DATABASE_URL=…). All are gone when the test ends."""
    started: list[subprocess.Popen[str]] = []

    def start(*, port: int = 0, **settings: str) -> Copy:
        environment = {"DATA_DIR": str(tmp_path / "data"), "MIXTURES_DIRS": "[]", "RATE_PER_SECOND": "0"} | settings
        process = subprocess.Popen(
            [PROGRAM, "serve", "--port", str(port)], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
            env=os.environ | {f"MIXTURE_{name}": value for name, value in environment.items()},
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+(?=/docs)", line)
        assert found is not None, line
        return Copy(process, found[0])

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.communicate(timeout=GONE_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


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
