"""What `Accept` says is what is answered: the most specific range holds, and what is not offered is refused."""

from __future__ import annotations

import httpx2
import pytest

from mixture.api.answers.formats import Format
from mixture.api.middleware.accept import best_of

KINDS = [one.value for one in Format]
JSON, CSV, PARQUET, ARROW = KINDS


@pytest.mark.parametrize(
    ("header", "best"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("*/*, application/json;q=0.1", CSV),
        ("application/json;q=0.1, */*", CSV),
        ("text/*;q=0.2, */*;q=0.1, application/*;q=0.3, application/json;q=0", PARQUET),
        ("application/json;q=0", None),
        ("*/*, application/json;q=0, text/csv;q=0", PARQUET),
        ("*/*;q=0, text/csv", CSV),
        ("text/csv, application/json", CSV),
        ("application/json, text/csv", JSON),
        ("text/csv;q=0.5, application/json;q=0.9", JSON),
        ("text/html, */*;q=0.8", JSON),
        ("TEXT/CSV; Q=1", CSV),
        ("text/csv;q=much", None),
        ("text/html", None),
    ],
)
def test_the_most_specific_range_holds_for_a_kind(header: str | None, best: str | None):
    assert best_of(header, KINDS) == best


def test_a_table_comes_as_its_request_likes_it_best(client: httpx2.Client):
    asked = {"Accept": "*/*, application/json;q=0.1"}
    answer = client.get("/v1/catalogs/demo/domains", headers=asked)
    assert answer.headers["content-type"].startswith(CSV)
    only_json = client.get("/v1/mixtures/demo/plan", headers=asked)
    assert only_json.headers["content-type"] == JSON


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("/v1/mixtures/demo/spec", "application/yaml"),
        ("/v1/mixtures/demo/plan", JSON),
        ("/v1/mixtures/demo/batches", ARROW),
        ("/v1/runs/0123456789abcdef/events", "text/event-stream"),
    ],
)
def test_what_comes_in_one_kind_has_no_other(client: httpx2.Client, address: str, kind: str):
    by_ending, by_header = client.get(f"{address}.csv"), client.get(address, headers={"Accept": CSV})
    for answer in (by_ending, by_header):
        assert (answer.status_code, answer.headers["x-error-code"]) == (406, "not-acceptable")
        assert answer.json()["facts"] == {"offered": [kind]}
    assert client.get(address, headers={"Accept": kind}).status_code != 406


def test_ranges_beyond_those_that_anybody_sends_are_not_read():
    assert best_of("," * 63 + "text/csv", ["application/json", "text/csv"]) == "text/csv"
    assert best_of("," * 64 + "text/csv", ["application/json", "text/csv"]) is None


def test_a_long_header_is_not_said_back_whole(client: httpx2.Client):
    answer = client.get("/v1/mixtures/demo/plan", headers={"Accept": "x/" + "y" * 8_000})
    assert answer.status_code == 406
    assert len(answer.content) < 1000
