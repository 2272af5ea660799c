"""Amended locks where the service has the text: batches of them, documents taken down by id, the base's own tables."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from api_helpers import ask, client_of
from clustered_mixture import NAME, SPEC, clustered_mixture

from mixture.api.database import Scope
from mixture.client import open_remote_stream
from mixture.data.store import open_store
from mixture.errors import Place
from mixture.file_names import STORE_TABLE
from mixture.lock import lock_text, parse_lock, read_lock
from mixture.planning.amend import amend
from mixture.planning.plan import make_lock, make_plan, with_masks
from mixture.planning.spec import read_spec
from mixture.stream import open_stream
from mixture.stream.trace.takedown import masks_of

DOCUMENT = "asyncio/base_events.py"
STEP = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return clustered_mixture(tmp_path_factory)


@pytest.fixture
def app(make_app, folder):
    return make_app(mixtures_dirs=(folder,))


@pytest.fixture
def send(app):
    """send("PUT", address, body, status=200, code=None): with a token that may publish, gives the answer."""
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]

    def of(method, address, body, *, status=200, code=None):
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        answer = ask(app, method, address, content=json.dumps(body).encode(), headers=headers)
        assert (answer.status_code, answer.headers.get("X-Error-Code")) == (status, code), answer.text
        return answer.json()

    return of


@pytest.fixture
def base(app):
    return ask(app, "GET", f"/v1/mixtures/{NAME}").raise_for_status().json()["ref"]


def bundle(folder, lock):
    table = base64.b64encode((folder / "store" / STORE_TABLE).read_bytes()).decode()
    return {"spec": SPEC, "tables": {"store": table}, "lock": lock_text(lock)}


def down_by_file(folder, tmp_path, lock):
    file = tmp_path / "down.txt"
    file.write_text(DOCUMENT + "\n", encoding="utf-8")
    return with_masks(lock, masks_of(open_store(folder / "store"), file, STEP, lock))


def test_a_published_lock_is_read_from_the_store_of_a_built_in_mixture(app, send, folder, tmp_path):
    old = read_lock(folder / "mixture.lock.json")
    masked = down_by_file(folder, tmp_path, amend(old, STEP, skip_steps=3))
    made = send("PUT", "/v1/mixtures/masked", bundle(folder, masked), status=201)
    assert made["batches"] is True
    local = open_stream(masked, folder / "store", first_step=STEP)
    with (
        client_of(app) as client,
        open_remote_stream(f"{client.base_url}/v1/mixtures/masked", first_step=STEP) as remote,
    ):
        for _ in range(3):
            here, there = next(local), next(remote)
            assert (here.input_ids == there.input_ids).all()
            assert (here.masked == there.masked).all()


def test_that_no_store_has_the_text_is_said(app, send, folder):
    old = read_lock(folder / "mixture.lock.json")
    content = dict(old.content) | {old.data.domains[0].name: "0" * 64}
    body = bundle(folder, make_lock(make_plan(read_spec(folder / "mixture.yaml")), content=content))
    assert send("PUT", "/v1/mixtures/elsewhere", body, status=201)["batches"] is False
    refused = ask(app, "GET", "/v1/mixtures/elsewhere/batches")
    assert (refused.status_code, refused.headers["X-Error-Code"]) == (404, "store-missing")
    assert "MIXTURE_STORE_DIRS" in refused.json()["hint"]


def test_documents_are_taken_down_by_id_where_the_text_is(app, send, folder, base, tmp_path):
    asked = {"base": base, "step": STEP, "masks": [{"document": DOCUMENT}]}
    made = send("POST", "/v1/mixtures/less/amendments", asked, status=201)
    expected = down_by_file(folder, tmp_path, amend(read_lock(folder / "mixture.lock.json"), STEP))
    found = parse_lock(ask(app, "GET", "/v1/mixtures/less/lock").content, place=Place(file="it"))
    assert (found.masks, made["masks"], made["batches"]) == (expected.masks, len(expected.masks), True)
    assert {mask.first_step for mask in found.masks} == {STEP}
    (row,) = ask(app, "GET", f"/v1/mixtures/less/traces?document={DOCUMENT}&first_step={STEP}").json()["items"]
    assert row["times"] == row["times_down"] > 0
    place = "&".join(f"{name}={row[name]}" for name in ("domain", "first_token", "first_step"))
    reads = ask(
        app, "GET", f"/v1/mixtures/less/reads?{place}&last_token={row['first_token'] + row['tokens'] - 2}"
    ).json()
    assert reads["times"] == reads["times_down"]
    page = ask(app, "GET", f"/mixtures/less/trace?document={DOCUMENT}&first_step={STEP}").text
    assert f"<b>{row['times']} places</b> from step {STEP} on, all taken down: none is read." in page
    whole = ask(app, "GET", f"/mixtures/less/trace?document={DOCUMENT}").text
    assert f"</b> in all, {row['times']} of them taken down, first at " in whole


def test_what_can_not_be_taken_down_by_id_is_refused_with_its_place(app, send, base):
    asked = {"base": base, "step": STEP, "dry_run": True}
    here = f"/v1/mixtures/{NAME}/amendments"
    unknown = [{"document": DOCUMENT}, {"document": "asyncio/bass_events.py"}]
    refused = send("POST", here, asked | {"masks": unknown}, status=422, code="unknown-document")
    assert refused["errors"][0]["pointer"] == "/masks/1"
    early = [{"document": DOCUMENT, "first_step": STEP - 1}]
    send("POST", here, asked | {"masks": early}, status=422, code="mask-invalid")
    for mask in ({"document": DOCUMENT, "tokens": 5}, {"domain": "c0q1"}, {"first_token": 4, "tokens": 5}):
        refused = send("POST", here, asked | {"masks": [mask]}, status=422, code="invalid-request")
        assert refused["errors"][0]["pointer"] == "/masks/0"


def test_tables_that_are_not_given_are_those_of_the_base(send, folder, base):
    asked = {"base": base, "step": STEP, "dry_run": True, "spec": SPEC.replace("2000", "2500")}
    made = send("POST", f"/v1/mixtures/{NAME}/amendments", asked)
    assert (made["steps_before"], made["steps"]) == (2000, 2500)
    missing = asked | {"spec": asked["spec"].replace("catalog: store", "catalog: stone")}
    send("POST", f"/v1/mixtures/{NAME}/amendments", missing, status=422, code="table-missing")
    assert send("POST", f"/v1/mixtures/{NAME}/amendments", asked | {"base": NAME}) == made


def test_what_a_base_is_and_where_an_amendment_of_a_built_in_mixture_goes_is_said(send, base):
    here = f"/v1/mixtures/{NAME}/amendments"
    refused = send("POST", here, {"step": STEP, "skip_steps": 1}, status=422, code="invalid-request")
    assert refused["detail"].startswith("body /base: ")
    assert "GET /v1/mixtures/NAME" in refused["hint"]
    refused = send("POST", here, {"base": NAME, "step": STEP}, status=422, code="base-invalid")
    assert base in refused["hint"]
    refused = send("POST", here, {"base": base, "step": STEP}, status=409, code="name-built-in")
    assert "POST /v1/mixtures/NEWNAME/amendments" in refused["hint"]
    assert base in refused["hint"]
