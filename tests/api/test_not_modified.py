"""Every address that is read: its answers have the headers that are described, and are not sent twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api_helpers import MIXTURES, ask
from fastapi import FastAPI

from mixture.api.app import create_app
from mixture.api.database import Scope
from mixture.api.openapi import COMMITTED
from mixture.api.settings import Settings

DESCRIBED = json.loads(COMMITTED.read_text(encoding="utf-8"))
READ = {path: methods["get"] for path, methods in DESCRIBED["paths"].items() if "get" in methods}
QUERIES = {
    "counts": "?step=7",
    "history": "?step=7",
    "text": "?file=demo.nanotron.1-pretraining.yaml",
    "crossings": "?epochs=1",
    "find": "?domain=books&token=5",
    "reads": "?domain=books&first_token=5",
}
STREAMS = ("batches", "events", "store", "examples", "documents", "traces", "read-so-far")
"""These go on, or need a store: they have tests of their own."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory):
    made = create_app(Settings(data_dir=tmp_path_factory.mktemp("data"), mixtures_dirs=(MIXTURES,), rate_per_second=0))
    yield made
    made.state.services.close()


@pytest.fixture(scope="module")
def run(app: FastAPI) -> str:
    secret = app.state.services.repository.add_token("trainer", [Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    made: str = ask(app, "POST", "/v1/runs", json={"mixture": "demo"}, headers=headers).raise_for_status().json()["id"]
    return made


def headers_of(operation: dict[str, Any], status: str) -> set[str]:
    return set(operation["responses"].get(status, {}).get("headers", ()))


@pytest.mark.parametrize("path", [path for path in READ if not path.endswith(STREAMS)])
def test_an_answer_with_an_entity_tag_is_described_and_not_sent_again(app: FastAPI, run: str, path: str):
    operation, part = READ[path], path.rpartition("/")[2]
    filled = {"ref": "demo", "other": "olmo-3-7b", "run_id": run, "step": 7, "domain": "books", "format": "nanotron"}
    address = path.format(**filled) + QUERIES.get(part, "")
    first = ask(app, "GET", address).raise_for_status()
    tag = first.headers.get("ETag")
    again = ask(app, "GET", address, headers={"If-None-Match": tag or "*"})
    if tag is None:
        assert again.status_code == 200
        assert "304" not in operation["responses"]
        return
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert headers_of(operation, "304") == {"ETag", "Cache-Control"} <= headers_of(operation, "200")
    assert again.headers["Cache-Control"] == first.headers["Cache-Control"]


PAGED = [path for path, one in READ.items() if "Link" in headers_of(one, "200")]


@pytest.mark.parametrize("path", [path for path in PAGED if not path.endswith(STREAMS)])
def test_a_list_that_has_more_leads_on(app: FastAPI, run: str, path: str):
    asked = QUERIES.get(path.rpartition("/")[2], "?") + "&limit=1"
    address = path.format(ref="demo", other="olmo-3-7b", run_id=run, step=7, domain="books") + asked
    answer = ask(app, "GET", address).raise_for_status()
    following = answer.json()["next_url"]
    assert answer.headers.get("Link") == (None if following is None else f'<{following}>; rel="next"')
