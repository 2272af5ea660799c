"""/v1/mixtures/{ref}/steps/{step}: what a step reads, by domain, by sequence, and which documents that is."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask
from data.makers import bare_store
from fastapi import FastAPI
from mixture_folder import write_mixture
from stream_helpers import DOMAINS, make_store

from mixture.api.answers.lists import encode_cursor
from mixture.data.ingest import ingest
from mixture.data.layout import attribute_value
from mixture.data.store import Store, open_store
from mixture.lock import read_lock
from mixture.stream import open_stream

SPEC = """\
mixture: small
catalog: {store}
tokenizer: bytes
sequence_length: 64
batch: 24 sequences
budget: 30 steps
shuffle: {{block: 256 tokens, window: 2 blocks}}
phases:
  - phase: first
    until: step 17
    weights: {{code: 30%, notes: 10%, web: 60%}}
  - phase: second
    batch: 10 sequences
    weights: {{code: 50%, notes: 0, web: 50%}}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("steps") / "made", DOMAINS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Path:
    folder = tmp_path_factory.mktemp("mixture") / "small"
    write_mixture(folder, SPEC.format(store=store.path))
    return folder


@pytest.fixture(scope="module")
def app(make_shared_app, folder: Path, store: Store) -> FastAPI:
    return make_shared_app(mixtures_dirs=(folder, MIXTURES), store_dirs=(store.path,))


def all_items(app: FastAPI, url: str | None) -> list[dict[str, Any]]:
    found = []
    while url:
        body = ask(app, "GET", url).raise_for_status().json()
        found, url = found + body["items"], body["next_url"]
    return found


def test_a_step_is_what_the_schedule_draws_in_it(client: httpx2.Client):
    schedule = read_lock(MIXTURES / "marin-535b-a23b" / "mixture.lock.json").schedule()
    rng = random.Random(1)
    for step in (0, schedule.steps - 1, *(rng.randrange(schedule.steps) for _ in range(5))):
        shown = client.get(f"/v1/mixtures/marin-535b-a23b/steps/{step}").json()
        drawn = dict(zip(schedule.names, (schedule.counts(step + 1) - schedule.counts(step)).tolist(), strict=True))
        assert {one["domain"]: one["sequences"] for one in shown["domains"]} == {k: n for k, n in drawn.items() if n}
        assert sum(one["tokens"] for one in shown["domains"]) == shown["tokens"] == 46_137_344
        assert shown["first_position"] == schedule.positions_before(step)
        assert shown["history"] == schedule.history(step)
    assert shown["phase"] in ("initial", "main", "cooldown")


def test_a_step_leads_to_its_sequences(client: httpx2.Client):
    shown = client.get("/v1/mixtures/marin-535b-a23b/steps/311999").json()
    items = client.get(shown["links"]["sequences"]).json()["items"]
    assert [one["slot"] for one in items] == list(range(20))
    assert {one["step"] for one in items} == {311_999}
    assert {one["documents"] for one in items} == {None}


def test_pages_of_slots_make_the_whole_step(app: FastAPI):
    for step, size in ((3, 24), (16, 24), (17, 10), (29, 10)):
        first = ask(app, "GET", f"/v1/mixtures/small/steps/{step}").json()["first_position"]
        rows = ask(
            app, "GET", f"/v1/mixtures/small/positions?first_position={first}&last_position={first + size - 1}"
        ).json()["items"]
        items = all_items(app, f"/v1/mixtures/small/steps/{step}/sequences?limit=7")
        assert [{k: v for k, v in one.items() if k != "documents"} for one in items] == rows


def test_a_sequence_has_the_documents_that_its_tokens_come_from(app: FastAPI, store: Store, folder: Path):
    lock = read_lock(folder / "mixture.lock.json")
    for batch in open_stream(lock, store):
        items = all_items(app, f"/v1/mixtures/small/steps/{batch.step}/sequences?limit=200")
        for one, tokens in zip(items, batch.input_ids.tolist(), strict=True):
            # Every document that the store has is told apart by its text: put together, they hold the row.
            text = b"".join(DOMAINS[one["domain"]][held["id"]].encode() + b"\n" for held in one["documents"])
            skipped = one["first_token"] - one["documents"][0]["first_token"]
            assert skipped >= 0
            row = bytes(10 if token == store.end_of_document else token for token in tokens)
            assert text[skipped : skipped + 64] == row
            lengths = [held["tokens"] for held in one["documents"]]
            assert skipped < lengths[0]
            assert sum(lengths[:-1]) < skipped + 64 <= sum(lengths)


