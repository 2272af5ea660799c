"""A query parameter that an operation or a page does not have, or that stands twice, is refused.

Left out silently, it would answer another question.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from api_helpers import MIXTURES, ask
from fastapi import FastAPI

from mixture.api.app import create_app
from mixture.api.database import Scope
from mixture.api.openapi import COMMITTED
from mixture.api.settings import Settings

PATHS = json.loads(COMMITTED.read_text(encoding="utf-8"))["paths"]
PARTS = {
    "ref": "demo",
    "run_id": "r",
    "step": "0",
    "name": "demo",
    "domain": "books",
    "other": "demo",
    "format": "nanotron",
}


def refused(answer: httpx2.Response, name: str) -> dict[str, object]:
    problem = answer.json()
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (422, "unknown-parameter"), problem
    assert [(one["in"], one["pointer"]) for one in problem["errors"]] == [("query", f"/{name}")]
    return problem


@pytest.mark.parametrize(
    ("address", "name", "hint"),
    [
        ("/v1/mixtures/demo/composition?stpe=5", "stpe", "did you mean 'step'?"),
        ("/v1/mixtures/demo/composition.csv?by=kind&wher=true", "wher", "did you mean 'where'?"),
        (
            "/v1/mixtures/demo/positions?first_position=0&last_positon=10",
            "last_positon",
            "did you mean 'last_position'?",
        ),
        ("/v1/mixtures/demo/history?steps=5", "steps", "did you mean 'step'?"),
        ("/v1/mixtures/demo/batches?rnak=3", "rnak", "did you mean 'rank'?"),
        ("/v1/catalogs/demo/sums?group=kind", "group", "its parameters: by, where"),
        ("/v1/mixtures?limt=3", "limt", "did you mean 'limit'?"),
        ("/v1/mixtures?Limit=3", "Limit", "did you mean 'limit'?"),
        ("/v1/mixtures/demo?format=csv", "format", "it has none"),
        ("/v1/mixtures/demo?=csv", "", "it has none"),
        ("/v1/mixtures/no-such?a/b=1", "a~1b", "it has none"),
    ],
)
def test_it_is_named_with_the_one_that_is_nearest(client: httpx2.Client, address: str, name: str, hint: str):
    assert refused(client.get(address), name)["hint"] == hint


@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("/v1/") and "get" in PATHS[path]])
def test_every_operation_refuses_it(client: httpx2.Client, path: str):
    refused(client.get(path.format(**PARTS), params={"nothing-has-this": "1"}), "nothing-has-this")


WRITES = [(method, path) for path in PATHS for method in PATHS[path] if method != "get"]


def test_every_operation_that_writes_refuses_it(make_app):
    app = make_app()
    secret = app.state.services.repository.add_token("anybody", list(Scope))[1]
    for method, path in WRITES:
        sent = {"params": {"nothing-has-this": "1"}, "headers": {"Authorization": f"Bearer {secret}"}}
        refused(ask(app, method.upper(), path.format(**PARTS), **sent), "nothing-has-this")


ONCE = [
    (path, one["name"])
    for path in PATHS
    for one in PATHS[path].get("get", {}).get("parameters", ())
    if one["in"] == "query" and "'array'" not in str(one["schema"])
]


@pytest.mark.parametrize(("path", "name"), ONCE)
@pytest.mark.parametrize("values", [("1", "1"), ("1", "2"), ("", "")])
def test_what_has_one_value_stands_once(client: httpx2.Client, path: str, name: str, values: tuple[str, str]):
    answer = client.get(path.format(**PARTS), params=[(name, value) for value in values])
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (422, "invalid-request")
    assert [(one["in"], one["pointer"]) for one in answer.json()["errors"]] == [("query", f"/{name}")]
    assert "more than once" in answer.json()["detail"]


@pytest.mark.parametrize(
    "address", ["positions?position=3&position=1&position=3", "counts?step=0&step=5&step=5", "history?step=0&step=1"]
)
def test_what_is_a_list_may_stand_any_number_of_times(client: httpx2.Client, address: str):
    items = client.get(f"/v1/mixtures/demo/{address}").raise_for_status().json()["items"]
    assert len(items) >= address.count("=")


@pytest.mark.parametrize(
    ("address", "where", "pointer", "hint"),
    [
        ("composition?step=1_000", "query", "/step", None),
        ("composition?step=1.0", "query", "/step", None),
        ("composition?step=%2B1", "query", "/step", None),
        ("composition?step=%201", "query", "/step", None),
        ("composition?step=\u0661", "query", "/step", None),
        ("composition?step=", "query", "/step", None),
        ("positions?position=0,7", "query", "/position", "position=0&position=7"),
        ("positions?position=0;7", "query", "/position", None),
        ("counts?step=0&step=1e3", "query", "/step", None),
        ("steps/1_000", "path", "/step", None),
        ("steps/1.0/sequences", "path", "/step", None),
    ],
)
def test_a_whole_number_is_written_in_digits(
    client: httpx2.Client, address: str, where: str, pointer: str, hint: str | None
):
    answer = client.get(f"/v1/mixtures/demo/{address}")
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("hint")) == (422, "invalid-request", hint), problem
    assert [(one["in"], one["pointer"]) for one in problem["errors"]] == [(where, pointer)]


def test_nothing_is_written_by_a_request_that_has_one(make_app):
    app = make_app()
    headers = {"Authorization": f"Bearer {app.state.services.repository.add_token('trainer', [Scope.RUN])[1]}"}
    refused(ask(app, "POST", "/v1/runs?name=a", json={"mixture": "demo"}, headers=headers), "name")
    assert ask(app, "GET", "/v1/runs").json()["items"] == []


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FastAPI, dict[str, Any]]]:
    """A service with a run, and the description of its pages by address."""
    data = tmp_path_factory.mktemp("pages")
    app = create_app(Settings(data_dir=data, mixtures_dirs=(MIXTURES / "demo",), rate_per_second=0))
    services = app.state.services
    shown = services.mixture("demo")
    run = services.repository.create_run(mixture="demo", digest=shown.digest, name=None, by="tests").run
    described = {
        path.format(**PARTS | {"run_id": run.id}): operation["get"]
        for path, operation in app.state.page_paths().items()
        if operation["get"]["tags"] == ["pages"]
    }
    assert len(described) >= 13
    yield app, described
    services.close()


def problem_page(answer: httpx2.Response, code: str) -> str:
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (422, code), answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1>This address is not valid</h1>" in answer.text
    return html.unescape(answer.text)


def test_every_page_refuses_a_parameter_that_it_has_not_in_words_and_in_data(pages):
    app, described = pages
    for address in described:
        page = problem_page(ask(app, "GET", f"{address}?nothing-has-this=1", headers=BROWSER), "unknown-parameter")
        assert "'nothing-has-this'" in page
        refused(ask(app, "GET", f"{address}?nothing-has-this=1"), "nothing-has-this")


def test_every_page_has_a_parameter_once_and_a_whole_number_in_digits(pages):
    app, described = pages
    asked = [(address, one) for address, page in described.items() for one in page.get("parameters", ())]
    queries = [(address, one["name"], one["schema"]) for address, one in asked if one["in"] == "query"]
    numbers = [(address, name) for address, name, schema in queries if "'integer'" in str(schema)]
    assert len(queries) > len(numbers) > 12
    for address, name, _ in queries:
        problem_page(ask(app, "GET", f"{address}?{name}=1&{name}=1", headers=BROWSER), "invalid-request")
    for address, name in numbers:
        for text in ("1_0", "1.0", "+1", "%201"):
            problem_page(ask(app, "GET", f"{address}?{name}={text}", headers=BROWSER), "invalid-request")
    for text in ("1_0", "1.0"):
        problem_page(ask(app, "GET", f"/mixtures/demo/steps/{text}", headers=BROWSER), "invalid-request")


@pytest.mark.parametrize(
    ("address", "code", "hint"),
    [
        ("/mixtures/demo?by=kin", "unknown-column", "Did you mean 'kind'?"),
        ("/mixtures/demo?with=demo&by=kin", "unknown-column", "Did you mean 'kind'?"),
        ("/mixtures/demo?sort=tokns", "unknown-sort", "Did you mean 'tokens'?"),
        ("/mixtures/demo?phase=midtrainig", "unknown-phase", "Did you mean 'midtraining'?"),
        ("/mixtures/demo?domains=some", "invalid-request", "'all'"),
        ("/mixtures/demo?with_phase=midtraining", "invalid-request", "With=NAME"),
        ("/mixtures/demo?with=demo&sort=tokens", "unknown-sort", "changed most"),
        ("/mixtures/demo/what-if?by=kin", "unknown-column", "Did you mean 'kind'?"),
        ("/mixtures/demo/what-if?rows=some", "invalid-request", "Rows=all"),
        ("/mixtures/demo/what-if?bugdet=5", "unknown-parameter", "Did you mean 'budget'?"),
        ("/mixtures/demo/what-if?until:pretrain=5", "unknown-parameter", "Did you mean 'until:pretraining'?"),
        ("/mixtures/demo/what-if?share:pretraining:wob=5", "unknown-parameter", "'share:pretraining:web'?"),
        ("/mixtures/demo/what-if.yaml?bugdet=5", "unknown-parameter", "Did you mean 'budget'?"),
        ("/catalogs/demo?measure=epoch", "invalid-request", "<p>Parameter 'measure': expected one of: "),
        ("/catalogs/demo?rows=kin", "unknown-column", "Did you mean 'kind'?"),
        ("/catalogs/demo?sort=nam", "unknown-sort", "Did you mean 'name'?"),
        ("/mixtures/demo/steps/5?by=kin", "unknown-column", "Did you mean 'kind'?"),
        ("/mixtures/demo/steps/5?sort=tokns", "unknown-sort", "Did you mean 'tokens'?"),
        ("/mixtures/demo/steps/5?domains=some", "invalid-request", "'all'"),
        ("/mixtures/demo/steps/5?rank=5", "invalid-request", "world_size is missing"),
        ("/mixtures/demo/steps/5?rank=5&world_size=5", "rank-invalid", "Ranks count from 0"),
        ("/mixtures/demo/steps?step=5&position=5", "invalid-request", "Give one of them"),
    ],
)
def test_a_page_takes_nothing_that_it_does_not_know_for_something_else(pages, address: str, code: str, hint: str):
    assert hint in problem_page(ask(pages[0], "GET", address, headers=BROWSER), code)


def test_fields_of_forms_may_be_left_empty(pages):
    app, described = pages
    for address in ("/mixtures/demo", "/mixtures/demo/steps/0", "/mixtures/demo/trace", "/mixtures/demo/what-if"):
        names = [one["name"] for one in described[address].get("parameters", ()) if one["in"] == "query"]
        names = [name for name in names if name != "domains"] or [
            "budget",
            "until:pretraining",
            "share:pretraining:web",
        ]
        assert (
            ask(app, "GET", f"{address}?{'&'.join(f'{name}=' for name in names)}", headers=BROWSER).status_code == 200
        )


def test_what_has_no_parameters_at_all_is_asked_by_monitors_with_any(client: httpx2.Client):
    for address in ("/healthz", "/readyz", "/version", "/metrics", "/docs", "/openapi.json", "/assets/page.js"):
        assert client.get(address, params={"probe": "7"}).status_code == 200, address
