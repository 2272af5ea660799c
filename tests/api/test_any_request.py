"""Whatever a request says, its answer is one that the description has. schemathesis makes the requests from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
import schemathesis
from api_helpers import MIXTURES, ask
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from mixture.api.answers.formats import Format
from mixture.api.app import create_app
from mixture.api.database import Scope
from mixture.api.openapi import COMMITTED
from mixture.api.settings import Settings

pytestmark = pytest.mark.long

# Two operations stream: events go on until the service ends, and batches need a store; both have tests of their own.
SCHEMA = schemathesis.openapi.from_dict(json.loads(COMMITTED.read_text(encoding="utf-8"))).exclude(
    path_regex="/(events|batches)$"
)

DESCRIBED = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
"""What an answer looks like."""
REFUSED = [*DESCRIBED, checks.negative_data_rejection]
"""And that what does not fit the schema is refused. Not that all that fits it is accepted: no schema says whether a
step is in the run, or whether a condition names columns that there are."""

BOUNDS = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Served:
    """A service, the headers of somebody who may write, and parts of addresses that lead to something."""

    app: FastAPI
    headers: Mapping[str, str]
    known: Mapping[str, object]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("data")
    app = create_app(Settings(data_dir=folder, mixtures_dirs=(MIXTURES / "demo",), rate_per_second=0, max_rows=1000))
    secret = app.state.services.repository.add_token("anybody", [Scope.PUBLISH, Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    run = ask(app, "POST", "/v1/runs", json={"mixture": "demo"}, headers=headers).raise_for_status().json()
    report = {"step": 3, "loss": {"web-high": 2.5}}
    ask(app, "POST", f"{run['url']}/progress", json=report, headers=headers).raise_for_status()
    yield Served(app, headers, {"ref": "demo", "other": "demo", "run_id": run["id"], "step": 15300})
    app.state.services.close()


def check(case: Case, served: Served, **headers: str) -> None:
    """Send a request as it was made, and once more with an address that leads to something."""
    sent = {**headers, **served.headers}
    case.validate_response(case.call(app=served.app, headers=sent), checks=REFUSED)
    known = {name: served.known.get(name, value) for name, value in case.path_parameters.items()}
    if known != case.path_parameters:
        case.path_parameters = known
        case.validate_response(case.call(app=served.app, headers=sent), checks=DESCRIBED)


@SCHEMA.parametrize()
@settings(BOUNDS, max_examples=12)
def test_any_request_gets_an_answer_that_is_described(case: Case, served: Served) -> None:
    check(case, served)


@pytest.mark.parametrize("form", Format)
@SCHEMA.include(path_regex="/(domains|sums|composition|positions)$").parametrize()
@settings(BOUNDS, max_examples=6)
def test_any_table_is_of_a_form_that_is_described(case: Case, served: Served, form: Format) -> None:
    check(case, served, Accept=form.value)
