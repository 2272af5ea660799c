"""Requests that need what is not in memory yet wait without a thread: others are answered meanwhile."""

from __future__ import annotations

import asyncio
import threading

import httpx2
import pytest

from mixture.api.database import Scope
from mixture.api.dependencies.services import _group_bytes
from mixture.api.middleware.cache import Kept
from mixture.planning.plan.composition import group

MANY = 60
"""More than the 40 threads that requests have."""
SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - {phase: only, weights: {a: 50%, b: 50%}}
"""
NEW = {"spec": SPEC, "tables": {"cells.csv": "domain,tokens\na,200000\nb,90000\n"}}


@pytest.mark.parametrize(
    ("slow", "addresses"),
    [
        ("mixture.api.dependencies.services.load_kept", ["/v1/mixtures/small/plan"] * MANY),
        ("mixture.api.dependencies.services.group", ["/v1/mixtures/demo/composition?by=kind&step=5"] * MANY),
        (
            "mixture.api.dependencies.services.group",
            [f"/v1/mixtures/demo/composition?where=tokens>{i}&step=5" for i in range(MANY)],
        ),
    ],
    ids=["a mixture", "groups", "groups of conditions"],
)
def test_while_first_requests_are_worked_on_others_are_answered(make_app, monkeypatch, slow, addresses):
    app = make_app()
    headers = {"Authorization": f"Bearer {app.state.services.repository.add_token('ann', list(Scope))[1]}"}
    module, name = slow.rsplit(".", 1)
    work = getattr(__import__(module, fromlist=[name]), name)
    go_on, calls = threading.Event(), []

    def slowly(*arguments, **options):
        calls.append(arguments)
        assert go_on.wait(60)
        return work(*arguments, **options)

    async def asked() -> None:
        def client_at(host: str) -> httpx2.AsyncClient:
            transport = httpx2.ASGITransport(app, client=(host, 1))
            return httpx2.AsyncClient(transport=transport, base_url="http://service", timeout=60)

        async with client_at("10.0.0.0") as client:
            made = await client.put("/v1/mixtures/small", json=NEW, headers=headers)
            assert made.status_code == 201
            monkeypatch.setattr(slow, slowly)
            many = [client_at(f"10.0.0.{number}") for number in range(1, MANY + 1)]
            first = [asyncio.create_task(one.get(address)) for one, address in zip(many, addresses, strict=True)]
            try:
                while not calls:
                    await asyncio.sleep(0.01)
                quick = [client.get(f"/v1/mixtures/demo{part}") for part in ("", "/plan", "/counts?step=3")]
                answers = await asyncio.wait_for(asyncio.gather(*quick), 30)
                assert [answer.status_code for answer in answers] == [200] * len(quick)
                assert not any(task.done() for task in first)
            finally:
                go_on.set()
            assert {answer.status_code for answer in await asyncio.gather(*first)} == {200}
            for one in many:
                await one.aclose()

    asyncio.run(asked())
    assert len(calls) == len(set(addresses)), "one computation for one question"


def test_groups_weigh_as_many_bytes_as_they_take_and_few_large_ones_are_kept(client, make_app):
    mixture = make_app().state.services.mixture("demo")
    small, large = (group(mixture.lock, mixture.catalog, columns) for columns in ((), ("domain",)))
    weight = _group_bytes(large)
    assert weight > _group_bytes(small)
    kept = Kept(weight + 1, weigh=_group_bytes)
    kept.get("small", lambda: small)
    kept.get("large", lambda: large)
    assert (kept.peek("small"), kept.peek("large")) == (None, large)
