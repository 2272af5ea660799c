"""/v1/mixtures/{ref}/composition: planned tokens, weights and epochs, of any stretch, in every format."""

from __future__ import annotations

import io
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask
from mixture_folder import write_mixture
from pyarrow import csv

from mixture.lock import read_lock
from mixture.planning.catalog import read_catalog

NAMES = ["demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics"]
MARIN = "/v1/mixtures/marin-535b-a23b/composition"


def items(client: httpx2.Client, address: str, **params: object) -> list[dict[str, Any]]:
    return client.get(address, params=params).raise_for_status().json()["items"]


@pytest.mark.parametrize("name", NAMES)
def test_the_run_and_its_phases_are_those_of_the_plan(client: httpx2.Client, name: str):
    here, plan = f"/v1/mixtures/{name}/composition", client.get(f"/v1/mixtures/{name}/plan").json()
    column = client.get(f"/v1/catalogs/{name}").json()["domain_column"]
    run = {row[column]: row for row in items(client, here)}
    assert list(run) == [domain["domain"] for domain in plan["domains"]]
    for domain in plan["domains"]:
        row = run[domain["domain"]]
        assert row["tokens"] == row["tokens_so_far"] == domain["tokens_drawn"]
        assert row["epochs"] == float(Fraction(domain["epochs"]["ratio"]))
    for phase in plan["phases"]:
        rows = items(client, here, phase=phase["phase"])
        assert [row["sequences"] for row in rows] == [one["sequences"] for one in phase["domains"]]
        assert [row["tokens"] for row in rows] == [one["tokens"] for one in phase["domains"]]
        assert {row["phase"] for row in rows} == {phase["phase"]}
        for row, one in zip(rows, phase["domains"], strict=True):
            few = 3.36 / phase["sequences"]  # the bound of the schedule
            assert row["weight"] == pytest.approx(float(Fraction(one["weight"]["ratio"])), abs=few)


def test_steps_are_those_of_the_schedule(client: httpx2.Client):
    schedule = read_lock(MIXTURES / "marin-535b-a23b" / "mixture.lock.json").schedule()
    rng = random.Random(11)
    for _ in range(15):
        first, last = sorted((rng.randrange(schedule.steps), rng.randrange(schedule.steps)))
        for params, begin, end in (
            ({"step": first}, first, first + 1),
            ({"first_step": first, "last_step": last}, first, last + 1),
            ({"first_step": first}, first, schedule.steps),
            ({"last_step": last}, 0, last + 1),
        ):
            rows = items(client, MARIN, **params)
            drawn = (schedule.counts(end) - schedule.counts(begin)).tolist()
            assert [row["domain"] for row in rows] == list(schedule.names)
            assert [row["sequences"] for row in rows] == drawn
            assert [row["tokens_so_far"] for row in rows] == schedule.tokens(end).tolist()
            assert {(row["first_step"], row["last_step"]) for row in rows} == {(begin, end - 1)}
            assert sum(row["weight"] for row in rows) == pytest.approx(1)


def test_any_columns_of_the_catalog_sum_up_to_the_domains(client: httpx2.Client):
    catalog = read_catalog(MIXTURES / "marin-535b-a23b" / "cells.csv")
    cells = {row["domain"]: row for row in catalog.table.to_pylist()}
    domains = items(client, MARIN, step=200_000)
    for by in ("cluster", "quality", "cluster,quality", "quality, cluster", "title"):
        names = [name.strip() for name in by.split(",")]
        rows = items(client, MARIN, step=200_000, by=by)
        for row in rows:
            inside = [one for one in domains if all(cells[one["domain"]][name] == row[name] for name in names)]
            assert row["domains"] == len(inside)
            assert row["tokens"] == sum(one["tokens"] for one in inside)
            assert row["tokens_so_far"] == sum(one["tokens_so_far"] for one in inside)
        keys = [tuple(row[name] for name in names) for row in rows]
        assert keys == sorted(keys)
        assert sum(row["domains"] for row in rows) == 200
    (whole,) = items(client, MARIN, step=200_000, by="")
    assert (whole["domains"], whole["tokens"], whole["weight"]) == (200, 46_137_344, 1.0)


