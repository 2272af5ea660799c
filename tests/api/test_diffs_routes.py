"""/v1/mixtures/{ref}/diff/{other}: what `mixture diff` prints, in every format."""

from __future__ import annotations

import io
import json
from fractions import Fraction

import httpx2
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask
from fastapi import FastAPI
from pyarrow import csv

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.lock import read_lock
from mixture.planning.compare import diff, diff_json, diff_markdown, side_of

MARIN, ANNOUNCED = "marin-535b-a23b", "marin-announced-80-20"
HERE = f"/v1/mixtures/{ANNOUNCED}/diff/{MARIN}"


def sides():
    return [side_of(read_lock(MIXTURES / name / "mixture.lock.json"), name=name) for name in (ANNOUNCED, MARIN)]


def test_the_object_is_that_of_the_library_and_changes_are_the_second_ones(client: httpx2.Client):
    said = client.get(HERE).raise_for_status().json()
    assert said == json.loads(json.dumps(diff_json(diff(*sides()))))
    assert (said["a"]["name"], said["b"]["name"]) == (ANNOUNCED, MARIN)
    assert sum(Fraction(move["weight_change"]["ratio"]) for move in said["moves"]) == 0
    back = client.get(f"/v1/mixtures/{MARIN}/diff/{ANNOUNCED}").raise_for_status().json()
    assert [move["tokens_change"] for move in back["moves"]] == [-move["tokens_change"] for move in said["moves"]]


def test_groups_are_by_a_column_of_both_catalogs(client: httpx2.Client):
    said = client.get(HERE, params={"by": "cluster"}).raise_for_status().json()
    assert len(said["moves"]) == 40
    assert {move["domains"] for move in said["moves"]} == {5}
    assert sum(move["b"]["tokens_drawn"] for move in said["moves"]) == said["b"]["tokens"]


def test_rows_are_the_moves_in_other_formats(client: httpx2.Client):
    moves = client.get(HERE).json()["moves"]
    parquet = pq.read_table(io.BytesIO(client.get(f"{HERE}.parquet").raise_for_status().content))
    text = csv.read_csv(io.BytesIO(client.get(HERE, headers={"Accept": "text/csv"}).content))
    assert parquet.column_names == text.column_names
    for table in (parquet, text):
        assert table["domain"].to_pylist() == [move["domain"] for move in moves]
        assert table["tokens_drawn_b"].to_pylist() == [move["b"]["tokens_drawn"] for move in moves]
        assert table["tokens_drawn_change"].to_pylist() == [move["tokens_change"] for move in moves]
        weights = [float(Fraction(move["weight_change"]["ratio"])) for move in moves]
        assert table["weight_change"].to_pylist() == pytest.approx(weights)
    groups = csv.read_csv(io.BytesIO(client.get(f"{HERE}.csv", params={"by": "cluster"}).content))
    assert groups.column_names[:2] == ["group", "domains"]


def test_one_that_lacks_domains_has_no_figures_of_them(client: httpx2.Client):
    table = csv.read_csv(io.BytesIO(client.get(f"/v1/mixtures/demo/diff/{MARIN}.csv").raise_for_status().content))
    rows = {row["domain"]: row for row in table.to_pylist()}
    assert (rows["books"]["tokens_b"], rows["books"]["epochs_change"]) == (None, None)
    assert rows["c00q0"]["weight_a"] is None


def test_markdown_is_that_of_the_command(client: httpx2.Client):
    answer = client.get(f"{HERE}/markdown").raise_for_status()
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.text == diff_markdown(diff(*sides()))


def test_what_two_digests_name_holds_for_good_and_what_a_name_does_not(client: httpx2.Client):
    digests = [read_lock(MIXTURES / name / "mixture.lock.json").digest for name in (ANNOUNCED, MARIN)]
    first, second = (f"{name}@sha256:{digest}" for name, digest in zip((ANNOUNCED, MARIN), digests, strict=True))
    pinned = client.get(f"/v1/mixtures/{first}/diff/{second}").raise_for_status()
    assert "immutable" in pinned.headers["cache-control"]
    for address in (f"/v1/mixtures/{first}/diff/{MARIN}", f"/v1/mixtures/{ANNOUNCED}/diff/{second}"):
        assert "immutable" not in client.get(address).headers["cache-control"]
    again = client.get(f"/v1/mixtures/{first}/diff/{second}", headers={"If-None-Match": pinned.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("/v1/mixtures/demo/diff/dem", 404, "unknown-mixture"),
        ("/v1/mixtures/dem/diff/demo", 404, "unknown-mixture"),
        (f"{HERE}?by=clustr", 422, "unknown-column"),
        (f"{HERE}?bye=cluster", 422, "unknown-parameter"),
        (f"/v1/mixtures/demo/diff/{MARIN}?by=cluster", 422, "unknown-column"),
    ],
)
def test_what_is_not_there_is_a_problem(client: httpx2.Client, address: str, status: int, code: str):
    answer = client.get(address)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_an_unknown_column_has_its_pointer_and_the_nearest_one(client: httpx2.Client):
    said = client.get(HERE, params={"by": "clustr"}).json()
    assert said["hint"] == "did you mean 'cluster'?"
    assert said["errors"][0]["pointer"] == "/by"


def test_more_rows_than_an_answer_may_have_are_refused():
    app: FastAPI = create_app(Settings(mixtures_dirs=(MIXTURES,), max_rows=100))
    try:
        answer = ask(app, "GET", HERE)
        assert (answer.status_code, answer.json()["code"]) == (422, "too-many-rows")
    finally:
        app.state.services.close()
