"""The example of deploy/: two copies on PostgreSQL and one data folder, behind nginx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import postgres_server
import pytest
from mixture_folder import write_mixture
from stream_helpers import DOMAINS, bytes_of, make_store

from mixture.api.database import Repository, Scope
from mixture.client import open_remote_stream
from mixture.data.store import Store
from mixture.lock import Lock
from mixture.stream import open_stream

pytestmark = [pytest.mark.needs_nginx, pytest.mark.needs_postgres]

STEPS = 80
SPEC = f"""\
mixture: small
catalog: cells.csv
tokenizer: bytes
sequence_length: 1024
batch: 256 sequences
budget: {STEPS} steps
phases: [{{phase: only, weights: {{code: 30%, notes: 10%, web: 60%}}}}]
"""
"""A step has half a megabyte, all of them more than lies in sockets: what is not sent yet is lost with its copy."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("deploy") / "made", DOMAINS)


@pytest.fixture
def database_url() -> Iterator[str]:
    with postgres_server.running() as socket:
        yield postgres_server.new_database(socket)


@pytest.fixture
def start(start_copy, database_url, store):
    """start(port=0): a copy of the service on the database, with the store."""
    return lambda **settings: start_copy(database_url=database_url, store_dirs=[store.path], **settings)


@dataclass(frozen=True)
class Small:
    """A mixture over the store, and what publishes it."""

    lock: Lock
    body: dict[str, object]
    headers: dict[str, str]


@pytest.fixture
def small(tmp_path: Path, store: Store, database_url: str) -> Small:
    cells = "domain,tokens\n" + "".join(f"{name},{one.tokens}\n" for name, one in store.domains.items())
    lock = write_mixture(tmp_path / "small", SPEC, cells=cells)
    repository = Repository.open(tmp_path / "data", database_url)
    _, secret = repository.add_token("everyone", [Scope.PUBLISH, Scope.RUN])
    repository.close()
    return Small(lock, {"spec": SPEC, "tables": {"cells.csv": cells}}, {"Authorization": f"Bearer {secret}"})


def test_what_is_published_through_nginx_is_there_in_both_copies_and_stays_when_one_is_gone(start, run_nginx, small):
    first, second = start(), start()
    with httpx2.Client(base_url=run_nginx([first, second]), headers=small.headers, timeout=60) as client:
        made = client.put("/v1/mixtures/small", json=small.body)
        assert (made.status_code, made.json()["digest"]) == (201, small.lock.digest)
        run = client.post("/v1/runs", json={"mixture": "small"}).raise_for_status().json()["id"]
        for copy in (first, second):
            assert httpx2.get(f"{copy.url}/v1/mixtures/small", timeout=60).json()["digest"] == small.lock.digest
            assert httpx2.get(f"{copy.url}/v1/runs/{run}", timeout=60).status_code == 200
        seen = client.get("/v1/mixtures/small")
        assert seen.headers["ETag"].startswith(f'"sha256:{small.lock.digest}.'), "strong, as the service gave it"
        assert client.get("/v1/mixtures/small", headers={"If-None-Match": seen.headers["ETag"]}).status_code == 304

        first.kill()
        for _ in range(6):
            assert client.get("/v1/mixtures/small").raise_for_status().json() == seen.json()
        again = client.put("/v1/mixtures/small", json=small.body)
        assert (again.status_code, again.json()["change"]) == (200, "unchanged")
        assert client.post(f"/v1/runs/{run}/progress", json={"step": 7}).status_code == 201
        assert [one["step"] for one in client.get(f"/v1/runs/{run}/progress").json()["items"]] == [7]
        assert client.get("/metrics").status_code == 404


def test_a_stream_through_nginx_is_the_local_one_though_both_copies_are_killed_and_replaced(
    start, run_nginx, small, store
):
    first, second = start(), start()
    url = run_nginx([first, second])
    httpx2.put(f"{url}/v1/mixtures/small", json=small.body, headers=small.headers, timeout=60).raise_for_status()
    with open_remote_stream(f"{url}/v1/mixtures/small", patience_seconds=60) as remote:
        received = [next(remote) for _ in range(3)]
        for killed in (first, second):
            killed.kill()
            start(port=killed.port)
            received += [next(remote) for _ in range(3)]
        received += list(remote)
    assert [batch.step for batch in received] == list(range(STEPS))
    assert bytes_of(received) == bytes_of(open_stream(small.lock, store))


def test_events_come_through_nginx_as_they_happen(start, run_nginx, small):
    url = run_nginx([start(), start()])
    with httpx2.Client(base_url=url, headers=small.headers, timeout=60) as client:
        client.put("/v1/mixtures/small", json=small.body).raise_for_status()
        run = client.post("/v1/runs", json={"mixture": "small"}).raise_for_status().json()["id"]
        with client.stream("GET", f"/v1/runs/{run}/events") as events:
            lines = events.iter_lines()
            assert next(lines).startswith(":"), "the stream has begun"
            for step in (1, 2):
                client.post(f"/v1/runs/{run}/progress", json={"step": step}).raise_for_status()
                told = next(line for line in lines if line.startswith("data:"))
                assert json.loads(told.removeprefix("data:"))["step"] == step


def test_clients_are_told_apart_by_their_addresses_and_not_by_what_they_say(start, run_nginx):
    rate = {"rate_per_second": 0.001, "rate_burst": 1}
    url = run_nginx([start(**rate), start(**rate)])

    def statuses(address: str, **headers: str) -> list[int]:
        with httpx2.Client(transport=httpx2.HTTPTransport(local_address=address), timeout=60) as client:
            return [client.get(f"{url}/v1/mixtures", headers=headers).status_code for _ in range(6)]

    # One request in each copy.
    assert sorted(statuses("127.0.0.1")) == [200, 200, 429, 429, 429, 429]
    assert statuses("127.0.0.1", **{"X-Forwarded-For": "203.0.113.9"}) == [429] * 6
    assert sorted(statuses("127.0.0.2")) == [200, 200, 429, 429, 429, 429]
