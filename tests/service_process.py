"""The service as a process over a small store, what the system says of the process, and a proxy that does harm."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from service_processes import Copy, start_copy

from mixture.data.store import Store
from mixture.lock import Lock, write_lock

NAME = "m"
"""Of the mixture that `stream_helpers.lock_over` makes."""


@dataclass(frozen=True)
class Shown:
    """A mixture in a folder of its own, as a service shows it."""

    folder: Path
    lock: Lock
    store: Store

    @property
    def settings(self) -> dict[str, Any]:
        """Of a service over it."""
        return {
            "data_dir": self.folder / "data",
            "mixtures_dirs": (self.folder,),
            "store_dirs": (self.store.path,),
            "rate_per_second": 0,
        }


def shown(lock: Lock, folder: Path, store: Store) -> Shown:
    """Put a lock beside the spec that it was made from, in the folder that `lock_over` wrote."""
    write_lock(lock, folder / "mixture.lock.json")
    return Shown(folder, lock, store)


def free_port() -> int:
    """A port that nobody listens on, for a service that is to come back at the same address."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


class ServiceProcess:
    """`mixture serve` at one address, for as many lives as a test wants."""

    def __init__(self, what: Shown, *, port: int | None = None, **settings: object) -> None:
        self.port = port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.address}/v1/mixtures/{NAME}"
        self._settings = what.settings | settings
        self._copy: Copy | None = None

    @property
    def pid(self) -> int:
        """Of the process now."""
        assert self._copy is not None
        return self._copy.process.pid

    def start(self) -> ServiceProcess:
        """Start it, and come back when it answers."""
        self._copy = start_copy(port=self.port, **self._settings)
        httpx2.get(f"{self.address}/readyz", timeout=60).raise_for_status()
        return self

    def end(self, by: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal, and come back when it has ended."""
        assert self._copy is not None
        self._copy.end(by, within=10)

    def __enter__(self) -> ServiceProcess:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.kill()


def until(is_so: Callable[[], bool], *, seconds: float) -> None:
    """Ask again and again until it is so; fails where it is not by then."""
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, f"not so within {seconds} seconds"
        time.sleep(0.02)


@dataclass(frozen=True)
class Resources:
    """What a process has: open files, threads, and bytes of memory of its own (not of files that it maps)."""

    files: int
    threads: int
    memory: int


def resources(pid: int) -> Resources:
    """What the system says of a process now."""
    process = Path(f"/proc/{pid}")
    said = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    files = len(list((process / "fd").iterdir()))
    return Resources(files, int(said["Threads"]), int(said["RssAnon"].split()[0]) * 1024)


def asked(address: str, query: str, *, receive_buffer: int | None = None) -> socket.socket:
    """A connection that has asked for batches and read nothing yet."""
    host, port = address.removeprefix("http://").split(":")
    one = socket.socket()
    if receive_buffer is not None:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    one.settimeout(120)
    one.connect((host, int(port)))
    one.sendall(f"GET /v1/mixtures/{NAME}/batches?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return one


Harm = Callable[[int, bytes], bytes | None]
"""What becomes of bytes of an answer, given how many of it came before: what is passed on, or None to cut."""


@contextmanager
def proxy(port: int, harms: Callable[[bytes], Harm]) -> Iterator[str]:
    """The address of a proxy before a service; each request asks `harms` what will be done to its answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:

        def serve() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=_pass_on, args=(client, port, harms), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def _pass_on(client: socket.socket, port: int, harms: Callable[[bytes], Harm]) -> None:
    with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as service:
        request = _request(client)
        service.sendall(request)
        harm, seen = harms(request), 0
        while data := service.recv(1 << 12):
            kept = harm(seen, data)
            if kept is None:
                return
            client.sendall(kept)
            seen += len(data)


def _request(client: socket.socket) -> bytes:
    """A request with its body, which clients may send behind the head."""
    request = client.recv(1 << 16)
    head, _, body = request.partition(b"\r\n\r\n")
    said = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    missing = (int(said[1]) if said else 0) - len(body)
    while missing > 0 and (more := client.recv(missing)):
        request += more
        missing -= len(more)
    return request
