"""/v1/mixtures/{ref}/positions: the rows that the command line prints, in every format, as many as are asked for."""

from __future__ import annotations

import io
import json
import random

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask, client_of
from program import run_program
from pyarrow import csv

from mixture.api.routes.schedules import PositionRow
from mixture.lock import read_lock
from mixture.schedule import COLUMNS
from mixture.stream import POSITIONS

NAMES = ["demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics"]
MARIN = "/v1/mixtures/marin-535b-a23b/positions"
LONG = 100_000
"""More rows than are made at once."""


def printed(name: str, *arguments: object) -> list[dict[str, object]]:
    """What `mixture positions --json` prints."""
    done = run_program("positions", "mixture.lock.json", "--json", *arguments, cwd=MIXTURES / name)
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(form: str, content: bytes) -> pa.Table:
    match form:
        case "json":
            return pa.Table.from_pylist(json.loads(content)["items"])
        case "csv":
            return csv.read_csv(io.BytesIO(content))
        case "parquet":
            return pq.read_table(io.BytesIO(content))
        case _:
            return pa.ipc.open_stream(content).read_all()


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_that_the_command_line_prints(client: httpx2.Client, name: str):
    rng = random.Random(name)
    last = read_lock(MIXTURES / name / "mixture.lock.json").schedule().num_sequences - 1
    start = rng.randrange(last - 700)
    asked = client.get(
        f"/v1/mixtures/{name}/positions", params={"first_position": start, "last_position": start + 699}
    ).json()
    assert asked["items"] == printed(name, "--first-position", start, "--last-position", start + 699)
    assert (asked["next"], asked["next_url"]) == (None, None)
    at = [last, 0, *(rng.randrange(last) for _ in range(20)), 0]
    asked = client.get(f"/v1/mixtures/{name}/positions", params={"position": at}).json()
    assert asked["items"] == printed(name, "--position", *at)


def test_the_description_has_the_columns():
    assert list(PositionRow.model_fields) == list(COLUMNS) == POSITIONS.names


def test_every_format_holds_the_same_rows_however_many_there_are(client: httpx2.Client):
    for count in (1, 3, LONG):
        address = f"?first_position=4395000000&last_position={4395000000 + count - 1}"
        found = {form: client.get(f"{MARIN}.{form}{address}").raise_for_status() for form in ("json", "csv")}
        found |= {form: client.get(f"{MARIN}.{form}{address}").raise_for_status() for form in ("parquet", "arrow")}
        rows = {form: read(form, answer.content).to_pylist() for form, answer in found.items()}
        assert [row["position"] for row in rows["arrow"]] == list(range(4395000000, 4395000000 + count))
        assert all(list(row) == list(COLUMNS) for form in rows for row in rows[form][:1])
        assert rows["json"] == rows["csv"] == rows["parquet"] == rows["arrow"]


def test_a_long_table_is_the_short_ones_joined(client: httpx2.Client):
    whole = client.get(f"{MARIN}?first_position=1216500000&last_position={1216500000 + LONG - 1}")
    assert "content-length" not in whole.headers  # sent as it is made
    parts = [
        client.get(f"{MARIN}?first_position={1216500000 + i}&last_position={1216500000 + i + 10000 - 1}").json()[
            "items"
        ]
        for i in range(0, LONG, 10_000)
    ]
    assert whole.json()["items"] == [row for part in parts for row in part]


