"""Where there is nothing, the hint names the address that was meant; what is wrong is said in words."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx2
import pytest
from api_helpers import ask


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("/docs/", "did you mean '/docs'?"),
        ("/v1", "did you mean '/v1/mixtures'?"),
        ("/v1/mixtures/", "did you mean '/v1/mixtures'?"),
        ("/v1/mixtures/demo/", "did you mean '/v1/mixtures/demo'?"),
        ("/v1/mixtures/demo/compositon", "did you mean '/v1/mixtures/demo/composition'?"),
        ("/v1/mixture/demo/plan", "did you mean '/v1/mixtures/demo/plan'?"),
        ("/v1/mixtures/demo/step/5", "did you mean '/v1/mixtures/demo/steps/5'?"),
        ("/V1/mixtures", "did you mean '/v1/mixtures'?"),
        ("/mixtures/demo/", "did you mean '/mixtures/demo'?"),
        ("/mixture/demo", "did you mean '/mixtures/demo'?"),
        ("/mixtures/demo/step/5", "did you mean '/mixtures/demo/steps/5'?"),
        ("/mixtures/demo/whatif", "did you mean '/mixtures/demo/what-if'?"),
        ("/nothing/at/all/of/this", None),
        ("/" + "x" * 5000, None),
    ],
)
def test_an_address_that_leads_nowhere_has_the_nearest_one(client: httpx2.Client, address: str, hint: str | None):
    answer = client.get(address)
    assert (answer.status_code, answer.json().get("hint")) == (404, hint)


def test_below_a_prefix_hints_and_methods_are_those_of_the_address(make_app):
    app = make_app()
    lost = ask(app, "GET", "/lab/v1/mixture/demo/plan", root_path="/lab").json()
    assert lost["hint"] == "did you mean '/lab/v1/mixtures/demo/plan'?"
    refused = ask(app, "DELETE", "/lab/v1/mixtures/demo", root_path="/lab")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, PUT")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mixtures/demo/composition?points=5000", "1 to 1000 parts"),
        ("mixtures/demo@sha256:12/plan", "name@sha256:<digest>"),
        ("mixtures/demo/positions?position=8788992", "positions are 0 to 8,788,991"),
    ],
)
def test_what_is_wrong_is_said_in_words(client: httpx2.Client, address: str, words: str):
    problem = client.get(f"/v1/{address}").json()
    assert problem["status"] == 422
    assert words in problem["detail"] + problem.get("hint", "")
    assert "pattern" not in problem["detail"]


def test_an_outage_is_a_line_in_the_log_and_not_one_a_request(
    make_app, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("", encoding="utf-8")
    app = make_app(database_url=f"sqlite:///{tmp_path}/file/mixture.db")
    with caplog.at_level(logging.ERROR, "mixture.service"):
        for _ in range(5):
            assert ask(app, "GET", "/v1/runs").status_code == 503
    said = [record for record in caplog.records if "/v1/runs" in record.getMessage()]
    assert len(said) == 1
    assert said[0].exc_info is None
