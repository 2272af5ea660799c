"""A bucket of an S3 server on this machine that has the store."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

SETTINGS, URL = "MIXTURE_BENCH_S3_SETTINGS", "MIXTURE_BENCH_S3_URL"
"""What the processes that read from it are told in."""
START_SECONDS = 120


@contextmanager
def bucket(folder: Path) -> Iterator[dict[str, str]]:
    """Start the server, put a folder into it, and say how it is reached; nothing where moto or obstore is missing."""
    if find_spec("moto") is None or find_spec("obstore") is None:
        yield {}
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        endpoint = f"http://127.0.0.1:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bench", method="PUT")).close()
        settings = {"access_key_id": "a", "endpoint": endpoint, "region": "us-east-1", "secret_access_key": "b"}
        _put(folder, settings)
        yield {SETTINGS: json.dumps(settings), URL: f"s3://bench/{folder.name}"}
    finally:
        server.terminate()
        server.wait()


def _put(folder: Path, settings: dict[str, str]) -> None:
    from obstore.store import S3Store

    store = S3Store("bench", client_options={"allow_http": True}, **settings)  # type: ignore[arg-type]
    for path in folder.rglob("*"):
        if path.is_file():
            store.put(f"{folder.name}/{path.relative_to(folder).as_posix()}", path)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return
