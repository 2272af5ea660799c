"""Events of a run from a process: it is killed and ends, and who listens misses nothing; a quiet stream stays open."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES
from service_process import free_port
from service_processes import Copy, start_copy

from mixture.api.database import Repository, Scope

pytestmark = pytest.mark.long

WAIT = 60


class Reported:
    """A run at a service that lives several lives at one address."""

    def __init__(self, folder: Path) -> None:
        repository = Repository.open(folder, None)
        _, secret = repository.add_token("trainer", [Scope.RUN])
        repository.close()
        self._folder = folder
        self._port = free_port()
        self._headers = {"Authorization": f"Bearer {secret}"}
        self.copy = self.start()
        made = httpx2.post(f"{self.copy.url}/v1/runs", json={"mixture": "demo"}, headers=self._headers, timeout=WAIT)
        self.url = f"{self.copy.url}/v1/runs/{made.raise_for_status().json()['id']}"

    def start(self) -> Copy:
        self.copy = start_copy(port=self._port, data_dir=self._folder, mixtures_dirs=[MIXTURES])
        return self.copy

    def report(self, *steps: int) -> None:
        for step in steps:
            sent = httpx2.post(f"{self.url}/progress", json={"step": step}, headers=self._headers, timeout=WAIT)
            sent.raise_for_status()

    @contextmanager
    def lines(self, **headers: str) -> Iterator[Iterator[str]]:
        """The lines of its events, as they come."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        with httpx2.stream("GET", f"{self.url}/events", headers=sent, timeout=WAIT) as answer:
            answer.raise_for_status()
            yield answer.iter_lines()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Reported]:
    one = Reported(tmp_path)
    try:
        yield one
    finally:
        one.copy.kill()


def take(lines: Iterator[str], count: int) -> list[tuple[str, int]]:
    """(id, step) of the next reports."""
    found: list[tuple[str, int]] = []
    event: dict[str, str] = {}
    while len(found) < count:
        line = next(lines)
        name, _, value = line.partition(": ")
        event[name] = value
        if not line:
            if "data" in event:
                found.append((event["id"], json.loads(event["data"])["step"]))
            event = {}
    return found


def test_who_goes_on_behind_the_last_event_misses_nothing_of_a_service_killed_and_ended(run: Reported):
    run.report(*range(10))
    with run.lines() as lines:
        seen = take(lines, 4)
        run.copy.kill()
        with pytest.raises(httpx2.TransportError):
            list(lines)  # cut, whatever else had come by then
    run.start()
    with run.lines(Last_Event_ID=seen[-1][0]) as lines:
        seen += take(lines, 6)
        run.report(10, 11)
        seen += take(lines, 2)
        run.copy.end(signal.SIGTERM)
        rest = list(lines)
    assert [line for line in rest if line.startswith("event")] == ["event: end"]
    run.start()
    run.report(12)
    with run.lines(Last_Event_ID=seen[-1][0]) as lines:
        seen += take(lines, 1)
    assert seen == [(str(step + 1), step) for step in range(13)]


def test_a_stream_with_nothing_to_say_says_that_it_is_there_and_then_what_comes(run: Reported):
    with run.lines() as lines:
        opening = [next(lines) for _ in range(3)]
        assert [line.partition(":")[0] for line in opening if line] == ["", "retry"]
        assert next(line for line in lines if line).startswith(":"), "a comment, which no reader takes for an event"
        run.report(7)
        assert take(lines, 1) == [("1", 7)]
