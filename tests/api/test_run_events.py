"""A run's log as server-sent events: complete, in order, across copies and connections, with an end that is said."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import pytest
from api_helpers import client_of

from mixture.api.database import Scope

WAIT = httpx2.Timeout(30)


@pytest.fixture
def app(make_app):
    return make_app(streams_per_client=3)


@pytest.fixture
def served(app):
    with client_of(app) as client:
        yield client


@pytest.fixture
def repository(app):
    return app.state.services.repository


@pytest.fixture
def run(app, repository):
    digest = app.state.services.mixture("demo").digest
    return repository.create_run(mixture=f"demo@sha256:{digest}", digest=digest, name=None, by="trainer").run.id


def report(repository, run, steps):
    for step in steps:
        repository.add_progress(run, step=step, loss={"books": step / 3}, key=None, by="trainer")


@contextmanager
def events_of(client, address, **headers):
    """The events of a stream as they come: {id, event, data}; comments too, as {"comment": …}."""
    with client.stream("GET", address, headers=headers, timeout=WAIT) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")

        def found():
            event = {}
            for line in answer.iter_lines():
                if not line:
                    yield event
                    event = {}
                    continue
                name, _, value = line.partition(":")
                event[name or "comment"] = value.removeprefix(" ")

        yield (event for event in found() if "event" in event)


def take(events, count):
    return [next(events) for _ in range(count)]


def test_what_was_reported_and_what_is_being_reported_come_in_order_once(served, repository, run):
    report(repository, run, range(450))
    with events_of(served, f"/v1/runs/{run}/events") as events, ThreadPoolExecutor(1) as thread:
        seen = take(events, 450)
        writing = thread.submit(report, repository, run, range(450, 500))
        seen += take(events, 50)
        writing.result()
    assert [int(event["id"]) for event in seen] == list(range(1, 501))
    assert {event["event"] for event in seen} == {"progress"}
    log = [served.get(f"/v1/runs/{run}/progress", params={"limit": 1000}).json()["items"][i] for i in (0, 499)]
    assert [json.loads(seen[i]["data"]) for i in (0, 499)] == log


def test_who_connects_again_goes_on_behind_the_last_event(served, repository, run):
    report(repository, run, range(10))
    with events_of(served, f"/v1/runs/{run}/events") as events:
        seen = take(events, 4)
    with events_of(served, f"/v1/runs/{run}/events", **{"Last-Event-ID": seen[-1]["id"]}) as events:
        seen += take(events, 6)
        report(repository, run, [10])
        seen += take(events, 1)
    assert [int(event["id"]) for event in seen] == list(range(1, 12))
    with events_of(served, f"/v1/runs/{run}/events?after=9") as events:
        assert [event["id"] for event in take(events, 2)] == ["10", "11"]
    with events_of(served, f"/v1/runs/{run}/events?after=2", **{"Last-Event-ID": "10"}) as events:
        assert next(events)["id"] == "11", "what a browser sends goes before the address"


@pytest.mark.parametrize("header", ["x", "-1", "1.5", str(2**63), "9" * 400])
def test_an_event_id_that_is_none_is_refused(served, run, header):
    answer = served.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": header})
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (422, "invalid-request")


def test_a_report_to_one_copy_reaches_those_who_listen_to_another(served, make_app, run):
    other = make_app()  # the same folder, so the same database
    secret = other.state.services.repository.add_token("trainer", [Scope.RUN])[1]
    with client_of(other) as second, events_of(served, f"/v1/runs/{run}/events") as events:
        for step in (3, 1):
            headers = {"Authorization": f"Bearer {secret}"}
            second.post(f"/v1/runs/{run}/progress", json={"step": step}, headers=headers).raise_for_status()
            assert json.loads(next(events)["data"])["step"] == step


def test_a_copy_that_ends_says_so_to_those_who_listen(app, repository, run):
    report(repository, run, [1])
    with client_of(app) as client, events_of(client, f"/v1/runs/{run}/events") as events:
        assert next(events)["id"] == "1"
        app.state.services.stopping.set()
        last = next(events)
        assert (last["event"], json.loads(last["data"])) == ("end", {"reason": "this copy of the service is ending"})
        assert "id" not in last, "whoever connects again goes on behind the last report"
        assert list(events) == []


def test_streams_of_a_client_are_limited_and_places_come_back_when_it_leaves(served, repository, run):
    report(repository, run, [1])
    address = f"/v1/runs/{run}/events"
    with events_of(served, address) as a, events_of(served, address) as b, events_of(served, address) as c:
        for events in (a, b, c):
            next(events)
        refused = served.get(address)
        assert (refused.status_code, refused.headers["X-Error-Code"]) == (429, "too-many-streams")
        assert served.get("/healthz").status_code == 200
    # The server notices that clients left, not at once but soon: until then it refuses.
    assert any(opens(served, address) for _ in range(10_000))


def opens(client, address):
    """Whether a stream is granted; it is left at once."""
    with client.stream("GET", address) as answer:
        return answer.status_code == 200


def test_many_who_listen_to_many_runs_all_get_what_is_theirs(make_app, repository, app):
    digest = app.state.services.mixture("demo").digest
    runs = [
        repository.create_run(mixture=f"demo@sha256:{digest}", digest=digest, name=None, by="trainer").run.id
        for _ in range(20)
    ]

    def listen(client, run):
        with events_of(client, f"/v1/runs/{run}/events") as events:
            return [json.loads(event["data"])["step"] for event in take(events, 3)]

    with client_of(make_app(), limits=httpx2.Limits(max_connections=100)) as client, ThreadPoolExecutor(40) as threads:
        listening = [threads.submit(listen, client, run) for run in runs for _ in range(2)]
        for i, run in enumerate(runs):
            report(repository, run, [i, i + 1, i + 2])
        found = [one.result() for one in listening]
    assert found == [[i, i + 1, i + 2] for i in range(20) for _ in range(2)]


@pytest.mark.parametrize("asked", [{"Last-Event-ID": "8"}, {"after": "8"}])
def test_behind_a_number_that_the_log_has_not_it_begins_anew_and_says_so(served, repository, run, asked):
    report(repository, run, range(5))
    query = f"?after={asked['after']}" if "after" in asked else ""
    headers = {} if query else asked
    with events_of(served, f"/v1/runs/{run}/events{query}", **headers) as events:
        first, *seen = take(events, 6)
    assert (first["event"], first.get("id")) == ("reset", None)
    assert json.loads(first["data"]) == {"reason": "the log ends at 5"}
    assert [event["id"] for event in seen] == ["1", "2", "3", "4", "5"]
    with events_of(served, f"/v1/runs/{run}/events?after=5") as events:
        report(repository, run, [5])
        assert take(events, 1)[0]["id"] == "6"
