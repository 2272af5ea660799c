"""What one client may take: requests, streams; and what every answer carries."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack

import httpx2
import pytest
from api_helpers import ask, client_of, serving
from starlette.responses import StreamingResponse

from mixture.api.middleware.limits import Limits, RateLimit
from mixture.api.middleware.problems import Problem


def test_a_client_that_asks_too_often_is_told_when_to_come_back(make_app):
    app = make_app(rate_per_second=0.001, rate_burst=3)
    with client_of(app) as client:
        assert [client.get("/version").status_code for _ in range(4)] == [200, 200, 200, 429]
        answer = client.get("/v1/mixtures")
        assert answer.headers["x-error-code"] == "too-many-requests"
        assert int(answer.headers["retry-after"]) > 500
        assert client.get("/healthz").status_code == 200


def test_clients_have_a_rate_each_by_the_address_that_a_trusted_proxy_gives(make_app):
    app = make_app(rate_per_second=0.001, rate_burst=1)
    with client_of(app) as client:
        statuses = [client.get("/version", headers={"x-forwarded-for": f"10.0.0.{i}"}).status_code for i in (1, 2, 1)]
    assert statuses == [200, 200, 429]


def test_a_bucket_fills_again_up_to_its_burst():
    rate = RateLimit(per_second=2, burst=2)
    assert [rate.take("a", now=0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.take("a", now=0.25) == 0.25
    assert rate.take("a", now=0.5) == 0.0
    assert [rate.take("a", now=1000.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.take("b", now=0.0) == 0.0
    assert RateLimit(per_second=0, burst=1).take("a") == 0.0


def test_streams_have_places_for_each_client_and_in_all(make_app):
    places = make_app(streams_per_client=2, max_streams=3).state.services.streams
    with places.place("a"), places.place("a"), places.place("b"):
        with pytest.raises(Problem, match="2 streams open") as each, places.place("a"):
            pass
        with pytest.raises(Problem, match="3 streams are open") as all_of_them, places.place("c"):
            pass
        assert (each.value.status_code, each.value.code) == (429, "too-many-streams")
        assert (all_of_them.value.status_code, all_of_them.value.code) == (503, "busy")
    with places.place("c"), places.place("a"):
        pass


def test_other_origins_read_only_where_it_is_set(make_app):
    origin = {"origin": "https://elsewhere.example"}
    assert "access-control-allow-origin" not in ask(make_app(), "GET", "/version", headers=origin).headers
    app = make_app(cors_origins=("https://elsewhere.example",))
    assert ask(app, "GET", "/version", headers=origin).headers["access-control-allow-origin"] == origin["origin"]
    asked = origin | {"access-control-request-method": "PUT"}
    assert ask(app, "OPTIONS", "/v1/mixtures/demo", headers=asked).status_code == 400


@pytest.mark.parametrize("address", ["/v1/mixtures", "/nothing", "/docs", "/v1/catalogs/demo/domains.csv"])
def test_every_answer_has_the_headers_that_keep_browsers_safe(make_app, address: str):
    headers = ask(make_app(), "GET", address).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-security-policy"].startswith("default-src 'none'")


def test_no_answer_repeats_the_host_that_a_request_names(client):
    """A cache that keeps a page for all would show them the address that one client has made up."""
    for path in (
        "/",
        "/mixtures/demo",
        "/mixtures/demo/steps/3",
        "/catalogs/demo",
        "/v1/mixtures?limit=1",
        "/docs",
        "/x",
    ):
        answers = [client.get(path, headers={"Host": host}) for host in ("evil.example", "service")]
        for answer in answers:
            assert "evil.example" not in answer.text + str(answer.headers), path
        assert answers[0].headers.get("etag") == answers[1].headers.get("etag"), path


def sending(url: str, body: bytes, *, declared: int, line: str = "POST /v1/mixtures/demo/what-if") -> socket.socket:
    """A connection that has sent a part of a body, as large as it says."""
    host, _, port = url.removeprefix("http://").partition(":")
    one = socket.create_connection((host, int(port)), timeout=30)
    head = f"{line} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    one.sendall(f"{head}Content-Length: {declared}\r\n\r\n".encode() + body)
    return one


def test_a_body_that_does_not_come_is_refused(make_app, monkeypatch):
    monkeypatch.setattr(Limits, "body_seconds", 0.3)
    with serving(make_app()) as url, sending(url, b'{"phases":', declared=100) as one:
        head, _, body = b"".join(iter(lambda: one.recv(1 << 16), b"")).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["code"] == "body-timeout"


def test_a_body_that_nobody_reads_is_not_waited_for(make_app, monkeypatch):
    monkeypatch.setattr(Limits, "body_seconds", 0.2)
    app = make_app()

    @app.get("/slow")
    async def slow() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"begun,"
            await asyncio.sleep(0.6)
            yield b"done"

        return StreamingResponse(pieces())

    with serving(app) as url, sending(url, b"{", declared=100, line="GET /slow") as one:
        answer = b""
        while b"done" not in answer and (data := one.recv(1 << 16)):
            answer += data
        assert b"done" in answer


def test_bodies_that_are_sent_at_once_have_so_many_bytes(make_app, monkeypatch):
    monkeypatch.setattr(Limits, "bodies_bytes", 1 << 20)
    with serving(make_app()) as url, ExitStack() as stack:
        part = b" " * (400 << 10)
        first = stack.enter_context(sending(url, part, declared=500 << 10))
        second = stack.enter_context(sending(url, part, declared=500 << 10))
        ready, _, _ = select.select([first, second], [], [], 30)
        (refused,) = ready
        assert refused.recv(1 << 16).startswith(b"HTTP/1.1 503 ")
        with httpx2.Client(base_url=url, timeout=30) as client:
            assert client.post("/v1/mixtures/none/what-if", json={}).status_code == 404, "small ones are not counted"
        other = first if refused is second else second
        other.sendall(b" " * (100 << 10))
        assert other.recv(1 << 16).startswith(b"HTTP/1.1 422 ")
        with sending(url, b" " * (400 << 10) + b"x", declared=(400 << 10) + 1) as later:
            assert later.recv(1 << 16).startswith(b"HTTP/1.1 422 "), "what was held is given back"


def test_long_headers_and_queries_of_very_many_parameters_are_refused_before_they_are_read(make_app):
    app = make_app()
    for header in ("Accept", "Range", "X-Anything"):
        answer = ask(app, "GET", "/v1/mixtures", headers={header: "," * 8193})
        assert (answer.status_code, answer.headers["x-error-code"]) == (431, "header-too-long")
        assert header.lower() in answer.json()["detail"]
        assert ask(app, "GET", "/v1/mixtures", headers={header: "," * 8192}).status_code != 431
    answer = ask(app, "GET", "/v1/mixtures/demo/positions?" + "&".join(["position=1"] * 1101))
    assert (answer.status_code, answer.headers["x-error-code"]) == (414, "query-too-long")
    assert ask(app, "GET", "/v1/mixtures/demo/positions?" + "&".join(["position=1"] * 1000)).status_code == 200


def test_a_client_that_left_before_its_body_was_there_is_no_error_of_the_service(make_app, caplog):
    async def leaves() -> None:
        scope = {
            "type": "http", "method": "POST", "path": "/v1/mixtures/demo/what-if", "query_string": b"", "root_path": "",
            "headers": [(b"content-type", b"application/json"), (b"content-length", b"10")], "client": ("a", 1),
        }  # fmt: skip
        messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

        async def receive() -> dict[str, object]:
            return next(messages)

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await app(scope, receive, send)

    app, sent = make_app(), []
    with caplog.at_level("INFO"):
        asyncio.run(leaves())
    assert sent == []
    (line,) = [json.loads(record.message) for record in caplog.records if record.name == "mixture.writes"]
    assert line["status"] == 499
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    assert 'status="499"' in app.state.services.metrics.text().decode()
