"""Clients that open connections and say little: they are closed, and others are answered."""

from __future__ import annotations

import resource
import select
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from service_processes import start_copy
from starlette.responses import Response, StreamingResponse

from mixture.api.middleware.connections import Connection, most_connections
from mixture.cli.service.serve import listen

HALF = b"GET /version HTTP/1.1\r\nHost: service\r\nX-More: "
WHOLE = b"GET /version HTTP/1.1\r\nHost: service\r\n\r\n"


LARGE = b"x" * (24 << 20)


class Hurried(Connection):
    head_seconds = 0.2
    answer_seconds = 0.5


class Crowded(Connection):
    answers_bytes = 2 * len(LARGE)


class Paused(Connection):
    stream_seconds = 0.5


@contextmanager
def port_of(app: FastAPI, connection: type[Connection] = Hurried) -> Iterator[int]:
    """The port of the application behind such connections."""
    server = uvicorn.Server(uvicorn.Config(app, http=connection, log_config=None, timeout_graceful_shutdown=5))
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


@pytest.mark.long
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


@pytest.fixture
def large(make_app) -> FastAPI:
    app = make_app()

    @app.get("/whole")
    async def whole() -> Response:
        return Response(LARGE)

    @app.get("/pieces")
    async def pieces() -> StreamingResponse:
        async def made() -> AsyncIterator[bytes]:
            for start in range(0, len(LARGE), 1 << 18):
                yield LARGE[start : start + (1 << 18)]

        return StreamingResponse(made())

    return app


def asked(port: int, path: str) -> socket.socket:
    """A connection that has asked for something and reads nothing of it."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    one.settimeout(30)
    one.connect(("127.0.0.1", port))
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: service\r\n\r\n".encode())
    return one


def cut(connections: list[socket.socket], *, within: float = 30) -> list[socket.socket]:
    """The first of the connections that the service cuts, which nobody has to read for."""
    poll = select.poll()
    for one in connections:
        poll.register(one, 0)
    by_file = {one.fileno(): one for one in connections}
    return [by_file[file] for file, _ in poll.poll(1000 * within)]


def is_whole(one: socket.socket) -> bool:
    """Whether all of a large answer comes."""
    got = 0
    with suppress(ConnectionResetError):
        while got < len(LARGE) and (data := one.recv(1 << 20)):
            got += len(data)
    return got >= len(LARGE)


def test_an_answer_that_nobody_reads_is_cut_and_a_stream_may_pause(large):
    with port_of(large) as port, asked(port, "/whole") as unread, asked(port, "/pieces") as paused:
        assert cut([unread, paused]) == [unread]
        assert is_whole(paused)


def test_a_stream_that_pauses_for_too_long_is_cut(large):
    with port_of(large, Paused) as port, asked(port, "/pieces") as paused:
        assert cut([paused]) == [paused]


def test_answers_that_nobody_reads_are_cut_where_there_are_too_many(large):
    with port_of(large, Crowded) as port, ExitStack() as stack:
        unread = [stack.enter_context(asked(port, "/whole")) for _ in range(4)]
        first = cut(unread)
        assert 0 < len(first) < 4
        with asked(port, "/whole") as reading:
            assert is_whole(reading)
        assert any(is_whole(one) for one in unread if one not in first)


def test_one_address_does_not_take_all_connections(make_app, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mixture.api.middleware.connections.most_connections", lambda: 16)
    with ExitStack() as opened, port_of(make_app(), Connection) as port:
        for _ in range(16):
            one = opened.enter_context(socket.socket())
            one.bind(("127.0.0.2", 0))
            one.settimeout(30)
            one.connect(("127.0.0.1", port))
            one.sendall(HALF)
        assert one.recv(1 << 16).startswith(b"HTTP/1.1 503 "), "more than three quarters are of one address"
        with opened.enter_context(connected(port)) as other:
            other.sendall(WHOLE)
            assert other.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
