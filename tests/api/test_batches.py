"""/v1/mixtures/{ref}/batches: what the body holds, and what is refused before its first byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pytest
from api_helpers import MIXTURES, client_of
from service_process import Shown, shown, until
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.data.layout import Spans
from mixture.stream import Batch, Stream, open_stream, to_arrow
from mixture.stream.wire import MOST_STEPS, Checksum

LONGEST_RECORD_BATCH = 16 << 20
PHASES = """
  - phase: short
    until: step 4
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: long
    batch: 4096 sequences
    sequence_length: 1024
    weights: {code: 50%, web: 50%}
"""
COLUMNS = ("input_ids", "domain", "position", "epoch", "first_token")

Record = tuple[pa.RecordBatch, dict[str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Steps of 24 sequences, and from step 4 on of 8 MiB."""
    folder = tmp_path_factory.mktemp("batches")
    store = make_store(folder / "made", DOMAINS)
    keys = {"tokenizer": "bytes", "sequence_length": "64", "batch": "24 sequences", "budget": "7 steps"}
    return shown(lock_over(store, folder / "m", PHASES, shuffle="{block: 1024 tokens}", **keys), folder / "m", store)


@pytest.fixture(scope="module")
def client(made: Shown) -> Iterator[httpx2.Client]:
    settings = made.settings | {"mixtures_dirs": (made.folder, MIXTURES / "demo")}
    with client_of(create_app(Settings(**settings)), params={}) as one:
        yield one


def streamed(client: httpx2.Client, **query: object) -> tuple[pa.Schema, list[Record]]:
    """The schema of a body, and its record batches with their messages' metadata."""
    answer = client.get("/v1/mixtures/m/batches", params=query).raise_for_status()
    reader = pa.ipc.open_stream(answer.content)
    found = []
    for record, metadata in reader.iter_batches_with_custom_metadata():
        said = dict(metadata or {})
        found.append((record, {key.decode(): value.decode() for key, value in said.items()}))
    return reader.schema, found


def steps_of(records: list[Record]) -> dict[int, list[pa.RecordBatch]]:
    """Record batches by step: the last one of each says which it is."""
    found: dict[int, list[pa.RecordBatch]] = {}
    open_step: list[pa.RecordBatch] = []
    for record, said in records:
        open_step.append(record)
        if "mixture.step" in said:
            found[int(said["mixture.step"])] = open_step
            open_step = []
    assert not open_step
    return found


def local(made: Shown, **query: Any) -> Stream:
    return open_stream(made.lock, made.store, **query)


def table_of(batch: Batch, stream: Stream) -> pa.Table:
    return pa.Table.from_batches(list(to_arrow(batch, stream.domains)))


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"rank": 3, "world_size": 8},
        {"first_step": 2, "rank": 1, "world_size": 2},
        {"first_step": 3, "next_token": True, "rank": 7, "world_size": 8},
        {"rank": 4, "world_size": 5, "uneven": True},
        {"documents": True},
        {"documents": True, "next_token": True, "first_step": 3, "rank": 1, "world_size": 2},
    ],
)
def test_the_body_is_what_a_local_stream_reads(client: httpx2.Client, made: Shown, query: dict[str, Any]):
    _, records = streamed(client, last_step=MOST_STEPS - 1, **query)
    found = steps_of(records[:-1])
    stream = local(made, **query)
    for batch in stream:
        assert pa.Table.from_batches(found.pop(batch.step)).equals(table_of(batch, stream))
    assert not found


def test_a_large_step_is_several_record_batches_and_the_last_says_that_it_is_whole(client: httpx2.Client, made: Shown):
    _, records = streamed(client, first_step=4)
    *parts, (empty, _) = records
    assert len(parts) > 1
    assert all(record.nbytes <= LONGEST_RECORD_BATCH for record, _ in parts)
    assert [bool(said) for _, said in parts] == [False] * (len(parts) - 1) + [True]
    checksum = Checksum()
    start, batch = 0, next(local(made, first_step=4))
    for record, _ in parts:
        part = slice(start, start + record.num_rows)
        checksum.add(Batch(4, **{name: getattr(batch, name)[part] for name in COLUMNS}))
        start = part.stop
    assert parts[-1][1] == {"mixture.step": "4", "mixture.rows": "4096", "mixture.checksum": checksum.hex()}
    assert empty.num_rows == 0


