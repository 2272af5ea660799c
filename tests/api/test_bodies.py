"""What a body is refused for: in linear time, off the event loop, and with so many faults as somebody reads."""

from __future__ import annotations

import json

import pytest
from api_helpers import ask, routes_of

from mixture.api.answers.bodies import BodyRoute
from mixture.api.database import Scope
from mixture.api.middleware.problems import LONGEST_TEXT, MOST_ERRORS

WHAT_IF = "/v1/mixtures/demo/what-if"


def post(app, content: str | bytes, status: int = 422) -> dict:
    answer = ask(app, "POST", WHAT_IF, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert len(answer.content) < 200_000
    return answer.json()


def test_every_route_that_takes_a_body_reads_it_in_a_thread(make_app):
    taking = [route for route in routes_of(make_app()) if route.body_field is not None]
    assert len(taking) >= 5
    assert [route.path for route in taking if not isinstance(route, BodyRoute)] == []


@pytest.mark.parametrize(
    ("body", "num_errors"),
    [
        ({"phases": {str(number): 1 for number in range(19_000)}}, 19_000),
        ({str(number): 1 for number in range(19_000)}, 19_000),
        ({"phases": {"p": {str(number): 1 for number in range(19_000)}}}, 19_000),
        ({"phases": {"p": {"shares": {str(number): True for number in range(19_000)}}}}, 19_000),
        ({"phases": {"p": {"shares": dict.fromkeys(map(str, range(9_000)), "a lot")}}}, 9_000),
        ({"phases": {"p": {"steps": True, "until": []}}}, 2),
    ],
)
def test_the_first_faults_are_listed_and_how_many_more_there_are(make_app, body, num_errors):
    problem = post(make_app(), json.dumps(body, separators=(",", ":")))
    assert len(problem["errors"]) == min(num_errors, MOST_ERRORS)
    assert len(problem["errors"]) + problem.get("more_errors", 0) == num_errors
    assert f"and {num_errors - 1:,} more" in problem["detail"]
    assert all(one["in"] == "body" and one["pointer"] for one in problem["errors"])


def test_a_key_that_is_there_twice_among_many_is_named(make_app):
    members = ",".join(f'"{number}":1' for number in (*range(19_000), 18_999))
    assert post(make_app(), f'{{"phases":{{{members}}}}}')["facts"] == {"key": "18999"}


@pytest.mark.parametrize("separators", [(",", ":"), (", ", " : ")])
def test_a_body_of_more_texts_than_a_what_if_can_have_is_not_decoded(make_app, separators):
    problem = post(make_app(), json.dumps({str(number): 1 for number in range(24_001)}, separators=separators))
    assert (problem["code"], len(problem["errors"])) == ("invalid-request", 1)
    assert "at most 24,000 texts" in problem["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 300_000,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"budget": ' + b"9" * 100_000 + b"}",
        b'{"budget": 1e' + b"9" * 100_000 + b"}",
        b'{"budget": "\xff"}',
        b'{"phases": {"\\ud800": 1}}',
        b'{"budget": "\\ud800"}',
        b"\xef\xbb\xbf{}{",
        b'"' + b"\\" * 999_999,
        b"," * 50_000 + b'"' + b'\\"' * 400_000 + b"\\",
    ],
)
def test_what_is_no_json_or_too_deep_is_a_problem(make_app, body):
    problem = post(make_app(), body)
    assert problem["code"] == "invalid-request"
    assert problem["errors"][0]["in"] == "body"


def test_a_name_as_long_as_a_body_is_cut(make_app):
    problem = post(make_app(), json.dumps({"x" * 900_000: 1}))
    assert len(problem["errors"][0]["pointer"]) == LONGEST_TEXT + 1


def test_a_body_of_very_many_values_is_not_decoded_and_what_is_within_texts_does_not_count(make_app):
    app = make_app()
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH, Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    for body in ("[" + "[]," * 500_001 + "1]", '{"spec": "\\"", "tables": {' + '"a":1,' * 250_001 + '"b":1}}'):
        for address in ("/v1/runs", "/v1/mixtures/small"):
            method = "POST" if address == "/v1/runs" else "PUT"
            answer = ask(app, method, address, content=body, headers=headers)
            assert answer.status_code == 422
            assert "at most 500,000 values" in answer.json()["detail"]
    table = "domain,tokens\n" + "a,[1]{}:,\\\\" * 500_000
    answer = ask(app, "PUT", "/v1/mixtures/small", json={"spec": "x", "tables": {"c.csv": table}}, headers=headers)
    assert "values" not in answer.json()["detail"]
