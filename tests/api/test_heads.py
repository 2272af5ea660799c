"""HEAD on every address is GET without the body."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import httpx2
import pytest
from api_helpers import client_of
from fastapi import FastAPI
from mixture_folder import write_mixture
from stream_helpers import DOMAINS, make_store

from mixture.api.database import Scope
from mixture.api.openapi import COMMITTED

PATHS = json.loads(COMMITTED.read_text(encoding="utf-8"))["paths"]
STREAMS = ("/v1/mixtures/{ref}/batches", "/v1/runs/{run_id}/events")
QUERIES = {"/v1/mixtures/{ref}/counts": "?step=5", "/v1/mixtures/{ref}/history": "?step=5"}
OF_THE_TIME = {"date", "x-request-id"}
SPEC = """\
mixture: small
catalog: {store}
sequence_length: 64
batch: 24 sequences
budget: 30 steps
phases:
  - phase: only
    weights: {{code: 50%, web: 50%}}
"""


@pytest.fixture
def app(make_app, tmp_path: Path) -> FastAPI:
    """A service with a mixture that can be streamed, with two streams for a client."""
    store = make_store(tmp_path / "made", DOMAINS)
    write_mixture(tmp_path / "small", SPEC.format(store=store.path))
    made: FastAPI = make_app(mixtures_dirs=(tmp_path / "small",), store_dirs=(store.path,), streams_per_client=2)
    return made


def run_of(app: FastAPI, client: httpx2.Client) -> str:
    secret = app.state.services.repository.add_token("trainer", [Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    run_id: str = client.post("/v1/runs", json={"mixture": "small"}, headers=headers).raise_for_status().json()["id"]
    return run_id


def headers_of(answer: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in OF_THE_TIME}


def test_every_address_that_is_read_has_it_with_the_headers_of_get(app: FastAPI):
    with client_of(app) as client:
        parts = {"ref": "small", "run_id": run_of(app, client), "step": "5", "domain": "web"}
        parts |= {"other": "small", "format": "nanotron"}
        read = [path for path in PATHS if "get" in PATHS[path] and path not in STREAMS]
        assert len(read) > 20
        for path in (*read, "/docs", "/openapi.json", "/v1/mixtures/{ref}/composition.csv", "/nothing"):
            address = path.format(**parts) + QUERIES.get(path, "")
            got, head = client.get(address), client.head(address)
            assert head.content == b"", address
            assert head.status_code == got.status_code, address
            if path != "/metrics":  # its length is that of its figures, which the requests themselves change
                assert headers_of(head) == headers_of(got), address


def test_it_has_the_answer_to_a_client_that_has_this_already(app: FastAPI):
    with client_of(app) as client:
        tag = client.head("/v1/mixtures/small").headers["etag"]
        assert client.head("/v1/mixtures/small", headers={"If-None-Match": tag}).status_code == 304


def test_it_starts_no_stream_and_keeps_no_place(app: FastAPI):
    with client_of(app) as client:
        parts = {"ref": "small", "run_id": run_of(app, client)}
        found = {}
        for path in STREAMS:
            address = path.format(**parts)
            for _ in range(3):
                found[address] = client.head(address)
                assert (found[address].status_code, found[address].content) == (200, b"")
            places = app.state.services.streams
            with places.place("127.0.0.1"), places.place("127.0.0.1"):
                assert client.head(address).status_code == 429
        assert "mixture_stream_batch_seconds_count 0.0" in client.get("/metrics").text
        for address, answer in found.items():
            with client.stream("GET", address) as streaming:
                assert headers_of(streaming) == headers_of(answer)
        assert client.head("/v1/mixtures/small/batches?first_step=99").status_code == 422


def test_a_connection_goes_on_behind_it(app: FastAPI):
    with client_of(app) as client, socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.settimeout(30)
        for method, path in (("HEAD", "/v1/mixtures/small/batches"), ("HEAD", "/version"), ("HEAD", "/nothing")):
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: service\r\n\r\n".encode())
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            assert received.startswith(b"HTTP/1.1 404" if path == "/nothing" else b"HTTP/1.1 200")
            assert received.endswith(b"\r\n\r\n")
