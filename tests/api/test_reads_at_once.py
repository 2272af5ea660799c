"""Turns: who asks for much at once waits for itself, and others are answered."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import anyio
import pytest
from api_helpers import serving
from starlette.types import Receive, Scope, Send

from mixture.api.middleware.limits import client_of
from mixture.api.middleware.reads_at_once import TURNS_EACH, Turns

HEADERS = [(b"content-length", b"2")]


class Slow:
    """An application that works on each request until it is let go. `streams`: its answer begins before."""

    def __init__(self, *, streams: bool = False) -> None:
        self.begun: list[str] = []
        self.go = threading.Event()
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.begun.append(client_of(scope))
        start = {"type": "http.response.start", "status": 200, "headers": HEADERS}
        if self._streams:
            await send(start)
        while not self.go.is_set() and scope["path"] == "/slow":
            await anyio.sleep(0.01)
        if not self._streams:
            await send(start)
        await send({"type": "http.response.body", "body": b"ok"})


Sender = Callable[..., http.client.HTTPConnection]


@pytest.fixture
def request_of() -> Iterator[Sender]:
    """Sends a request to an address, by a client at another one; its connection."""
    with ExitStack() as opened:

        def send(url: str, client: str, path: str = "/slow") -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
            opened.callback(connection.close)
            connection.request("GET", path, headers={"X-Forwarded-For": client, "Connection": "close"})
            return connection

        yield send


def answered(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    with connection.getresponse() as answer:
        return answer.status, answer.read()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def waiting(app: Turns, client: str) -> int:
    turns = app.clients.get(client)
    return 0 if turns is None else turns.statistics().tasks_waiting


def test_of_one_client_a_few_requests_are_worked_on_and_another_is_answered_beside_them(request_of: Sender):
    slow = Slow()
    app = Turns(slow)
    with serving(app) as url:
        many = [request_of(url, "10.0.0.1") for _ in range(TURNS_EACH + 5)]
        until(lambda: waiting(app, "10.0.0.1") == 5)
        assert answered(request_of(url, "10.0.0.2", "/")) == (200, b"ok")
        assert slow.begun.count("10.0.0.1") == TURNS_EACH
        slow.go.set()
        assert list(map(answered, many)) == [(200, b"ok")] * len(many)
        until(lambda: not app.clients)


def test_a_client_that_left_while_it_waited_is_not_worked_for(request_of: Sender):
    slow = Slow()
    app = Turns(slow)
    with serving(app) as url:
        first = [request_of(url, "10.0.0.1") for _ in range(TURNS_EACH)]
        until(lambda: len(slow.begun) == TURNS_EACH)
        left = [request_of(url, "10.0.0.1") for _ in range(20)]
        until(lambda: waiting(app, "10.0.0.1") == 20)
        last = request_of(url, "10.0.0.1")
        until(lambda: waiting(app, "10.0.0.1") == 21)
        for one in left:
            one.close()
        time.sleep(0.2)  # until the server has seen that they left
        slow.go.set()
        assert list(map(answered, [*first, last])) == [(200, b"ok")] * (TURNS_EACH + 1)
    assert len(slow.begun) == TURNS_EACH + 1


def test_a_stream_holds_no_turn(request_of: Sender):
    slow = Slow(streams=True)
    app = Turns(slow)
    with serving(app) as url:
        streams = [request_of(url, "10.0.0.1") for _ in range(TURNS_EACH + 3)]
        until(lambda: len(slow.begun) == len(streams))
        slow.go.set()
        assert list(map(answered, streams)) == [(200, b"ok")] * len(streams)


def test_more_than_may_wait_are_refused_and_health_is_not_counted(
    make_app, request_of: Sender, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mixture.api.middleware.reads_at_once.MOST_WAITING", 3)
    slow = Slow()
    app, service = Turns(slow), make_app()

    async def of_a_service(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "app": service}, receive, send)

    with serving(of_a_service) as url:
        many = [request_of(url, "10.0.0.1") for _ in range(TURNS_EACH + 3)]
        until(lambda: waiting(app, "10.0.0.1") == 3)
        with request_of(url, "10.0.0.1").getresponse() as answer:
            refused = (answer.status, answer.headers["x-error-code"], answer.headers["retry-after"])
        assert refused == (503, "busy", "5")
        assert answered(request_of(url, "10.0.0.1", "/healthz")) == (200, b"ok")
        slow.go.set()
        assert list(map(answered, many)) == [(200, b"ok")] * len(many)
