"""/v1/mixtures/{ref}/traces, reads, read-so-far: the library's traces over HTTP, in pages, formats and bounds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask
from fastapi import FastAPI
from mixture_folder import write_mixture
from traced_store import traced_store

from mixture.data.store import Store, write_holes
from mixture.lock import Lock, read_lock
from mixture.stream import read_so_far, trace_documents, trace_range

SPEC = """\
mixture: traced
catalog: {store}
tokenizer: bytes
sequence_length: 64
batch: 24 sequences
budget: 60 steps
phases:
  - phase: first
    until: step 30
    weights: {{code: 40%, held: 0, web: 60%}}
  - phase: second
    sequence_length: 128
    weights: {{code: 70%, held: 0, web: 30%}}
"""
AT = "/v1/mixtures/traced"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return traced_store(tmp_path_factory.mktemp("traced") / "made", {"code": 100, "held": 9, "web": 200})


@pytest.fixture(scope="module")
def app(make_shared_app, tmp_path_factory: pytest.TempPathFactory, store: Store) -> FastAPI:
    folder = tmp_path_factory.mktemp("mixture") / "traced"
    write_mixture(folder, SPEC.format(store=store.path))
    return make_shared_app(mixtures_dirs=(folder, MIXTURES), store_dirs=(store.path,))


@pytest.fixture
def lock(app: FastAPI) -> Lock:
    found: Lock = app.state.services.mixture("traced").lock
    return found


def get(app: FastAPI, address: str, **query: Any) -> Any:
    return ask(app, "GET", address, params=query).raise_for_status().json()


@pytest.mark.parametrize("first_step", [0, 25, 60])
def test_documents_are_traced_with_how_often_and_when_next(app: FastAPI, lock: Lock, store: Store, first_step: int):
    ids = ["web/7", "code/0", "held/2"]
    rows = get(app, f"{AT}/traces", document=ids, first_step=first_step)["items"]
    traces = trace_documents(lock, store, ids, first_step=first_step)
    assert [(row["document"], row["domain"], row["times"]) for row in rows] == [
        (one.document.id, one.domain, one.times) for one in traces if one.document
    ]
    for row, one in zip(rows, traces, strict=True):
        assert one.document is not None
        assert row["attributes"] == dict(one.document.attributes)
        reads = list(one.reads())
        assert row["next"] is None if not reads else row["next"]["position"] == reads[0].position
        if row["domain"] != "held":
            page = ask(app, "GET", row["links"]["reads"]).raise_for_status().json()
            assert [item["position"] for item in page["items"]] == [read.position for read in reads]
            assert page["times"] == len(reads)
            assert (row["times_down"], page["times_down"]) == (0, 0)


def test_reads_come_in_pages_that_join_and_say_which_part_is_read(app: FastAPI, lock: Lock):
    expected = list(trace_range(lock, "code", 900, 500, first_step=3).reads())
    found, url = [], f"{AT}/reads?domain=code&first_token=900&last_token=1399&first_step=3&limit=7"
    while url:
        body = ask(app, "GET", url).raise_for_status().json()
        assert len(body["items"]) <= 7
        assert body["times"] == len(expected)
        found, url = found + body["items"], body["next_url"]
    assert [(row["position"], row["from_token"], row["to_token"]) for row in found] == [
        (read.position, read.from_token, read.to_token) for read in expected
    ]
    one = get(app, f"{AT}/reads", domain="web", first_token=4_321)
    places = get(app, f"{AT}/find", domain="web", token=4_321)["items"]
    assert places == [{name: row[name] for name in ("position", "step", "slot", "epoch")} for row in one["items"]]


def test_what_was_read_so_far_is_summed_and_paged(app: FastAPI, lock: Lock, store: Store):
    for by in ("domain", "license", "quality"):
        found = read_so_far(lock, store, 40, by=by)
        body = get(app, f"{AT}/read-so-far", step=40, by=by)
        assert [(row["value"], row["documents"], row["tokens"]) for row in body["items"]] == [
            (one.value, one.documents, one.tokens) for one in found.values
        ]
        assert body["total"]["tokens_with_repeats"] == int(lock.schedule().tokens(40).sum())
    first = get(app, f"{AT}/read-so-far", step=40, by="license", limit=3)
    rest = ask(app, "GET", first["next_url"]).raise_for_status().json()
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (3, 1, None)
    assert get(app, f"{AT}/read-so-far", step=0)["items"] == []


def test_traces_are_tables_too(app: FastAPI, lock: Lock, store: Store):
    def table(address: str) -> list[dict[str, Any]]:
        return pq.read_table(io.BytesIO(ask(app, "GET", address).raise_for_status().content)).to_pylist()

    (row, _) = table(f"{AT}/traces.parquet?document=web/7&document=held/2")
    (item, _) = get(app, f"{AT}/traces", document=["web/7", "held/2"])["items"]
    assert row["next_position"] == item["next"]["position"]
    assert row["attribute_source"] == item["attributes"]["source"]
    assert (
        table(f"{AT}/read-so-far.parquet?step=40&by=quality")
        == get(app, f"{AT}/read-so-far", step=40, by="quality")["items"]
    )
    reads = table(f"{AT}/reads.parquet?domain=code&first_token=9&last_token=78")
    assert reads == get(app, f"{AT}/reads", domain="code", first_token=9, last_token=78)["items"]
    many = f"{AT}/reads", "domain=code&first_token=0&last_token=5999"
    expected = [read.position for read in trace_range(lock, "code", 0, 6000).reads()]
    assert len(expected) > 100, "more than a page of JSON has"
    assert [row["position"] for row in table(f"{many[0]}.parquet?{many[1]}")] == expected
    assert len(table(f"{AT}/read-so-far.parquet?step=40&by=source")) == len(
        read_so_far(lock, store, 40, by="source").values
    )


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("traces?document=wob/7", 404, "unknown-document"),
        ("traces", 422, "invalid-request"),
        ("traces?document=web/7&first_step=61", 422, "step-out-of-range"),
        ("reads?domain=wob&first_token=1", 422, "unknown-domain"),
        ("reads?domain=web&first_token=999999999", 422, "token-out-of-range"),
        ("reads?domain=web&first_token=1&first_step=61", 422, "step-out-of-range"),
        ("read-so-far?step=61", 422, "step-out-of-range"),
        ("read-so-far?step=5&by=licenze", 422, "unknown-column"),
    ],
)
def test_what_there_is_not_is_a_problem(app: FastAPI, address: str, status: int, code: str):
    answer = ask(app, "GET", f"{AT}/{address}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_without_a_store_only_ranges_are_traced(app: FastAPI):
    for address in ("traces?document=a", "read-so-far?step=5"):
        answer = ask(app, "GET", f"/v1/mixtures/marin-535b-a23b/{address}")
        assert (answer.status_code, answer.json()["code"]) == (404, "store-missing")
    schedule = read_lock(MIXTURES / "marin-535b-a23b" / "mixture.lock.json").schedule()
    row = schedule.at([4 * 10**9])
    name, token = schedule.names[row.domain[0]], int(row.first_token[0]) + 9
    body = get(app, "/v1/mixtures/marin-535b-a23b/reads", domain=name, first_token=token, first_step=100_000)
    assert 4 * 10**9 in [item["position"] for item in body["items"]]


def test_what_would_take_long_is_refused_at_once(make_app, tmp_path: Path):
    source = MIXTURES / "marin-535b-a23b"
    lock = read_lock(source / "mixture.lock.json")
    sizes = {domain.name: domain.tokens for domain in lock.data.domains}
    write_holes(tmp_path / "holes", sizes, tokenizer=lock.tokenizer or "")
    app = make_app(store_dirs=(tmp_path / "holes",), mixtures_dirs=(source,))
    for address, code in (
        ("traces?document=c26q4", "range-too-long"),
        ("reads?domain=c26q4&first_token=0&last_token=999999999", "range-too-long"),
        ("read-so-far?step=390000", "too-much-read"),
    ):
        answer = ask(app, "GET", f"/v1/mixtures/marin-535b-a23b/{address}")
        assert (answer.status_code, answer.json()["code"]) == (422, code)