def test_arrow_names_domains_by_a_dictionary_and_comes_in_batches(client: httpx2.Client):
    answer = client.get(f"{MARIN}?last_position={LONG - 1}", headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    with pa.ipc.open_stream(answer.content) as reader:
        assert reader.schema.field("domain").type == pa.dictionary(pa.int32(), pa.string())
        sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == LONG
    assert max(sizes) < LONG


def test_without_a_count_it_is_the_first_hundred_or_what_is_left(client: httpx2.Client):
    assert len(client.get(MARIN).json()["items"]) == 100
    last = read_lock(MIXTURES / "marin-535b-a23b" / "mixture.lock.json").schedule().num_sequences - 1
    assert [row["position"] for row in client.get(f"{MARIN}?first_position={last}").json()["items"]] == [last]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("position=0&first_position=1", "bad-range"),
        ("position=0&last_position=1", "bad-range"),
        ("position=4395787264", "position-out-of-range"),
        ("position=-1", "position-out-of-range"),
        (f"position={'9' * 4000}", "position-out-of-range"),
        ("first_position=4395787264", "position-out-of-range"),
        ("first_position=4395787263&last_position=4395787264", "position-out-of-range"),
        ("first_position=-1", "invalid-request"),
        ("last_position=-1", "invalid-request"),
        ("first_position=x", "invalid-request"),
        ("first_position=NaN", "invalid-request"),
        ("position=", "invalid-request"),
        ("first_position=5&last_position=4", "bad-range"),
        ("last_position=1000000", "too-many-rows"),
        ("&".join(f"position={i}" for i in range(1001)), "invalid-request"),
    ],
)
@pytest.mark.parametrize("form", ["json", "arrow"])
def test_a_range_that_is_none_is_refused_before_anything_is_sent(
    client: httpx2.Client, query: str, code: str, form: str
):
    answer = client.get(f"{MARIN}.{form}?{query}")
    assert (answer.status_code, answer.headers["x-error-code"]) == (422, code)
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_limit_is_a_setting_and_its_problem_names_it(make_app):
    app = make_app(max_rows=50, mixtures_dirs=(MIXTURES / "marin-535b-a23b",))
    assert ask(app, "GET", f"{MARIN}?last_position=49").status_code == 200
    problem = ask(app, "GET", f"{MARIN}?last_position=50").json()
    assert (problem["code"], problem["facts"], problem["errors"][0]["pointer"]) == (
        "too-many-rows", {"max_rows": 50}, "/last_position",
    )  # fmt: skip


def test_long_tables_under_way_are_counted_among_a_clients_streams(make_app):
    app = make_app(streams_per_client=1, mixtures_dirs=(MIXTURES / "marin-535b-a23b",))
    with client_of(app) as client:
        with client.stream("GET", f"{MARIN}.arrow?last_position=999999") as long:
            assert long.status_code == 200
            refused = client.get(f"{MARIN}.arrow?last_position=999999")
            assert (refused.status_code, refused.headers["x-error-code"]) == (429, "too-many-streams")
            assert client.get(f"{MARIN}.arrow?last_position=99").status_code == 200
            with pa.ipc.open_stream(b"".join(long.iter_raw())) as reader:
                assert reader.read_all().num_rows == 1_000_000
        assert client.get(f"{MARIN}.arrow?last_position={LONG - 1}").status_code == 200


def test_a_client_that_leaves_gives_its_place_back(make_app):
    app = make_app(streams_per_client=1, mixtures_dirs=(MIXTURES / "marin-535b-a23b",))
    with client_of(app) as client:
        for _ in range(3):
            for _ in range(2_000):  # the server learns of it a moment later
                long = client.send(client.build_request("GET", f"{MARIN}.arrow?last_position=999999"), stream=True)
                if long.status_code == 200:
                    break
                long.close()
            assert long.status_code == 200
            assert next(long.iter_raw())
            long.close()


def test_an_answer_that_the_client_has_is_not_made_again(client: httpx2.Client):
    address = f"{MARIN}.arrow?last_position={LONG - 1}"
    tag = client.get(address).headers["etag"]
    again = client.get(address, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{MARIN}.json?last_position=0", headers={"If-None-Match": tag}).status_code == 200


def test_what_a_digest_names_may_be_kept_for_good(client: httpx2.Client):
    ref = client.get("/v1/mixtures/demo").json()["ref"]
    assert "immutable" in client.get(f"/v1/mixtures/{ref}/positions.arrow?last_position=4").headers["cache-control"]
    assert "immutable" not in client.get("/v1/mixtures/demo/positions.arrow?last_position=4").headers["cache-control"]
