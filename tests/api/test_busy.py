"""Requests that write, while they have to wait: they are told so in time, and reading goes on beside them."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from api_helpers import client_of

from mixture.api.database import Repository, RepositoryError, Scope
from mixture.api.middleware.limits import WritePlaces
from mixture.api.middleware.problems import Problem, problem_of

WRITERS = 60
"""More than the threads that requests have."""


def test_reading_goes_on_while_another_process_keeps_the_database_from_being_written_to(make_app, tmp_path):
    app = make_app()
    repository = app.state.services.repository
    secret = repository.add_token("trainer", [Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    with client_of(app, headers=headers) as client, ThreadPoolExecutor(WRITERS) as pool:
        run = client.post("/v1/runs", json={"mixture": "demo"}).json()["id"]

        def report(step: int) -> int:
            return client.post(f"/v1/runs/{run}/progress", json={"step": step}, timeout=60).status_code

        with closing(sqlite3.connect(tmp_path / "data" / "mixture.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writing = [pool.submit(report, step) for step in range(WRITERS)]
            for _ in range(30):
                for address in ("/version", f"/v1/runs/{run}", "/v1/mixtures/demo"):
                    assert client.get(address, timeout=10).status_code == 200
            assert not any(one.done() for one in writing)
            other.execute("ROLLBACK")
        assert [one.result() for one in writing] == [201] * WRITERS
    assert len(repository.progress(run, limit=100)) == WRITERS


def test_a_writer_that_waits_too_long_for_the_others_of_its_process_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setattr("mixture.api.database.database.TURN_SECONDS", 0.05)
    with closing(Repository.open(tmp_path)) as repository, ThreadPoolExecutor(1) as pool:
        with repository.database.writing():
            waiting = pool.submit(repository.add_token, "ann", [Scope.RUN])
            refused = waiting.exception()
        assert isinstance(refused, RepositoryError)
        problem = problem_of(refused)
        assert (problem.status_code, problem.code) == (503, "busy")
        assert problem.headers is not None
        assert int(problem.headers["Retry-After"]) > 0
        assert repository.add_token("ann", [Scope.RUN])[0].name == "ann"


def test_places_of_writers_are_waited_for_so_long_and_by_so_many():
    async def refusals(places: WritePlaces) -> list[Problem]:
        refused = []

        async def ask() -> None:
            try:
                async with places.place("a"):
                    raise AssertionError("there is no place")
            except Problem as problem:
                refused.append(problem)

        async with places.place("a"):
            await asyncio.gather(*(ask() for _ in range(3)))
        async with places.place("a"):
            pass
        return refused

    for places in (WritePlaces(1, most_waiting=0, seconds=60), WritePlaces(1, most_waiting=3, seconds=0.01)):
        found = asyncio.run(refusals(places))
        assert [(one.status_code, one.code) for one in found] == [(503, "busy")] * 3
        assert all(one.headers and int(one.headers["Retry-After"]) > 0 for one in found)


def test_a_client_that_asks_for_much_waits_for_itself_and_another_has_the_next_place():
    async def order() -> list[str]:
        places, done = WritePlaces(1, most_waiting=9, seconds=60), []

        async def ask(client: str) -> None:
            async with places.place(client):
                await asyncio.sleep(0)
                done.append(client)

        await asyncio.gather(*(ask("many") for _ in range(6)), ask("single"))
        assert places._clients == {}
        return done

    assert asyncio.run(order()) == ["many", "single", *["many"] * 5]