def test_rows_of_very_many_documents_are_in_record_batches_as_small_as_others(tmp_path: Path):
    store = make_store(tmp_path / "made", {"crumbs": {f"{i}": chr(97 + i % 26) for i in range(3000)}})
    keys = {"tokenizer": "bytes", "sequence_length": "1024", "batch": "2048 sequences", "budget": "1 steps"}
    what = shown(
        lock_over(store, tmp_path / "m", "  - {phase: all, weights: {crumbs: 1}}", **keys), tmp_path / "m", store
    )
    with client_of(create_app(Settings(**what.settings))) as client:
        *parts, (ending, said) = streamed(client, documents=True)[1]
        stream = local(what, documents=True)
        found = pa.Table.from_batches([record for record, _ in parts])
        assert found.equals(table_of(next(stream), stream))
        assert found.nbytes > LONGEST_RECORD_BATCH  # of 4 MiB of tokens
        assert all(record.nbytes <= LONGEST_RECORD_BATCH for record, _ in parts)
        assert [bool(said) for _, said in parts] == [False] * (len(parts) - 1) + [True]
        assert (ending.num_rows, said["mixture.end"]) == (0, "complete")
        assert pa.Table.from_batches(to_arrow(next(local(what, documents=True)), stream.domains)).equals(found)
        (batch,) = open_remote_stream(f"{client.base_url}/v1/mixtures/m", documents=True)
        assert batch.spans is not None
        assert batch.spans.offsets.tolist() == [512 * i for i in range(2049)]


def test_the_schema_says_which_run_this_is_and_the_ending_where_it_goes_on(client: httpx2.Client, made: Shown):
    schema, records = streamed(client, first_step=1, last_step=2, rank=2, world_size=4)
    state = local(made, first_step=1).state_dict()
    end = local(made, first_step=7).state_dict()
    assert schema.metadata == {
        b"mixture.lock": made.lock.digest.encode(),
        b"mixture.history": state["history"].encode(),
        b"mixture.content": end["content"].encode(),
        b"mixture.first_step": b"1",
        b"mixture.rank": b"2",
        b"mixture.world_size": b"4",
    }
    ending, said = records[-1]
    assert ending.num_rows == 0
    assert said == {"mixture.end": "complete", "mixture.next_step": "3"}


def test_a_checksum_changes_with_any_byte_of_any_column(made: Shown):
    batch = next(local(made))
    whole = Checksum()
    whole.add(batch)
    for name in COLUMNS:
        changed = {column: getattr(batch, column).copy() for column in COLUMNS}
        changed[name].reshape(-1)[-1] ^= 1
        other = Checksum()
        other.add(Batch(0, **changed))
        assert other.hex() != whole.hex()
    spans = next(local(made, documents=True)).spans
    assert spans is not None
    found = set()
    for name in ("offsets", "document", "end", "closed", None):
        changed = {one: getattr(spans, one).copy() for one in ("offsets", "document", "end", "closed")}
        if name is not None:
            changed[name][-1] ^= 1
        other = Checksum()
        other.add(replace(batch, spans=Spans(**changed)))
        found.add(other.hex())
    assert len(found | {whole.hex()}) == 6


def test_ranks_without_a_row_have_every_step_all_the_same(client: httpx2.Client, made: Shown):
    _, records = streamed(client, last_step=3, rank=0, world_size=100, uneven=True)
    assert [said.get("mixture.rows") for _, said in records] == ["0", "0", "0", "0", None]
    ranks = [steps_of(streamed(client, rank=r, world_size=30, uneven=True)[1][:-1])[0] for r in range(30)]
    joined = np.concatenate([record.column("position").to_numpy() for records in ranks for record in records])
    assert joined.tolist() == next(local(made)).position.tolist()


