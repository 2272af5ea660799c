"""Two copies of the service, real processes, on one database: nothing is lost, each conflict has one winner."""

from __future__ import annotations

import asyncio
from collections import Counter

import httpx2
import pytest
from service_processes import copy_of_the_service

from mixture.api.database import Scope

pytestmark = pytest.mark.long

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
seed: {seed}
phases: [{{phase: only, weights: {{a: 50%, b: 50%}}}}]
"""
CELLS = "domain,tokens\na,200000\nb,90000\n"
NAMES, CONTENDERS = 20, 10
REPORTS = 300


@pytest.fixture
def copies(repository, database_url, tmp_path):
    """The addresses of two copies."""
    data = tmp_path / "data"
    with copy_of_the_service(data, database_url) as first, copy_of_the_service(data, database_url) as second:
        yield first, second


def mixture_of(seed: int) -> dict[str, object]:
    return {"spec": SPEC.format(seed=seed), "tables": {"cells.csv": CELLS}}


class Everyone:
    """Many clients at once, each of whom asks the copies in turn."""

    def __init__(self, client: httpx2.AsyncClient, copies: tuple[str, str], secret: str) -> None:
        self._client = client
        self._copies = copies
        self._headers = {"Authorization": f"Bearer {secret}"}

    async def publish(self, copy: int, name: str, seed: int, **headers: str) -> httpx2.Response:
        url = f"{self._copies[copy]}/v1/mixtures/{name}"
        sent = {key.replace("_", "-"): value for key, value in headers.items()} | self._headers
        return await self._client.put(url, json=mixture_of(seed), headers=sent)

    async def report(self, copy: int, run: str, number: int) -> httpx2.Response:
        url = f"{self._copies[copy]}/v1/runs/{run}/progress"
        body = {"step": number, "loss": {"books": number / 7}, "key": "attempt 1"}
        return await self._client.post(url, json=body, headers=self._headers)


async def thousand_at_once(copies, secret, run, moved):
    """200 create one of 20 names, 200 move one of 20 others, 300 reports are sent through both copies. All at once."""
    limits = httpx2.Limits(max_connections=400, max_keepalive_connections=400)
    async with httpx2.AsyncClient(timeout=240, limits=limits) as client:
        everyone = Everyone(client, copies, secret)
        creating, moving, reporting = [], [], []
        for i in range(NAMES * CONTENDERS):
            copy, name, seed = i // NAMES % 2, i % NAMES, 1000 + i
            creating.append(everyone.publish(copy, f"new-{name}", seed, If_None_Match="*"))
            tag = f'"sha256:{moved[f"old-{name}"]}"'
            moving.append(everyone.publish(copy, f"old-{name}", seed, If_Match=tag))
        for i in range(REPORTS * 2):
            reporting.append(everyone.report(i % 2, run, i // 2))
        # woven together, so that no kind of request is through before another begins
        mixed = [one for group in zip(creating, moving, strict=True) for one in group]
        answers = await asyncio.gather(*mixed, *reporting)
        count = len(mixed)
        return answers[0:count:2], answers[1:count:2], answers[count:]


def test_of_a_thousand_requests_at_once_nothing_is_lost_and_each_conflict_has_one_winner(copies, repository):
    secret = repository.add_token("everyone", [Scope.PUBLISH, Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx2.Client(base_url=copies[0], headers=headers, timeout=60) as client:
        first = [client.put(f"/v1/mixtures/old-{i}", json=mixture_of(i)).raise_for_status() for i in range(NAMES)]
        moved = {answer.json()["name"]: answer.json()["digest"] for answer in first}
        run = client.post("/v1/runs", json={"mixture": "demo"}).raise_for_status().json()["id"]

    created, replaced, reported = asyncio.run(thousand_at_once(copies, secret, run, moved))

    assert len(created) + len(replaced) + len(reported) == 1000
    for answers, success, names in ((created, 201, "new"), (replaced, 200, "old")):
        assert Counter(answer.status_code for answer in answers) == {success: NAMES, 409: NAMES * (CONTENDERS - 1)}
        assert {answer.json()["code"] for answer in answers if answer.is_error} == {"name-conflict"}
        winners = {answer.json()["name"]: answer.json()["digest"] for answer in answers if answer.is_success}
        assert len(winners) == NAMES, "one winner a name"
        for i in range(NAMES):
            name = f"{names}-{i}"
            digests = [move.to_digest for move in repository.name_history(name, limit=100)]
            assert digests == ([moved[name]] if names == "old" else []) + [winners[name]]
            assert repository.get(name).digest == winners[name]
            assert repository.bundle(winners[name]).spec.decode().startswith("mixture: small")

    assert Counter(answer.status_code for answer in reported) == {201: REPORTS, 200: REPORTS}
    entries = repository.progress(run, limit=10_000)
    assert [entry.seq for entry in entries] == list(range(1, REPORTS + 1)), "numbered without gaps"
    assert {entry.step: entry.loss["books"] for entry in entries} == {i: i / 7 for i in range(REPORTS)}
    answered = {(answer.json()["seq"], answer.json()["step"]) for answer in reported}
    assert answered == {(entry.seq, entry.step) for entry in entries}, "both copies say the same of a report"


def test_what_one_copy_is_told_the_other_knows(copies, repository):
    secret = repository.add_token("someone", [Scope.PUBLISH, Scope.RUN])
    headers = {"Authorization": f"Bearer {secret[1]}"}
    with httpx2.Client(headers=headers, timeout=60) as client:
        here, there = copies
        published = client.put(f"{here}/v1/mixtures/shared", json=mixture_of(1)).raise_for_status().json()
        assert client.get(f"{there}/v1/mixtures/shared").json()["digest"] == published["digest"]
        run = client.post(f"{there}/v1/runs", json={"mixture": published["ref"]}).raise_for_status().json()
        with client.stream("GET", f"{here}/v1/runs/{run['id']}/events") as answer:
            lines = answer.iter_lines()
            client.post(f"{there}/v1/runs/{run['id']}/progress", json={"step": 5}).raise_for_status()
            assert next(line for line in lines if line.startswith("id:")) == "id: 1"
        repository.revoke_token(secret[0].id)
        for copy in copies:
            refused = client.post(f"{copy}/v1/runs", json={"mixture": "demo"})
            assert (refused.status_code, refused.json()["code"]) == (401, "token-invalid")