def test_a_condition_chooses_domains_and_leaves_their_weights(client: httpx2.Client):
    every = {row["domain"]: row for row in items(client, MARIN, phase="main")}
    some = items(client, MARIN, phase="main", where="cluster = 'c14' and quality >= 3")
    assert [row["domain"] for row in some] == ["c14q3", "c14q4"]
    assert some == [every[row["domain"]] for row in some]
    assert items(client, MARIN, where="tokens < 0") == []
    (none,) = items(client, MARIN, where="tokens < 0", by="")
    assert (none["domains"], none["tokens"], none["weight"]) == (0, 0, 0.0)
    assert (none["epochs"], none["epochs_so_far"]) == (None, None)


def test_points_cut_a_stretch_for_a_chart(client: httpx2.Client):
    rows = items(client, MARIN, by="quality", points=50)
    assert len(rows) == 250
    whole = items(client, MARIN, by="quality")
    for one in whole:
        parts = [row for row in rows if row["quality"] == one["quality"]]
        assert sum(row["tokens"] for row in parts) == one["tokens"]
        assert parts[-1]["tokens_so_far"] == one["tokens"]
        assert [a["last_step"] + 1 for a in parts[:-1]] == [b["first_step"] for b in parts[1:]]
    assert len(items(client, MARIN, by="", first_step=7, last_step=9, points=1000)) == 3


def test_points_at_phases_are_the_phases(client: httpx2.Client):
    phases = [items(client, MARIN, by="cluster", phase=phase) for phase in ("initial", "main", "cooldown")]
    assert items(client, MARIN, by="cluster", points="phases") == [row for rows in phases for row in rows]
    inside = items(client, MARIN, by="", points="phases", first_step=100_000, last_step=108_000)
    assert [(row["first_step"], row["last_step"], row["phase"]) for row in inside] == [
        (100_000, 107_999, "initial"),
        (108_000, 108_000, "main"),
    ]


def test_every_format_holds_the_same_rows(client: httpx2.Client):
    address = "?by=cluster,quality&phase=main&points=3"
    rows = client.get(f"{MARIN}.json{address}").json()["items"]
    assert len(rows) == 600
    arrow = pa.ipc.open_stream(client.get(f"{MARIN}.arrow{address}").content).read_all()
    parquet = pq.read_table(io.BytesIO(client.get(f"{MARIN}.parquet{address}").content))
    text = csv.read_csv(io.BytesIO(client.get(f"{MARIN}{address}", headers={"Accept": "text/csv"}).content))
    assert arrow.to_pylist() == parquet.to_pylist() == text.to_pylist() == rows
    assert arrow.schema.field("tokens").type == pa.int64()


@pytest.mark.parametrize(
    ("query", "code", "pointer"),
    [
        ("by=clustre", "unknown-column", "/by"),
        ("by=tokens", "bad-columns", "/by"),
        ("by=cluster,cluster", "bad-columns", "/by"),
        ("by=cluster,", "unknown-column", "/by"),
        ("step=390251", "step-out-of-range", "/step"),
        ("first_step=390251", "step-out-of-range", "/first_step"),
        (f"last_step={'9' * 4000}", "step-out-of-range", "/last_step"),
        ("first_step=5&last_step=4", "bad-range", "/last_step"),
        ("step=5&phase=main", "bad-range", None),
        ("step=5&last_step=6", "bad-range", None),
        ("phase=main&first_step=1", "bad-range", None),
        ("phase=mian", "unknown-phase", "/phase"),
        ("step=-1", "invalid-request", "/step"),
        ("step=NaN", "invalid-request", "/step"),
        ("points=0", "invalid-request", "/points"),
        ("points=1001", "invalid-request", "/points"),
        ("points=all", "invalid-request", "/points"),
        ("points=1000&by=domain", "too-many-rows", "/points"),
        ("where=qualty%20%3D%201", "unknown-column", None),
        ("where=", "bad-condition", None),
    ],
)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_what_is_no_stretch_of_the_run_and_no_column_is_a_problem(
    client: httpx2.Client, query: str, code: str, pointer: str | None, form: str
):
    answer = client.get(f"{MARIN}.{form}?{query}")
    assert (answer.status_code, answer.headers["x-error-code"]) == (422, code)
    if pointer is not None:
        assert answer.json()["errors"][0]["pointer"] == pointer


