"""One client does what harms, at every route: another one, who asks for little, is answered as before.

Hostile clients do not read, do not finish, open many connections, send huge and deep bodies. Times are relative to
those of the polite client when nobody else is there, in the same run.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from api_helpers import MIXTURES, routes_of
from fastapi import FastAPI
from service_process import resources
from service_processes import Copy, start_copy

from mixture.api.app import create_app
from mixture.api.settings import Settings

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif("MIXTURE_TEST_ALL" not in os.environ, reason="it measures times: `make test-all` runs it alone"),
]

PARAMETERS = {
    "ref": "demo",
    "other": "demo",
    "name": "demo",
    "run_id": "none",
    "domain": "web-high",
    "step": "3",
    "format": "levanter",
}
"""What stands in a path. A route with another parameter has it put here."""
QUERIES = {
    "/v1/mixtures/{ref}/composition": "?points=400",
    "/v1/mixtures/{ref}/positions": "?first_position=0&last_position=99999",
}
POLITE = ("/healthz", "/v1/mixtures/demo")

QUIET_SECONDS = 5.0
ROUTE_SECONDS = 0.7
TIMES = 10
"""The polite client's 99th percentile is at most that many times as long as it is without others."""
LEAST_SECONDS = 0.5
"""And half a second is always allowed: machines that run tests are busy."""
MOST_MEMORY = 1 << 30
"""Of the service, at its end."""
OPEN = 1000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    copy = start_copy(data_dir=tmp_path_factory.mktemp("data"), mixtures_dirs=[MIXTURES / "demo"])
    yield copy
    copy.kill()


class Hostile:
    """Connections that do harm; the last of them stay open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: deque[socket.socket] = deque()

    def attack(self, method: str, path: str) -> None:
        """All kinds of harm at one route."""
        head = f"{method} {path} HTTP/1.1\r\nHost: service\r\n"
        body = "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n"
        for _ in range(8):
            self._send(f"{head}\r\n".encode())  # its answer is not read
        for _ in range(20):
            self._send(f"{head}\r\n".encode())
            self._open.pop().close()  # nobody waits for it
        for _ in range(40):
            self._send(f"{head}X-More: ".encode())
        for _ in range(4):
            self._send((head + body.format(50_000_000)).encode() + b'{"phases":' + b" " * 2_000_000)
        for opening in (b"[", b'{"a":'):
            deep = opening * 50_000
            self._send((head + body.format(len(deep))).encode() + deep)
        members = b",".join(b'"%d":1' % number for number in (*range(20_000), 19_999))
        self._send((head + body.format(len(members) + 2)).encode() + b"{" + members + b"}")

    def _send(self, data: bytes) -> None:
        """Send as much as the service takes at once, and read nothing."""
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(0.05)
        one.bind(("127.0.0.2", 0))  # not the polite client's address
        self._open.append(one)
        with suppress(OSError):
            one.connect(("127.0.0.1", self._port))
            one.sendall(data)
        while len(self._open) > OPEN:
            self._open.popleft().close()

    def close(self) -> None:
        while self._open:
            self._open.popleft().close()


@contextmanager
def polite(port: int) -> Iterator[list[tuple[float, float]]]:
    """When a polite client asked while the block ran, and the seconds until it had its answer; there at the end."""
    times: list[tuple[float, float]] = []
    command = [sys.executable, str(Path(__file__).parents[1] / "polite_client.py"), str(port), *POLITE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield times
        said, _ = process.communicate("")
    assert process.returncode == 0, "every polite request is answered"
    times += [(float(began), float(taken)) for began, taken in map(str.split, said.splitlines())]


def p99(times: list[float]) -> float:
    return sorted(times)[int(0.99 * (len(times) - 1))]


def addresses(app: FastAPI) -> list[tuple[str, str]]:
    """Method and address of every route of the service, pages too."""
    return [
        (method, route.path_format.format(**PARAMETERS) + QUERIES.get(route.path_format, ""))
        for route in routes_of(app)
        for method in sorted(route.methods)
    ]


def test_a_polite_client_is_answered_beside_hostile_ones_at_every_route(service: Copy):
    targets = addresses(create_app(Settings(mixtures_dirs=())))
    assert len(targets) > 40
    with polite(service.port) as quiet:
        time.sleep(QUIET_SECONDS)
    allowed = max(LEAST_SECONDS, TIMES * p99([taken for _, taken in quiet]))
    begun: list[tuple[float, str]] = []
    hostile = Hostile(service.port)
    with polite(service.port) as beside:
        for method, address in targets:
            begun.append((time.monotonic(), f"{method} {address}"))
            hostile.attack(method, address)
            time.sleep(max(0.0, begun[-1][0] + ROUTE_SECONDS - time.monotonic()))
    memory = resources(service.process.pid).memory
    hostile.close()
    worst = sorted(((taken, began) for began, taken in beside), reverse=True)[:10]
    slowest = [f"{taken:.3f} s at {[name for at, name in begun if at <= began][-1:]}" for taken, began in worst]
    print(f"allowed {allowed:.3f} s, taken {p99([taken for _, taken in beside]):.3f} s, {memory >> 20} MB")
    assert p99([taken for _, taken in beside]) <= allowed, slowest
    assert memory < MOST_MEMORY
