"""Who may read and who may write."""

from __future__ import annotations

import json
import logging
import socket
from urllib.parse import urlsplit

import httpx2
import pytest
from api_helpers import ask, serving
from fastapi import FastAPI

from mixture.api.database import Scope
from mixture.api.dependencies.security import Publisher, Runner
from mixture.api.openapi import COMMITTED


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def with_writes(app: FastAPI) -> FastAPI:
    """Routes that take the scopes of writing."""

    @app.put("/publish")
    def publish(caller: Publisher) -> str:
        return caller.name

    @app.post("/report")
    def report(caller: Runner) -> str:
        return caller.name

    return app


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.headers["x-error-code"]


def test_reading_is_open_unless_it_is_set_otherwise(make_app):
    assert ask(make_app(), "GET", "/v1/mixtures").status_code == 200
    closed = make_app(public_reads=False)
    for address in ("/v1/mixtures", "/v1/mixtures/demo", "/v1/catalogs/demo/domains.csv", "/metrics"):
        answer = ask(closed, "GET", address)
        assert code(answer) == (401, "token-missing")
        assert answer.headers["www-authenticate"] == "Bearer"
    for address in ("/healthz", "/readyz", "/version"):
        assert ask(closed, "GET", address).status_code == 200


def test_a_token_reads_where_reading_is_closed_and_no_shared_cache_keeps_the_answer(make_app):
    app = make_app(public_reads=False)
    repository = app.state.services.repository
    _, reads = repository.add_token("reader", {Scope.READ})
    _, publishes = repository.add_token("writer", {Scope.PUBLISH})
    answer = ask(app, "GET", "/v1/mixtures/demo", headers=bearer(reads))
    assert answer.status_code == 200
    assert answer.headers["cache-control"].startswith("private, ")
    assert answer.headers["vary"] == "Accept, Authorization"
    assert ask(app, "GET", "/v1/mixtures/demo", headers=bearer(publishes)).status_code == 200, "who writes may read"


def test_writing_takes_a_token_with_the_scope(make_app):
    app = with_writes(make_app())
    repository = app.state.services.repository
    _, publishes = repository.add_token("release", {Scope.PUBLISH})
    record, runs = repository.add_token("trainer", {Scope.RUN})
    assert ask(app, "PUT", "/publish", headers=bearer(publishes)).json() == "release"
    assert ask(app, "POST", "/report", headers=bearer(runs)).json() == "trainer"
    assert code(ask(app, "PUT", "/publish")) == (401, "token-missing")
    assert code(ask(app, "PUT", "/publish", headers=bearer(runs))) == (403, "scope-missing")
    assert code(ask(app, "POST", "/report", headers=bearer(publishes))) == (403, "scope-missing")
    repository.revoke_token(record.id)
    assert code(ask(app, "POST", "/report", headers=bearer(runs))) == (401, "token-invalid")


@pytest.mark.parametrize("secret", ["", "x", "mixture_" + "a" * 43, "a" * 8_000, "\xff"])
def test_a_token_that_is_not_known_is_refused_where_reading_is_open_too(make_app, secret: str):
    answer = ask(make_app(), "GET", "/v1/mixtures", headers={"authorization": f"Bearer {secret}".encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


def test_another_kind_of_authorization_is_none_of_ours_where_all_may_read(make_app):
    sent = {"headers": {"authorization": "Basic YTpi"}}
    assert ask(make_app(), "GET", "/v1/mixtures", **sent).status_code == 200
    assert code(ask(make_app(public_reads=False), "GET", "/v1/mixtures", **sent)) == (401, "authorization-invalid")
    for app in (make_app(), make_app(public_reads=False)):
        answer = ask(app, "POST", "/v1/runs", json={"mixture": "demo"}, **sent)
        assert code(answer) == (401, "authorization-invalid")


def test_writes_are_logged_with_who_and_what_and_no_secret(make_app, caplog: pytest.LogCaptureFixture):
    app = with_writes(make_app())
    _, secret = app.state.services.repository.add_token("release", {Scope.PUBLISH})
    with caplog.at_level(logging.INFO, "mixture.writes"):
        ask(app, "PUT", "/publish", headers=bearer(secret))
        ask(app, "PUT", "/publish", headers=bearer("wrong"))
        ask(app, "GET", "/v1/mixtures", headers=bearer(secret))
    said = [record.write for record in caplog.records if record.name == "mixture.writes"]
    assert [(one["method"], one["path"], one["status"], one["caller"]) for one in said] == [
        ("PUT", "/publish", 200, "release"),
        ("PUT", "/publish", 401, None),
    ]
    assert secret not in caplog.text


WRITES = [
    (method.upper(), path.format(name="a", run_id="r"))
    for path, methods in json.loads(COMMITTED.read_text(encoding="utf-8"))["paths"].items()
    for method, operation in methods.items()
    if "requestBody" in operation and {} not in operation["security"]  # what anybody may ask is no write
]


def test_who_may_not_write_is_told_so_before_the_body_is_read(make_app):
    app = make_app()
    _, reads = app.state.services.repository.add_token("reader", {Scope.READ})
    refusals = {
        "": b"401",
        "Authorization: Bearer wrong\r\n": b"401",
        f"Authorization: Bearer {reads}\r\n": b"403",
    }
    assert len(WRITES) >= 3
    with serving(app) as url:
        for method, path in WRITES:
            for authorization, status in refusals.items():
                with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30) as connection:
                    # Of the body that is announced nothing comes: who waits for it does not answer.
                    head = f"{method} {path} HTTP/1.1\r\nHost: service\r\n{authorization}"
                    head += "Content-Type: application/json\r\nContent-Length: 60000000\r\n\r\n"
                    connection.sendall(head.encode())
                    assert connection.recv(12).split()[1] == status, (method, path)