def test_documents_come_with_their_attributes(make_app, tmp_path: Path):
    store = bare_store(tmp_path / "store", {"a": [40] * 50, "b": [7] * 400})
    cells = "domain,tokens\na,2000\nb,2800\n"
    spec = SPEC.format(store="cells.csv").replace("tokenizer: bytes", "tokenizer: t")
    spec = spec.replace("code: 30%, notes: 10%, web: 60%", "a: 0.5, b: 0.5")
    write_mixture(tmp_path / "m", spec.replace("code: 50%, notes: 0, web: 50%", "a: 1"), cells=cells)
    app = make_app(mixtures_dirs=(tmp_path / "m",), store_dirs=(tmp_path / "store",))
    held = open_store(store)
    for one in all_items(app, "/v1/mixtures/small/steps/5/sequences"):
        table = held.documents(one["domain"], one["first_token"], one["tokens"])
        for document, row in zip(one["documents"], table.to_pylist(), strict=True):
            begin = max(0, one["first_token"] - row["first_token"])
            end = min(row["tokens"], one["first_token"] + one["tokens"] - row["first_token"])
            assert document == row | {"from_token": begin, "to_token": end}
        assert list(one["documents"][0]) == [*table.column_names, "from_token", "to_token"]


def test_what_json_has_no_number_for_is_text():
    assert [attribute_value(x) for x in (float("nan"), float("-inf"), 2.5, 3, True, "3", None)] == [
        "NaN", "-Infinity", 2.5, 3, True, "3", None,
    ]  # fmt: skip


def test_numeric_attributes_are_numbers_in_json_and_texts_on_pages_and_in_tables(make_app, tmp_path: Path):
    lines = (
        json.dumps(
            {"id": f"d{i}", "text": "some text " * 9, "stars": i, "score": i / 8, "kept": i % 2 == 0, "note": str(i)}
        )
        for i in range(40)
    )
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    named = "attributes: [stars, score, kept, note]"
    (tmp_path / "sources.yaml").write_text(f"domains: {{a: {{files: [a.jsonl], text: text, id: id, {named}}}}}\n")
    ingest(tmp_path / "sources.yaml", tmp_path / "store")
    spec = "mixture: numbers\ncatalog: ../store\ntokenizer: bytes\nsequence_length: 64\nbatch: 8 sequences\n"
    write_mixture(tmp_path / "numbers", spec + "budget: 5 steps\nphases: [{phase: all, weights: uniform}]\n")
    app = make_app(mixtures_dirs=(tmp_path / "numbers",), store_dirs=(tmp_path / "store",))
    documents = [one for row in all_items(app, "/v1/mixtures/numbers/steps/0/sequences") for one in row["documents"]]
    for one in documents:
        number = int(one["id"].removeprefix("d"))
        assert (one["stars"], one["score"], one["note"]) == (number, number / 8, str(number))
        assert one["kept"] is (number % 2 == 0)
    name = documents[0]["id"]
    (trace,) = ask(app, "GET", f"/v1/mixtures/numbers/traces?document={name}").json()["items"]
    assert trace["attributes"] == {key: documents[0][key] for key in ("kept", "note", "score", "stars")}
    address = "/v1/mixtures/numbers/steps/0/sequences.parquet"
    table = pq.read_table(pa.BufferReader(ask(app, "GET", address).raise_for_status().content))
    assert table["document_kept"].to_pylist()[0] == ("true" if documents[0]["kept"] else "false")
    assert table["document_stars"].to_pylist()[0] == str(documents[0]["stars"])
    for page in ("steps/0", f"trace?document={name}"):
        assert ask(app, "GET", f"/mixtures/numbers/{page}").status_code == 200
    (example, *_) = ask(app, "GET", "/v1/catalogs/numbers/domains/a/examples?kind=random").json()["items"]
    assert example["attributes"]["score"] == int(example["id"].removeprefix("d")) / 8