def test_a_stream_is_neither_packed_nor_kept_by_anyone(client: httpx2.Client):
    answer = client.get("/v1/mixtures/m/batches", headers={"Accept-Encoding": "gzip, zstd, br"})
    assert answer.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
    assert answer.headers["Cache-Control"] == "no-store, no-transform"
    assert "Content-Encoding" not in answer.headers
    assert client.get("/v1/mixtures/m/batches.arrow").content == answer.content
    assert client.get("/v1/mixtures/m/batches.csv").status_code == 406


@pytest.mark.parametrize(
    ("mixture", "query", "status", "code"),
    [
        ("m", {"world_size": 5}, 409, "batch-not-divisible"),
        ("m", {"rank": 2, "world_size": 2}, 422, "rank-invalid"),
        ("m", {"first_step": 7}, 422, "step-out-of-range"),
        ("m", {"first_step": 2**63 - 1}, 422, "step-out-of-range"),
        ("m", {"first_step": -1}, 422, "invalid-request"),
        ("m", {"world_size": 0}, 422, "invalid-request"),
        ("m", {"first_step": 3, "last_step": 2}, 422, "bad-range"),
        ("m", {"last_step": "NaN"}, 422, "invalid-request"),
        ("demo", {}, 404, "store-missing"),
        ("nobody", {}, 404, "unknown-mixture"),
    ],
)
def test_what_can_not_be_streamed_is_a_problem_before_the_first_byte(
    client: httpx2.Client, mixture: str, query: dict[str, object], status: int, code: str
):
    answer = client.get(f"/v1/mixtures/{mixture}/batches", params=query)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_range_longer_than_an_answer_is_refused_and_one_that_goes_beyond_the_run_ends_with_it(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
):
    assert client.get("/v1/mixtures/m/batches", params={"last_step": 10**9}).status_code == 200
    monkeypatch.setattr("mixture.api.routes.batches.MOST_STEPS", 3)
    problem = client.get("/v1/mixtures/m/batches", params={"last_step": 3}).json()
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("bad-range", "/last_step")
    assert client.get("/v1/mixtures/m/batches", params={"first_step": 4, "last_step": 9}).status_code == 200


def test_a_client_has_so_many_streams_and_no_more(made: Shown):
    app = create_app(Settings(**made.settings | {"streams_per_client": 2}))
    query = {"first_step": 4, "last_step": 6}
    with (
        client_of(app) as client,
        client.stream("GET", "/v1/mixtures/m/batches", params=query) as first,
        client.stream("GET", "/v1/mixtures/m/batches", params=query) as second,
    ):
        # Both have begun, and 24 MiB are more than the system takes in for a client that does not read.
        assert {first.status_code, second.status_code} == {200}
        third = client.get("/v1/mixtures/m/batches")
        assert (third.status_code, third.json()["code"]) == (429, "too-many-streams")
        assert third.headers["Retry-After"] == "1"
        first.read()
        until(lambda: client.get("/v1/mixtures/m/batches").status_code == 200, seconds=10)


def test_where_reading_takes_a_token_streaming_does(made: Shown):
    with client_of(create_app(Settings(**made.settings | {"public_reads": False}))) as client:
        answer = client.get("/v1/mixtures/m/batches")
        assert (answer.status_code, answer.json()["code"]) == (401, "token-missing")


def test_what_was_served_is_counted(made: Shown):
    with client_of(create_app(Settings(**made.settings))) as client:
        client.get("/v1/mixtures/m/batches", params={"last_step": 4}).raise_for_status()
        figures = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[0] != "#")
    assert float(figures['mixture_sequences_served_total{mixture="m"}']) == 4 * 24 + 4096
    tokens = made.lock.schedule().tokens(5)
    for name, expected in zip(made.lock.schedule().names, tokens.tolist(), strict=True):
        keys = [f'mixture_tokens_served_total{{domain="{name}",mixture="m",phase="{p}"}}' for p in ("short", "long")]
        assert sum(float(figures.get(key, 0)) for key in keys) == expected
    assert float(figures["mixture_stream_active"]) == 0
