"""A store, a lock over it, an S3 server and a web server that have it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from data.storage.web_server import WebServer, web_server
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.data.storage import ObjectOptions
from mixture.data.store import Store
from mixture.lock import Lock

START_SECONDS = 60


@dataclass(frozen=True)
class Run:
    """A store here, and a lock over it."""

    store: Store
    lock: Lock


@dataclass(frozen=True)
class Bucket:
    """A bucket of an S3 server, and how it is reached."""

    name: str
    settings: tuple[tuple[str, str], ...]

    @property
    def url(self) -> str:
        return f"s3://{self.name}"

    def put(self, folder: Path, key: str) -> str:
        """Put a folder's files, or a file, into the bucket: their address."""
        from obstore.store import from_url

        bucket = from_url(self.url, client_options={"allow_http": True}, **dict(self.settings))  # type: ignore[arg-type]
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            if path.is_file():
                inside = path.relative_to(folder).as_posix()
                bucket.put(key if inside == "." else f"{key}/{inside}", path.read_bytes())
        return f"{self.url}/{key}"


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A store of three domains, and a lock of 40 steps of 8 rows of 64 tokens over it."""
    folder = tmp_path_factory.mktemp("run")
    store = make_store(folder / "text", DOMAINS)
    keys = {"tokenizer": "bytes", "seed": "3", "sequence_length": "64", "batch": "8 sequences", "budget": "40 steps"}
    lock = lock_over(
        store,
        folder / "spec",
        "  - {phase: all, weights: {code: 30%, notes: 10%, web: 60%}}",
        **keys,
        shuffle="{block: 512 tokens, window: 8 blocks}",
    )
    return Run(store, lock)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket of an S3 server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("s3") / "server.log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, server, log)
        url = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(urllib.request.Request(f"{url}/texts", method="PUT")):
            pass
        settings = (("access_key_id", "a"), ("endpoint", url), ("region", "us-east-1"), ("secret_access_key", "b"))
        yield Bucket("texts", settings)
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="session")
def in_s3(run: Run, s3: Bucket) -> str:
    """The address of the store in the bucket."""
    return s3.put(run.store.path, "runs/store")


@pytest.fixture
def web(run: Run) -> Iterator[WebServer]:
    """A web server that has the store."""
    with web_server(run.store.path.parent) as server:
        yield server


@pytest.fixture
def options(tmp_path: Path) -> Callable[..., ObjectOptions]:
    """Options that no other test has, so that nothing is in memory yet; little patience."""

    def make(**given: object) -> ObjectOptions:
        # What reads objects is shared by all who read with the same options.
        own = 10**9 + int.from_bytes(os.urandom(3), "little")
        return ObjectOptions(**{"cache_bytes": own, "stall_seconds": 0.5, "attempts": 6, **given})  # type: ignore[arg-type]

    return make
