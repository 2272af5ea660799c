"""/v1/mixtures/{ref}/counts, find, handoffs, history: what the command line prints, and what the library says."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask, client_of
from mixture_folder import write_mixture
from program import run_program

from mixture.lock import read_lock

NAMES = ["demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics"]
CONTEXT = """\
mixture: context
catalog: cells.csv
seed: 3
sequence_length: 64
batch: 24 sequences
budget: 900 steps
shuffle: {block: 1024 tokens, window: 4 blocks}
max_epochs: 2000000
accept: [over-epochs]
phases:
  - phase: short
    until: step 401
    weights: {a: 50%, b: 30%, tiny: 20%}
  - phase: long
    sequence_length: 256
    batch: 10 sequences
    until: step 601
    weights: {a: 10%, b: 90%}
  - phase: again
    weights: {a: 60%, b: 20%, tiny: 20%}
"""
CELLS = "domain,kind,tokens\na,web,700003\nb,web,90000\ntiny,notes,100\n"


def printed(name: str, command: str, *arguments: object) -> list[object]:
    """The values that `mixture COMMAND --json` prints."""
    done = run_program(command, "mixture.lock.json", "--json", *arguments, cwd=MIXTURES / name)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_that_the_command_line_prints(client: httpx2.Client, name: str):
    schedule = read_lock(MIXTURES / name / "mixture.lock.json").schedule()
    rng, here = random.Random(name), f"/v1/mixtures/{name}"
    steps = [schedule.steps, 0, *(rng.randrange(schedule.steps) for _ in range(5))]
    for part in ("counts", "history"):
        items = client.get(f"{here}/{part}", params={"step": steps}).raise_for_status().json()["items"]
        assert items == printed(name, part, "--step", *steps)
    assert client.get(f"{here}/handoffs").json()["items"] == printed(name, "handoffs")
    domain = rng.choice(schedule.data.domains)
    token = rng.randrange(domain.tokens)
    found = client.get(f"{here}/find", params={"domain": domain.name, "token": token}).json()["items"]
    assert found == printed(name, "find", domain.name, token)
    passed = client.get(f"{here}/crossings", params={"epochs": ["0.5", "1"]}).raise_for_status().json()["items"]
    assert passed == printed(name, "show", "--crossings", "0.5,1")
    assert any(row["step"] is not None for row in passed)
    passing = client.get(f"{here}/crossings", params={"epochs": ["0.5", "1"], "passing": "true"}).json()["items"]
    assert passing == [row for row in passed if row["step"] is not None]
    of_one = client.get(f"{here}/crossings", params={"epochs": ["0.5", "1"], "domain": domain.name}).json()["items"]
    assert of_one == [row for row in passed if row["domain"] == domain.name]


def test_every_position_that_is_found_reads_the_token_and_no_other_does(make_app, tmp_path: Path):
    lock = write_mixture(tmp_path / "context", CONTEXT, cells=CELLS)
    app = make_app(mixtures_dirs=(tmp_path / "context",))
    rows = lock.schedule().rows(0, lock.schedule().num_sequences)
    for token in (0, 63, 64, 70_001, 89_999):
        found = ask(app, "GET", f"/v1/mixtures/context/find?domain=b&token={token}").json()["items"]
        holds = (rows.domain == 1) & (rows.first_token <= token) & (token < rows.first_token + rows.tokens)
        assert [place["position"] for place in found] == rows.position[holds].tolist()
        assert [place["epoch"] for place in found] == rows.epoch[holds].tolist()
    assert ask(app, "GET", "/v1/mixtures/context/find?domain=b&token=89999").json()["items"] == []


def test_handoffs_come_in_pages_and_are_the_schedules(make_app, tmp_path: Path):
    lock = write_mixture(tmp_path / "context", CONTEXT, cells=CELLS)
    app = make_app(mixtures_dirs=(tmp_path / "context",))
    seen, url = [], "/v1/mixtures/context/handoffs?limit=1"
    while url:
        answer = ask(app, "GET", url)
        body = answer.json()
        assert answer.links.get("next", {}).get("url") == body["next_url"]
        seen, url = seen + body["items"], body["next_url"]
    names = lock.schedule().names
    assert seen == [
        {"first_step": one.first_step, "tokens_skipped": dict(zip(names, one.tokens_skipped, strict=True))}
        for one in lock.schedule().handoffs()
    ]
    assert [one["first_step"] for one in seen] == [0, 401, 601]
    assert any(sum(one["tokens_skipped"].values()) for one in seen)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("counts", "invalid-request"),
        ("counts?step=390252", "step-out-of-range"),
        ("counts?step=-1", "invalid-request"),
        (f"counts?step={'9' * 4000}", "step-out-of-range"),
        ("counts?" + "&".join(["step=1"] * 101), "invalid-request"),
        ("history?step=390252", "step-out-of-range"),
        ("history", "invalid-request"),
        ("find?domain=c12q3", "invalid-request"),
        ("find?token=3", "invalid-request"),
        ("find?domain=c12q3&token=-1", "invalid-request"),
        ("find?domain=c12q3&token=999999999999999", "token-out-of-range"),
        ("find?domain=c12q9&token=1", "unknown-domain"),
        ("find?domain=%ED%A0%80&token=1", "unknown-domain"),
        ("crossings", "invalid-request"),
        ("crossings?epochs=x", "not-a-number"),
        ("crossings?epochs=-1", "negative"),
        ("crossings?epochs=2 steps", "wrong-unit"),
        ("crossings?epochs=1&domain=c12q9", "unknown-domain"),
        ("crossings?epochs=1&epochs=" + "9" * 31, "invalid-request"),
        ("handoffs?cursor=x", "bad-cursor"),
        ("handoffs?cursor=ImRlbW8i", "bad-cursor"),
    ],
)
def test_what_can_not_be_answered_is_a_problem_with_its_code(client: httpx2.Client, address: str, code: str):
    answer = client.get(f"/v1/mixtures/marin-535b-a23b/{address}")
    assert (answer.status_code, answer.headers["x-error-code"]) == (422, code)


def test_an_unknown_domain_gets_the_nearest_name(client: httpx2.Client):
    problem = client.get("/v1/mixtures/demo/find?domain=web-hihg&token=0").json()
    assert problem["hint"] == "did you mean 'web-high'?"


def table_at(client: httpx2.Client, address: str, form: str) -> list[dict[str, object]]:
    path, _, query = address.partition("?")
    data = pa.BufferReader(client.get(f"{path}.{form}?{query}").raise_for_status().content)
    match form:
        case "csv":
            return pyarrow.csv.read_csv(data).to_pylist()
        case "parquet":
            return pq.read_table(data).to_pylist()
        case _:
            return pa.ipc.open_stream(data).read_all().to_pylist()


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_counts_and_what_is_found_come_as_tables_in_long_form(client: httpx2.Client, form: str):
    here = "/v1/mixtures/marin-535b-a23b"
    address = f"{here}/counts?step=108000&step=0&step=108000"
    expected = [
        {"step": step, "domain": domain, "sequences": sequences}
        for step, one in zip((108_000, 0, 108_000), client.get(address).json()["items"], strict=True)
        for domain, sequences in one.items()
    ]
    assert table_at(client, address, form) == expected
    address = f"{here}/find?domain=c12q3&token=5000000"
    places = client.get(address).json()["items"]
    assert places
    placed = client.get(f"{here}/positions", params={"position": [one["position"] for one in places]}).json()["items"]
    assert places == [{name: one[name] for name in ("position", "step", "slot", "epoch")} for one in placed]
    assert table_at(client, address, form) == places
    address = f"{here}/crossings?epochs=1&epochs=4&domain=c27q0&domain=c13q0"
    assert table_at(client, address, form) == client.get(address).json()["items"]


@pytest.mark.parametrize("part", ["handoffs", "history?step=0"])
def test_answers_that_are_no_tables_come_as_json_only(client: httpx2.Client, part: str):
    name, _, query = part.partition("?")
    answer = client.get(f"/v1/mixtures/demo/{name}.csv?{query}")
    assert (answer.status_code, answer.headers["x-error-code"]) == (406, "not-acceptable")
    first = client.get(f"/v1/mixtures/demo/{part}")
    assert client.get(f"/v1/mixtures/demo/{part}", headers={"If-None-Match": first.headers["etag"]}).status_code == 304


def test_a_domain_that_is_read_very_often_is_not_looked_through(make_app, tmp_path: Path):
    spec = CONTEXT.replace("budget: 900 steps", "budget: 900000 steps").replace("step 401", "step 400000")
    spec = spec.replace("step 601", "step 500000")
    write_mixture(tmp_path / "often", spec, cells=CELLS.replace("700003", "700000003"))
    app = make_app(mixtures_dirs=(tmp_path / "often",))
    answer = ask(app, "GET", "/v1/mixtures/context/find?domain=tiny&token=3")
    assert (answer.status_code, answer.json()["code"]) == (422, "too-many-epochs")
    assert answer.json()["facts"]["max_epochs"] < answer.json()["facts"]["epochs"]
    assert ask(app, "GET", "/v1/mixtures/context/find?domain=a&token=3").status_code == 200


def test_many_who_ask_at_once_get_what_one_gets(make_app):
    rng, here = random.Random(5), "/v1/mixtures/marin-535b-a23b"
    addresses = []
    for _ in range(40):
        step = rng.randrange(390_251)
        addresses += [
            f"{here}/positions?first_position={(first := rng.randrange(4_395_000_000))}"
            f"&last_position={first + rng.randrange(2_000)}",
            f"{here}/positions?position={rng.randrange(4_395_000_000)}&position={rng.randrange(4_395_000_000)}",
            f"{here}/find?domain=c{rng.randrange(40):02}q{rng.randrange(5)}&token={rng.randrange(10**9)}",
            f"{here}/composition?step={step}&by=cluster",
            f"{here}/counts?step={step}",
            f"{here}/steps/{step}",
        ]
    app = make_app()
    alone = [ask(app, "GET", address).json() for address in addresses]
    with client_of(make_app()) as client, ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda address: client.get(address).json(), addresses))
    assert [{**one, "trace_id": None} for one in together] == [{**one, "trace_id": None} for one in alone]
