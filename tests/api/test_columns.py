"""Columns of a catalog that groups are made by: any that there are, but for what an answer says itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from api_helpers import ask
from fastapi import FastAPI
from mixture_folder import write_mixture

from mixture.api.database import Scope

SPEC = """\
mixture: odd
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: all
    weights: uniform
"""
CELLS = """\
domain,tokens,share,weight,"kind, rough",the kind
a,200000,1,2,x,p
b,90000,1,3,y,p
c,90000,2,3,y,q
"""


@pytest.fixture
def app(make_app, tmp_path: Path) -> FastAPI:
    write_mixture(tmp_path / "odd", SPEC, cells=CELLS)
    made: FastAPI = make_app(mixtures_dirs=(tmp_path / "odd",))
    return made


@pytest.fixture
def run(app: FastAPI) -> str:
    secret = app.state.services.repository.add_token("trainer", [Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    made: str = ask(app, "POST", "/v1/runs", json={"mixture": "odd"}, headers=headers).raise_for_status().json()["id"]
    return made


def items(app: FastAPI, address: str, by: str | list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(app, "GET", address, params={"by": by}).raise_for_status().json()["items"]
    return found


def test_a_column_is_refused_only_where_the_answer_has_one_of_that_name(app: FastAPI, run: str):
    planned, read, sums = "/v1/mixtures/odd/composition", f"/v1/runs/{run}/composition", "/v1/catalogs/odd/sums"
    for address, column, keys in ((planned, "share", [1, 2]), (read, "share", [1, 2]), (sums, "weight", [2, 3])):
        assert [row[column] for row in items(app, address, column)] == keys
    for address, column in ((planned, "weight"), (read, "weight"), (sums, "share"), (sums, "tokens"), (read, "tokens")):
        answer = ask(app, "GET", address, params={"by": column})
        assert (answer.status_code, answer.headers["x-error-code"]) == (422, "bad-columns")
        assert answer.json()["errors"][0]["pointer"] == "/by"
        assert answer.json()["facts"] == {"column": column}


def test_a_name_with_a_comma_or_spaces_stands_alone(app: FastAPI):
    address = "/v1/mixtures/odd/composition"
    assert [row["kind, rough"] for row in items(app, address, "kind, rough")] == ["x", "y"]
    both = items(app, address, ["kind, rough", "the kind"])
    assert [(row["kind, rough"], row["the kind"], row["domains"]) for row in both] == [
        ("x", "p", 1),
        ("y", "p", 1),
        ("y", "q", 1),
    ]
    assert items(app, address, "share, the kind") == items(app, address, ["share", "the kind"])


@pytest.mark.parametrize(
    ("by", "code"),
    [
        ("kind", "unknown-column"),
        ("the kind,,domain", "unknown-column"),
        (["share", "the kind,share"], "bad-columns"),
        ("x" * 1001, "invalid-request"),
        ("x" * 1000, "unknown-column"),
        (["share"] * 21, "invalid-request"),
    ],
)
def test_what_is_no_list_of_columns_is_refused(app: FastAPI, by: str | list[str], code: str):
    for address in ("/v1/mixtures/odd/composition", "/v1/catalogs/odd/sums"):
        answer = ask(app, "GET", address, params={"by": by})
        assert (answer.status_code, answer.headers["x-error-code"]) == (422, code)
        assert len(answer.content) < 2000
