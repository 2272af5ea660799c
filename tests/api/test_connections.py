"""Clients that open connections and say little: they are closed, and others are answered."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from service_processes import start_copy

from api.connections import Connection, most_connections
from mixture.cli.serve import listen

HALF = b"GET /version HTTP/1.1\r\nHost: service\r\nX-More: "
WHOLE = b"GET /version HTTP/1.1\r\nHost: service\r\n\r\n"


class Hurried(Connection):
    head_seconds = 0.2


@contextmanager
def port_of(app: FastAPI) -> Iterator[int]:
    """The port of the application behind such connections."""
    server = uvicorn.Server(uvicorn.Config(app, http=Hurried, log_config=None, timeout_graceful_shutdown=5))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def rest_of(one: socket.socket) -> bytes:
    """All that comes until the other side closes, if it is no reset."""
    said = b""
    try:
        while data := one.recv(1 << 16):
            said += data
    except ConnectionResetError:
        pass
    return said


@pytest.mark.parametrize("said", [b"", HALF, WHOLE + HALF], ids=["nothing", "half a head", "a request and half a head"])
def test_a_connection_that_does_not_say_what_it_asks_for_is_closed(make_app, said):
    with port_of(make_app()) as port, connected(port) as one:
        one.sendall(said)
        assert rest_of(one).count(b"HTTP/1.1 200") == said.count(WHOLE)


def test_a_request_that_takes_longer_than_a_head_may_is_answered(make_app):
    app = make_app()
    asked, over = threading.Event(), threading.Event()

    @app.get("/slow")
    def slow() -> str:
        asked.set()
        assert over.wait(30)
        return "done"

    with port_of(app) as port, connected(port) as one, connected(port) as idle:
        one.sendall(b"GET /slow HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        assert asked.wait(30)
        assert rest_of(idle) == b""  # its time is over, and so is that of the slow one's head
        over.set()
        assert rest_of(one).endswith(b'"done"')


@contextmanager
def soft_limit(files: int) -> Iterator[None]:
    """So many open files for processes that are started in the block, who may ask for more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_that_say_nothing_do_not_take_all_files_of_the_process(tmp_path: Path):
    with soft_limit(256):
        copy = start_copy(data_dir=tmp_path)
    try:
        httpx2.get(f"{copy.url}/readyz", timeout=60).raise_for_status()
        soft, hard = resource.prlimit(copy.process.pid, resource.RLIMIT_NOFILE)
        assert soft == hard, "it takes what it may"
        resource.prlimit(copy.process.pid, resource.RLIMIT_NOFILE, (128, 128))
        with ExitStack() as held:
            silent = [held.enter_context(connected(copy.port)) for _ in range(200)]
            for one in silent:
                one.sendall(HALF)
            refused = [one for one in silent[-100:] if rest_of(one).startswith(b"HTTP/1.1 503")]
            assert len(refused) == 100
            assert all(rest_of(one) == b"" for one in silent[:10])  # closed when their time is over
            assert httpx2.get(f"{copy.url}/healthz").status_code == 200
    finally:
        copy.kill()


def test_there_is_room_for_connections_and_for_the_files_of_stores():
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert soft // 4 < most_connections() < soft // 2
