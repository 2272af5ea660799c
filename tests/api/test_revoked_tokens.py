"""A token that is revoked ends the answers that are under way for it, through whichever copy, and no others."""

from __future__ import annotations

import threading

import httpx2
import pytest
from api_helpers import client_of
from starlette.responses import StreamingResponse

from mixture.api.database import Scope
from mixture.api.dependencies.security import Reads
from mixture.api.middleware import token_watch

WAIT = httpx2.Timeout(30)


@pytest.fixture
def apps(make_app, monkeypatch):
    """Two copies over one database, with a route that never ends."""
    monkeypatch.setattr(token_watch, "POLL_SECONDS", 0.05)
    return [with_endless(make_app(public_reads=False)) for _ in range(2)]


def with_endless(app):
    ended = threading.Event()

    async def pieces():
        try:
            while True:
                yield bytes(1 << 16)
        finally:
            ended.set()

    app.add_api_route("/endless", lambda: StreamingResponse(pieces()), dependencies=[Reads])
    return app, ended


def test_a_revoked_token_ends_its_events_and_its_slow_answers_in_every_copy_and_no_others(apps):
    (first, _), (second, ended) = apps
    repository = first.state.services.repository
    revoked, secret = repository.add_token("leaves", {Scope.READ})
    _, other = repository.add_token("stays", {Scope.READ})
    digest = first.state.services.mixture("demo").digest
    run = repository.create_run(mixture=f"demo@sha256:{digest}", digest=digest, name=None, by="stays").run.id
    address = f"/v1/runs/{run}/events"

    def bearer(token):
        return {"Authorization": f"Bearer {token}"}

    with client_of(first) as client, client_of(second) as copy:
        with (
            copy.stream("GET", "/endless", headers=bearer(secret), timeout=WAIT) as unread,
            copy.stream("GET", address, headers=bearer(secret), timeout=WAIT) as events,
            client.stream("GET", address, headers=bearer(other), timeout=WAIT) as others,
        ):
            assert [one.status_code for one in (unread, events, others)] == [200, 200, 200]
            lines = others.iter_lines()
            next(lines)
            repository.revoke_token(revoked.id)
            with pytest.raises(httpx2.RemoteProtocolError):
                events.read()
            assert ended.wait(30), "nobody reads it, and it ends all the same"
            repository.add_progress(run, step=3, loss=None, key=None, by="stays")
            assert any('"step":3' in line for line in lines), "the other token's stream goes on"
        refused = copy.get(address, headers=bearer(secret))
        assert (refused.status_code, refused.headers["X-Error-Code"]) == (401, "token-invalid")
