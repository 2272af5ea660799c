"""A run goes on under an amended lock: where both read the same so far, and never where it has read further."""

from __future__ import annotations

import json

import pytest
from api_helpers import ask

from mixture.api.database import Scope

CELLS = "domain,tokens\na,200000\nb,90000\n"
SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: only
    weights: {a: 50%, b: 50%}
"""
SMALL = {"spec": SPEC, "tables": {"cells.csv": CELLS}}
LONGER = {
    "spec": SPEC.replace("100 steps", "150 steps").replace("b: 50%", "b: 30%, c: 20%"),
    "tables": {"cells.csv": CELLS + "c,500000\n"},
}


@pytest.fixture
def app(make_app):
    return make_app()


@pytest.fixture
def send(app):
    """send("PUT", address, body, status=200, code=None): with a token for all, gives the answer."""
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH, Scope.RUN])[1]

    def of(method, address, body, *, status=200, code=None):
        sent = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        answer = ask(app, method, address, content=json.dumps(body).encode(), headers=sent)
        assert (answer.status_code, answer.headers.get("X-Error-Code")) == (status, code), answer.text
        return answer.json()

    return of


@pytest.fixture
def first(send):
    return send("PUT", "/v1/mixtures/small", SMALL, status=201)


@pytest.fixture
def run(send, first):
    """The address of a run of the first lock that has done 40 steps."""
    made = send("POST", "/v1/runs", {"mixture": "small", "key": "job"}, status=201)["url"]
    send("POST", f"{made}/progress", {"step": 40}, status=201)
    return made


@pytest.fixture
def second(send, first, run):
    """The mixture amended at step 40."""
    body = {"base": first["ref"], "step": 40, "reason": "more", **LONGER, "spec": RESHARED}
    return send("POST", "/v1/mixtures/small/amendments", body)


RESHARED = LONGER["spec"].replace("a: 50%", "a: 40%").replace("b: 30%", "b: 40%")


def get(app, address):
    return ask(app, "GET", address).raise_for_status().json()


def test_a_report_with_the_new_lock_moves_the_run_to_it(app, send, first, run, second):
    assert get(app, run)["digest"] == first["digest"], "an amendment alone changes no run"
    entry = send("POST", f"{run}/progress", {"step": 45, "lock": second["digest"], "loss": {"c": 2.5}}, status=201)
    assert (entry["lock"], entry["lock_before"]) == (second["digest"], first["digest"])
    shown = get(app, run)
    assert (shown["digest"], shown["mixture"], shown["steps"]) == (second["digest"], second["ref"], 150)
    assert shown["locks"] == [entry]
    assert shown["standing"]["planned_tokens"] == second["tokens"]
    assert [one["id"] for one in get(app, "/v1/runs?mixture=small")["items"]] == [shown["id"]]
    read = {one["domain"]: one["tokens"] for one in get(app, f"{run}/composition")["items"]}
    assert read.keys() == {"a", "b", "c"}
    assert sum(read.values()) == 45 * 8 * 64
    plain = send("POST", f"{run}/progress", {"step": 140}, status=201)
    assert (plain["lock"], plain["lock_before"]) == (None, None)
    again = send("POST", f"{run}/progress", {"step": 150, "lock": f"sha256:{second['digest']}"}, status=201)
    assert again["lock"] is None, "it reads this lock already"
    log = get(app, f"{run}/progress")["items"]
    table = ask(app, "GET", f"{run}/progress.csv").text.splitlines()
    assert [line.endswith(f'"{second["digest"]}"') for line in table] == [False, False, True, False, False]
    assert [(one["step"], one["lock"]) for one in log] == [(40, None), (45, second["digest"]), (140, None), (150, None)]


def test_a_report_with_a_key_changes_the_lock_once(app, send, first, run, second):
    body = {"step": 45, "lock": second["digest"], "key": "attempt-1"}
    entry = send("POST", f"{run}/progress", body, status=201)
    assert send("POST", f"{run}/progress", body) == entry
    assert len(get(app, f"{run}/progress")["items"]) == 2


def test_a_run_that_has_read_further_goes_back_first(app, send, first, run, second):
    send("POST", f"{run}/progress", {"step": 41}, status=201)
    body = {"step": 50, "lock": second["digest"]}
    refused = send("POST", f"{run}/progress", body, status=409, code="history-differs")
    assert (refused["facts"]["step"], refused["facts"]["parts_at"]) == (41, 40)
    assert get(app, run)["digest"] == first["digest"]
    assert len(get(app, f"{run}/progress")["items"]) == 2, "a report that is refused is not in the log"
    send("POST", f"{run}/progress", {"step": 40}, status=201)
    send("POST", f"{run}/progress", body, status=201)
    assert get(app, run)["digest"] == second["digest"]


def test_what_a_lock_does_not_have_is_refused(app, send, first, run, second):
    step = f"{run}/progress"
    send("POST", step, {"step": 41, "lock": "0" * 64}, status=404, code="unknown-mixture")
    send("POST", step, {"step": 41, "lock": "small"}, status=422, code="invalid-request")
    send("POST", step, {"step": 41, "loss": {"c": 1.0}}, status=422, code="unknown-domain")
    send("POST", step, {"step": 151, "lock": second["digest"]}, status=422, code="step-out-of-range")
    assert get(app, run)["digest"] == first["digest"]


def test_what_was_read_under_the_amended_lock_is_not_rewritten_either(app, send, first, run, second):
    send("POST", f"{run}/progress", {"step": 60, "lock": second["digest"]}, status=201)
    body = {"base": second["ref"], "step": 50, "skip_steps": 1}
    refused = send("POST", "/v1/mixtures/small/amendments", body, status=409, code="run-consumed")
    assert refused["facts"]["runs"][0]["parts_at"] == 50
    send("POST", "/v1/mixtures/small/amendments", body | {"step": 60})


def test_a_job_started_anew_with_the_amended_lock_is_the_same_run(app, send, first, run, second):
    found = send("POST", "/v1/runs", {"mixture": second["ref"], "key": "job"})
    assert found["url"] == run
    send("POST", f"{run}/progress", {"step": 41}, status=201)
    send("POST", "/v1/runs", {"mixture": second["ref"], "key": "job"}, status=409, code="run-conflict")


def test_the_page_of_a_run_marks_its_amendments(app, send, first, run, second):
    before = ask(app, "GET", run.removeprefix("/v1")).text
    assert "Amended" not in before
    assert "Locks that it went on under" not in before
    send("POST", f"{run}/progress", {"step": 45, "lock": second["digest"]}, status=201)
    page = ask(app, "GET", run.removeprefix("/v1")).text
    assert "<title>Amendment 1, at step 40: more</title>" in page
    assert "Locks that it went on under" in page
    assert f'<code title="{first["digest"]}">' in page


def test_a_run_is_found_under_every_mixture_that_it_was_of(app, send, first, run):
    other = {"base": first["ref"], "step": 40, **LONGER, "spec": RESHARED}
    moved = send("POST", "/v1/mixtures/longer/amendments", other, status=201)
    send("PUT", "/v1/mixtures/stranger", SMALL | {"spec": SPEC + "seed: 7\n"}, status=201)
    send("POST", f"{run}/progress", {"step": 41, "lock": moved["digest"]}, status=201)
    shown = get(app, run)
    assert shown["mixture"] == moved["ref"]
    for mixture in ("longer", moved["ref"], f"sha256:{moved['digest']}", "small", first["ref"]):
        assert [one["id"] for one in get(app, f"/v1/runs?mixture={mixture}")["items"]] == [shown["id"]], mixture
    assert get(app, "/v1/runs?mixture=stranger")["items"] == []
    assert get(app, f"/v1/runs?mixture=small@sha256:{moved['digest']}")["items"] == []
    skip = {"base": first["ref"], "step": 10, "skip_steps": 1}
    assert send("POST", "/v1/mixtures/small/amendments", skip)["published"], "the run reads by another name's lock now"