def test_a_steps_sequences_come_as_tables_of_a_row_a_document(app: FastAPI, store: Store):
    address = "/v1/mixtures/small/steps/3/sequences"
    for limit in (24, 7):
        url: str | None = f"{address}.parquet?limit={limit}"
        tables = []
        while url:
            answer = ask(app, "GET", url).raise_for_status()
            tables.append(pq.read_table(pa.BufferReader(answer.content)))
            url = answer.links.get("next", {}).get("url")
        assert len(tables) == -(-24 // limit)
        expected = [
            {name: one[name] for name in one if name != "documents"}
            | {f"document_{name}": value for name, value in held.items()}
            for one in all_items(app, address)
            for held in one["documents"]
        ]
        assert pa.concat_tables(tables).to_pylist() == expected
    csv = pyarrow.csv.read_csv(pa.BufferReader(ask(app, "GET", f"{address}.csv?limit=24").content))
    assert csv.to_pylist() == expected


def test_a_table_without_a_limit_has_all_of_a_step_however_it_is_read(app: FastAPI, monkeypatch: pytest.MonkeyPatch):
    marin = "/v1/mixtures/marin-535b-a23b/steps/450/sequences"
    answer = ask(app, "GET", f"{marin}.csv?rank=3&world_size=4").raise_for_status()
    table = pyarrow.csv.read_csv(pa.BufferReader(answer.content))
    assert table["slot"].to_pylist() == list(range(3 * 2816, 4 * 2816)), "read 200 slots at a time"
    assert "link" not in answer.headers
    assert len(ask(app, "GET", f"{marin}?rank=3&world_size=4").json()["items"]) == 20
    address = "/v1/mixtures/small/steps/3/sequences"
    expected = ask(app, "GET", f"{address}.parquet?limit=24").raise_for_status()
    monkeypatch.setattr("mixture.api.routes.steps.MOST_SLOTS", 7)
    for size in (7, 200):
        monkeypatch.setattr("mixture.api.routes.steps.MOST_SLOTS", size)
        whole = ask(app, "GET", f"{address}.parquet").raise_for_status()
        rows = pq.read_table(pa.BufferReader(whole.content))
        assert rows.to_pylist() == pq.read_table(pa.BufferReader(expected.content)).to_pylist()
        tag = {"If-None-Match": whole.headers["etag"]}
        assert ask(app, "GET", f"{address}.parquet", headers=tag).status_code == 304
        part = ask(app, "GET", f"{address}.parquet", headers={"Range": "bytes=0-3"})
        assert (part.status_code, part.content) == (206, b"PAR1")
    rest = ask(app, "GET", f"{address}.csv?cursor={encode_cursor(19)}").raise_for_status()
    assert set(pyarrow.csv.read_csv(pa.BufferReader(rest.content))["slot"].to_pylist()) == {20, 21, 22, 23}


def test_a_table_that_has_too_many_rows_is_refused_and_not_cut(make_app):
    app = make_app(max_rows=100, mixtures_dirs=(MIXTURES,))
    for address in (
        "mixtures/marin-535b-a23b/steps/450/sequences.csv",
        "mixtures/marin-535b-a23b/reads.parquet?domain=c12q3&first_token=0&last_token=3999999",
        "catalogs/marin-535b-a23b/domains.arrow",
    ):
        problem = ask(app, "GET", f"/v1/{address}")
        assert (problem.status_code, problem.json().get("code")) == (422, "too-many-rows"), address
        mark = "&" if "?" in address else "?"
        assert ask(app, "GET", f"/v1/{address}{mark}limit=3").raise_for_status().links["next"]["url"]


def test_without_a_store_a_table_has_a_row_a_sequence_and_no_document(client: httpx2.Client):
    address = "/v1/mixtures/marin-535b-a23b/steps/311999/sequences"
    answer = client.get(f"{address}.arrow?limit=5").raise_for_status()
    none = {"document_id": None, "document_first_token": None, "document_tokens": None}
    expected = [
        {name: one[name] for name in one if name != "documents"} | none
        for one in client.get(f"{address}?limit=5").json()["items"]
    ]
    assert pa.ipc.open_stream(pa.BufferReader(answer.content)).read_all().to_pylist() == expected


def test_a_page_ends_early_where_sequences_have_very_many_documents(make_app, tmp_path: Path):
    bare_store(tmp_path / "store", {"a": [1] * 65_536})
    spec = SPEC.format(store="cells.csv").replace("tokenizer: bytes", "tokenizer: t").split("phases:")[0]
    spec = spec.replace("length: 64", "length: 4096").replace("{block: 256", "{block: 4096")
    write_mixture(tmp_path / "m", f"{spec}phases: [{{phase: all, weights: {{a: 1}}}}]\naccept: [over-epochs]\n",
                  cells="domain,tokens\na,65536\n")  # fmt: skip
    app = make_app(mixtures_dirs=(tmp_path / "m",), store_dirs=(tmp_path / "store",))
    page = ask(app, "GET", "/v1/mixtures/small/steps/0/sequences?limit=24").json()
    assert [len(one["documents"]) for one in page["items"]] == [4096] * 3
    assert len(all_items(app, "/v1/mixtures/small/steps/0/sequences?limit=24")) == 24


def test_a_store_that_comes_later_changes_the_answer_and_its_tag(make_app, tmp_path: Path, store: Store):
    write_mixture(tmp_path / "small", SPEC.format(store=store.path))
    (tmp_path / "stores").mkdir()
    address = "/v1/mixtures/small/steps/0/sequences"
    app = make_app(mixtures_dirs=(tmp_path / "small",), store_dirs=(tmp_path / "stores",))
    before = ask(app, "GET", address)
    assert before.json()["items"][0]["documents"] is None
    assert "immutable" not in before.headers["cache-control"]
    (tmp_path / "stores" / "made").symlink_to(store.path)
    after = ask(app, "GET", address, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert after.json()["items"][0]["documents"]


@pytest.mark.parametrize("world_size", [1, 4, 7, 30])
def test_a_rank_reads_the_slots_that_its_stream_gives_it(app: FastAPI, store: Store, folder: Path, world_size: int):
    lock, step = read_lock(folder / "mixture.lock.json"), 17
    address, every = f"/v1/mixtures/small/steps/{step}/sequences", []
    for rank in range(world_size):
        query = f"rank={rank}&world_size={world_size}&limit=2"
        items = all_items(app, f"{address}?{query}")
        batch = next(open_stream(lock, store, rank=rank, world_size=world_size, first_step=step, uneven=True))
        assert [one["position"] for one in items] == batch.position.tolist()
        rows = pyarrow.csv.read_csv(pa.BufferReader(ask(app, "GET", f"{address}.csv?{query}").content))
        assert set(rows["slot"].to_pylist()) == {one["slot"] for one in items[:2]}
        every += items
    assert every == all_items(app, address)


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("steps/390251", 422, "step-out-of-range"),
        ("steps/390251/sequences", 422, "step-out-of-range"),
        (f"steps/{'9' * 4000}", 422, "step-out-of-range"),
        ("steps/-1", 422, "invalid-request"),
        ("steps/x", 422, "invalid-request"),
        ("steps/1.5", 422, "invalid-request"),
        ("steps/5/sequences?limit=201", 422, "invalid-request"),
        ("steps/5/sequences?limit=0", 422, "invalid-request"),
        ("steps/5/sequences?cursor=ImRlbW8i", 422, "bad-cursor"),
        ("steps/5/sequences?rank=3", 422, "invalid-request"),
        ("steps/5/sequences?world_size=3", 422, "invalid-request"),
        ("steps/5/sequences?rank=3&world_size=3", 422, "rank-invalid"),
        ("steps/5/sequences?rank=-1&world_size=3", 422, "invalid-request"),
        ("steps/5/sequences?rank=0&world_size=0", 422, "invalid-request"),
        ("steps/5.csv", 406, "not-acceptable"),
    ],
)
def test_a_step_that_is_not_there(client: httpx2.Client, address: str, status: int, code: str):
    answer = client.get(f"/v1/mixtures/marin-535b-a23b/{address}")
    assert (answer.status_code, answer.headers["x-error-code"]) == (status, code)


def test_a_cursor_behind_the_last_slot_leads_to_an_empty_page(client: httpx2.Client):
    for last in (11_263, 10**15):
        cursor = encode_cursor(last)
        page = client.get(f"/v1/mixtures/marin-535b-a23b/steps/5/sequences?cursor={cursor}").json()
        assert page == {"items": [], "next": None, "next_url": None}