def test_problems_have_the_nearest_name_and_the_limit(client: httpx2.Client, make_app):
    assert client.get(f"{MARIN}?by=clustre").json()["hint"] == "did you mean 'cluster'?"
    assert client.get(f"{MARIN}?phase=mian").json()["hint"] == "did you mean 'main'?"
    assert (
        client.get(f"{MARIN}?phase=x").json()["hint"] == "its phases: initial, main, cooldown; or a number, from 1 to 3"
    )
    assert items(client, MARIN, by="cluster", phase="2") == items(client, MARIN, by="cluster", phase="main")
    for number in ("0", "4", "99999999999999999999", "٢"):
        assert client.get(f"{MARIN}?phase={number}").headers["x-error-code"] == "unknown-phase"
    problem = ask(
        make_app(max_rows=399, mixtures_dirs=(MIXTURES / "marin-535b-a23b",)), "GET", f"{MARIN}?points=2"
    ).json()
    assert (problem["code"], problem["facts"]) == ("too-many-rows", {"max_rows": 399})


def test_an_answer_holds_for_good_where_the_digest_is_named(client: httpx2.Client):
    ref = client.get("/v1/mixtures/demo").json()["ref"]
    pinned = client.get(f"/v1/mixtures/{ref}/composition?step=3")
    assert "immutable" in pinned.headers["cache-control"]
    again = client.get(f"/v1/mixtures/{ref}/composition?step=3", headers={"If-None-Match": pinned.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"/v1/mixtures/{ref}/composition?step=4", headers={"If-None-Match": pinned.headers["etag"]})
    assert other.status_code == 200


SPEC = """\
mixture: odd
catalog: {table: cells.csv, domain: cell}
sequence_length: 65536
batch: 65536 sequences
budget: 4000000 steps
accept: [over-epochs]
phases:
  - phase: all
    weights: {a: 1/2, b: 1/2, none: 0}
"""
CELLS = """\
cell,kind,weight,max_epochs,tokens
a,x,1,4.5,4611686018427387903
b,x,2,,4611686018427387902
none,,3,0.1,0
"""


def test_sums_beyond_what_a_float_holds_are_exact_and_decimals_stay_as_they_are(make_app, tmp_path: Path):
    spec = SPEC.replace("1/2", "50%")
    lock = write_mixture(tmp_path / "odd", spec, cells=CELLS)
    app, here = make_app(mixtures_dirs=(tmp_path / "odd",)), "/v1/mixtures/odd/composition"
    rows = ask(app, "GET", f"{here}?last_step=3999998").json()["items"]
    assert [row["cell"] for row in rows] == ["a", "b", "none"]
    assert [row["tokens"] for row in rows] == lock.schedule().tokens(3_999_999).tolist()
    assert sum(row["tokens"] for row in rows) == 3_999_999 << 32 > 2**53
    (whole,) = ask(app, "GET", f"{here}?by=").json()["items"]
    assert whole["epochs"] == (4_000_000 << 32) / (2 * 4611686018427387903 - 1)
    by_cap = ask(app, "GET", f"{here}?by=max_epochs&step=5")
    assert [row["max_epochs"] for row in json.loads(by_cap.text, parse_float=str)["items"]] == ["0.1", "4.5", None]
    assert [row["kind"] for row in ask(app, "GET", f"{here}?by=kind&step=5").json()["items"]] == ["x", None]
    refused = ask(app, "GET", f"{here}?by=weight")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-columns")
