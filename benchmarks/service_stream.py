"""How fast the service streams, against a bare server that sends the same bytes, and what slow clients cost it.

    python -m benchmarks.service_stream [--json]

Over loopback, from the store that benchmarks.stream makes below bench/ (1 GB of real text in 32-bit tokens). The bare
server is uvicorn with an application that holds the record batches in memory and sends them one by one; the client is
the same, checksums included. Medians of interleaved rounds; ratios within the run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from starlette.types import Receive, Scope, Send

from benchmarks.stream import FOLDER, lock_over, real_store
from mixture.api.batches import Frames, open_steps
from mixture.api.middleware.metrics import Metrics
from mixture.client import open_remote_stream
from mixture.data.store import open_store
from mixture.lock import read_lock, write_lock
from mixture.stream import StreamOptions
from mixture.stream.wire import End, Key

STEPS, ROUNDS = 48, 11
SLOW_CLIENTS, SLOW_SECONDS, SLOW_BYTES = 100, 30, 1024
FAST_CLIENTS, ASKED = 50, 100
BARE = "BENCHMARK_BARE"
"""Names the folder that the bare server serves."""


class Bare:
    """An application that does nothing but send: lock, store, and one stream, all from memory."""

    def __init__(self, folder: Path) -> None:
        lock, store = read_lock(folder / "mixture.lock.json"), open_store(FOLDER / "store")
        steps = open_steps(lock, store, StreamOptions())
        frames = Frames(steps, STEPS, Metrics(), mixture=lock.mixture)
        self._batches = [b"".join(pieces) for pieces in [*frames, frames.ending(End.COMPLETE)]]
        self._lock = (folder / "mixture.lock.json").read_bytes()
        self._store = (folder / "store.json").read_bytes()

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            return
        last = scope["path"].rpartition("/")[2]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for body in self._batches if last == "batches" else [self._lock if last == "lock" else self._store]:
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def bare() -> Bare:
    """The application of the bare server."""
    return Bare(Path(os.environ[BARE]))


@contextmanager
def serving(factory: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """uvicorn with an application, as a process on a free port."""
    settings = {
        "MIXTURE_MIXTURES_DIRS": json.dumps([str(folder)]),
        "MIXTURE_STORE_DIRS": json.dumps([str((FOLDER / "store").absolute())]),
        "MIXTURE_DATA_DIR": str(folder / "data"),
        "MIXTURE_STREAMS_PER_CLIENT": "512",
        BARE: str(folder),
    }
    command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--port", "0", "--no-access-log"]
    command += ["--timeout-graceful-shutdown", "3"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | settings) as process:
        assert process.stderr is not None
        try:
            lines = iter(process.stderr.readline, "")
            address = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
            yield process, address
        finally:
            process.kill()


def one_client(address: str) -> float:
    """Megabytes of tokens a second of one streaming client."""
    with open_remote_stream(f"{address}/v1/mixtures/bench") as stream:
        began = time.perf_counter()
        size = sum(next(stream).input_ids.nbytes for _ in range(STEPS))
        return size / (time.perf_counter() - began) / 1e6


def memory(pid: int) -> float:
    """Resident megabytes of a process's own memory, without what it has mapped from files."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1e3  # type: ignore[index]


