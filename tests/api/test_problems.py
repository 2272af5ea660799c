"""Every answer that is not a success is a problem with a code, and says nothing that it should not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2
import pytest
from api_helpers import ask, client_of
from fastapi import FastAPI

from mixture.api.answers.bodies import RequestBody
from mixture.api.middleware.problems import Problem
from mixture.errors import CatalogError, MixtureError, Place, SpecError, StoreError
from mixture.planning.yamlfile.errors import SpecFileError


class Progress(RequestBody):
    step: int
    loss: dict[str, float] | None = None


def fail() -> None:
    raise RuntimeError("secret in /etc/shadow")


RAISED: dict[str, tuple[Exception, int, str]] = {
    "condition": (CatalogError("no column", code="unknown-column", hint="did you mean 'a'?"), 422, "unknown-column"),
    "missing": (MixtureError("no such", code="unknown-mixture"), 404, "unknown-mixture"),
    "moved": (MixtureError("moved", code="name-conflict"), 409, "name-conflict"),
    "unsaid": (MixtureError("needs it", code="digest-required"), 428, "digest-required"),
    "damaged": (StoreError("damaged", code="store-damaged"), 503, "store-damaged"),
    "away": (MixtureError("away", code="database-unreachable"), 503, "database-unreachable"),
    "no driver": (MixtureError("no driver", code="database-url"), 503, "database-url"),
    "no folder": (MixtureError("no folder", code="data-dir-unusable"), 503, "data-dir-unusable"),
    "gone": (StoreError("gone", code="store-gone"), 503, "store-gone"),
    "replaced": (StoreError("replaced", code="store-replaced"), 409, "store-replaced"),
    "of another lock": (StoreError("another", code="tokens-differ"), 409, "tokens-differ"),
    "own": (Problem(409, "not now", code="not-now"), 409, "not-now"),
}


@pytest.fixture
def app(make_app) -> FastAPI:
    """The service with routes beside its own, one for each thing that a route may raise."""
    made: FastAPI = make_app(max_body_bytes=1000)

    @made.get("/raise/{what}")
    def raising(what: str) -> None:
        raise RAISED[what][0]

    @made.get("/fail")
    def failing() -> None:
        fail()

    @made.post("/progress")
    def progress(body: Progress) -> Progress:
        return body

    return made


@pytest.fixture
def served(app: FastAPI) -> Iterator[httpx2.Client]:
    with client_of(app) as made:
        yield made


def is_problem(answer: httpx2.Response, status: int, code: str) -> dict:
    """The body of an answer that is this problem, whole and in its form."""
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (answer.status_code, body["status"], body["code"]) == (status, status, code)
    assert answer.headers["x-error-code"] == code
    assert body["type"] == f"urn:mixture:{code}"
    assert body["instance"] == answer.request.url.path
    assert body["trace_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    return body


def test_an_unknown_address(served: httpx2.Client):
    is_problem(served.get("/v1/nothing"), 404, "not-found")
    is_problem(served.get("/V1/mixtures"), 404, "not-found")
    is_problem(served.get("/v1/mixtures/"), 404, "not-found")


def test_a_method_that_is_not_for_an_address_says_which_is(served: httpx2.Client):
    reading = {"GET", "HEAD"}
    for address, methods in (("/v1/mixtures", reading), ("/v1/mixtures/demo", reading | {"PUT"}), ("/docs", {"GET"})):
        answer = served.delete(address)
        is_problem(answer, 405, "method-not-allowed")
        assert set(answer.headers["allow"].split(", ")) == methods


@pytest.mark.parametrize("what", RAISED)
def test_what_routes_raise_has_its_status_and_code(app: FastAPI, what: str):
    _, status, code = RAISED[what]
    is_problem(ask(app, "GET", f"/raise/{what}"), status, code)


def test_what_nobody_foresaw_tells_the_client_nothing_of_itself(served: httpx2.Client):
    answer = served.get("/fail")
    is_problem(answer, 500, "internal-error")
    for secret in ("RuntimeError", "Traceback", "shadow", "fail()"):
        assert secret not in answer.text
    assert served.get("/healthz").status_code == 200


def test_all_faults_of_a_file_are_said_at_their_lines_and_no_folder_of_the_server_is(app: FastAPI):
    place = Place("/srv/secret/mixture.yaml", 14, 7, "phases[0].weights.cod")
    first = SpecError(
        "unknown domain 'cod'", code="unknown-domain", place=place, hint="did you mean 'code'?", name="cod"
    )
    second = SpecError("no such unit", code="unknown-unit", place=Place("/srv/secret/mixture.yaml", 20, 1, "budget"))

    @app.get("/spec")
    def spec() -> None:
        raise SpecFileError([first, second])

    answer = ask(app, "GET", "/spec")
    body = is_problem(answer, 422, "unknown-domain")
    assert body["errors"] == [
        {
            "detail": "unknown domain 'cod'", "code": "unknown-domain", "hint": "did you mean 'code'?",
            "in": "mixture.yaml", "pointer": "phases[0].weights.cod", "line": 14, "column": 7,
        },
        {
            "detail": "no such unit", "code": "unknown-unit",
            "in": "mixture.yaml", "pointer": "budget", "line": 20, "column": 1,
        },
    ]  # fmt: skip
    assert body["facts"] == {"name": "cod"}
    assert "secret" not in answer.text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_refused_by_the_name_of_its_field(served: httpx2.Client, number: str):
    headers = {"content-type": "application/json"}
    answer = served.post("/progress", content=f'{{"step": 3, "loss": {{"we/b": {number}}}}}', headers=headers)
    body = is_problem(answer, 422, "invalid-request")
    assert [(one["in"], one["pointer"]) for one in body["errors"]] == [("body", "/loss/we~1b")]
    assert "/loss/we~1b" in body["detail"]
    answer = served.post("/progress", content=f'{{"step": {number}}}', headers=headers)
    assert is_problem(answer, 422, "invalid-request")["errors"][0]["pointer"] == "/step"


def test_a_body_that_is_not_json_or_has_fields_of_its_own(served: httpx2.Client):
    headers = {"content-type": "application/json"}
    for text in ("{", "", "[1]", '{"step": 1}}', "\udcff".encode("utf-8", "surrogatepass")):
        answer = served.post("/progress", content=text, headers=headers)
        assert is_problem(answer, answer.status_code, answer.json()["code"])["status"] in (400, 415, 422)
    answer = served.post("/progress", json={"step": 1, "stp": 2})
    assert is_problem(answer, 422, "invalid-request")["errors"][0]["pointer"] == "/stp"


def test_a_body_that_is_too_large_declared_or_not(served: httpx2.Client):
    answer = served.post("/progress", json={"step": 1, "loss": {"a" * 2000: 1.0}})
    assert is_problem(answer, 413, "body-too-large")["facts"] == {"max_body_bytes": 1000}

    def pieces() -> Iterator[bytes]:
        yield b'{"step": 1, "loss": {"'
        for _ in range(100):
            yield b"a" * 100

    answer = served.post("/progress", content=pieces(), headers={"content-type": "application/json"})
    is_problem(answer, 413, "body-too-large")


@pytest.mark.parametrize(
    "headers", [{}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}]
)
def test_a_body_of_another_kind(served: httpx2.Client, headers: dict[str, str]):
    is_problem(served.post("/progress", content=b'{"step": 1}', headers=headers), 415, "media-type-unsupported")


def test_a_compressed_body_is_refused_so_that_no_small_one_becomes_large(served: httpx2.Client):
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    is_problem(served.post("/progress", content=b"\x1f\x8b", headers=headers), 415, "media-type-unsupported")


def test_wrong_parameters_are_named(served: httpx2.Client):
    answer = served.get("/v1/mixtures", params={"limit": "many"})
    body = is_problem(answer, 422, "invalid-request")
    assert [(one["in"], one["pointer"]) for one in body["errors"]] == [("query", "/limit")]
    for reference in ("..%2F..%2Fetc%2Fpasswd", "%2e%2e", "demo@sha256:12", "a" * 101, "x%00y", "d%C3%A9mo"):
        answer = served.get(f"/v1/mixtures/{reference}")
        assert answer.status_code in (404, 422), reference
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_trace_id_of_the_client_is_kept_where_it_is_a_plain_word(served: httpx2.Client):
    assert served.get("/nothing", headers={"X-Request-ID": "run-7_a"}).json()["trace_id"] == "run-7_a"
    assert served.get("/nothing", headers={"X-Request-ID": 'a"b c'}).json()["trace_id"] != 'a"b c'


def test_half_a_character_in_an_address_is_still_json(served: httpx2.Client):
    answer = served.get("/v1/mixtures/%ED%B3%BF")
    json.loads(answer.content)
    assert answer.status_code == 422


def test_what_is_wrong_with_a_value_is_said_in_this_service_s_words(client: httpx2.Client):
    for address, detail in (
        ("/v1/mixtures?limit=0", "query /limit: must be at least 1"),
        ("/v1/mixtures?limit=1001", "query /limit: must be at most 1000"),
        ("/v1/mixtures?limit=x", "query /limit: must be an integer, in digits"),
        ("/v1/mixtures/demo/crossings", "query /epochs: is missing"),
        ("/v1/mixtures/demo/crossings?epochs=1&passing=maybe", "query /passing: must be true or false"),
        (f"/v1/catalogs/demo/sums?where={'x' * 10_001}", "query /where: must be at most 10000 characters"),
        ("/v1/catalogs/demo/domains/books/examples?kind=x", "query /kind: expected one of: 'typical' or 'random'"),
    ):
        assert is_problem(client.get(address), 422, "invalid-request")["detail"] == detail, address
    for body, detail in (
        ({"phases": 3}, "body /phases: must be an object"),
        ({"by": 3}, "body /by: must be a text"),
        ({"bugdet": "5"}, "body /bugdet: unknown key"),
        ({"budget": "5" * 81}, "body /budget: must have a length of at most 80, not 81"),
    ):
        answer = client.post("/v1/mixtures/demo/what-if", json=body)
        assert is_problem(answer, 422, "invalid-request")["detail"] == detail, body