def asked(address: str, steps: int) -> socket.socket:
    """A connection that has asked for a stream."""
    host, port = address.removeprefix("http://").split(":")
    opened = socket.create_connection((host, int(port)))
    opened.sendall(f"GET /v1/mixtures/bench/batches?last_step={steps - 1} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return opened


def read_slowly(sockets: list[socket.socket], seconds: float) -> None:
    """Read a little of each, once a second."""
    for _ in range(int(seconds)):
        began = time.monotonic()
        for one in sockets:
            one.recv(SLOW_BYTES)
        time.sleep(max(0.0, began + 1 - time.monotonic()))


def slow_clients(process: subprocess.Popen[str], address: str) -> dict[str, float]:
    """Memory of the server while many clients read 1 KiB/s."""
    before = memory(process.pid)
    sockets = [asked(address, 1000) for _ in range(SLOW_CLIENTS)]
    read_slowly(sockets, 5)
    begun = memory(process.pid)
    read_slowly(sockets, SLOW_SECONDS)
    ended = memory(process.pid)
    for one in sockets:
        one.close()
    time.sleep(2)
    return {
        "slow_clients": SLOW_CLIENTS,
        "memory_mb_before": before,
        "memory_mb_with_slow_clients": begun,
        f"memory_mb_{SLOW_SECONDS}_seconds_later": ended,
        "memory_mb_two_seconds_after_they_left": memory(process.pid),
    }


class Draining(threading.Thread):
    """Reads connections as fast as it can."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__(daemon=True)
        self._selector = selectors.DefaultSelector()
        for one in sockets:
            self._selector.register(one, selectors.EVENT_READ)

    def run(self) -> None:
        """Until all have ended."""
        buffer = bytearray(1 << 18)
        while self._selector.get_map():
            for key, _ in self._selector.select():
                assert isinstance(key.fileobj, socket.socket)
                try:
                    got = key.fileobj.recv_into(buffer)
                except ConnectionResetError:
                    got = 0
                if not got:
                    self._selector.unregister(key.fileobj)


def health_beside_streams(address: str) -> dict[str, float]:
    """Milliseconds that /healthz takes while many streams are read at full speed."""
    sockets = [asked(address, 10_000) for _ in range(FAST_CLIENTS)]
    Draining(sockets).start()
    time.sleep(2)
    times = []
    for _ in range(ASKED):
        began = time.perf_counter()
        urllib.request.urlopen(f"{address}/healthz").read()
        times.append((time.perf_counter() - began) * 1e3)
        time.sleep(0.02)
    for one in sockets:
        one.shutdown(socket.SHUT_RDWR)
    return {
        "streams": FAST_CLIENTS,
        "health_ms_median": statistics.median(times),
        "health_ms_99th": sorted(times)[ASKED * 99 // 100 - 1],
        "health_ms_longest": max(times),
    }


def stopping(process: subprocess.Popen[str], address: str) -> dict[str, float]:
    """Seconds from SIGTERM to the end of the process with streams open, and how many streams said so."""
    endings: list[str] = []

    def read() -> None:
        body = urllib.request.urlopen(f"{address}/v1/mixtures/bench/batches?last_step=9999")
        reader = pa.ipc.open_stream(body)
        said: dict[bytes, bytes] = {}
        while Key.END.encode() not in said:
            _, metadata = reader.read_next_batch_with_custom_metadata()
            said = dict(metadata or {})
        endings.append(said[Key.END.encode()].decode())

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    began = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    process.wait()
    seconds = time.perf_counter() - began
    for thread in threads:
        thread.join()
    return {"seconds_to_stop": seconds, "streams_open": 8, "streams_that_said_stopping": endings.count(End.STOPPING)}


def measured() -> dict[str, float]:
    """All figures, in one run."""
    FOLDER.mkdir(exist_ok=True)
    store = real_store(FOLDER)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        lock_over(store, FOLDER)
        spec = (FOLDER / "bench.yaml").read_text(encoding="utf-8")
        (folder / "mixture.yaml").write_text(
            spec.replace("catalog: store", f"catalog: {store.path.absolute()}"), encoding="utf-8"
        )
        write_lock(lock_over(store, FOLDER), folder / "mixture.lock.json")
        found: dict[str, float] = {}
        with serving("mixture.api.app:create_app", folder) as (process, address):
            with urllib.request.urlopen(f"{address}/v1/mixtures/bench/store") as answer:
                (folder / "store.json").write_bytes(answer.read())
            ours, theirs = [], []
            with serving("benchmarks.service_stream:bare", folder) as (_, bare_address):
                for _ in range(ROUNDS + 1):
                    ours.append(one_client(address))
                    theirs.append(one_client(bare_address))
            found |= {
                "service_mb_per_second": statistics.median(ours[1:]),
                "bare_mb_per_second": statistics.median(theirs[1:]),
                "ratio_to_bare": statistics.median(a / b for a, b in zip(ours[1:], theirs[1:], strict=True)),
            }
            found |= slow_clients(process, address)
            found |= health_beside_streams(address)
            found |= stopping(process, address)
        return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    found = measured()
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<44}{value:>12,.3f}")


if __name__ == "__main__":
    main()
