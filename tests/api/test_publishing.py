"""PUT /v1/mixtures/{name}: planned and locked by the service, kept whole, named with care."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask

from mixture.api.app import create_app
from mixture.api.database import Scope
from mixture.api.registry.bundles import make_bundle
from mixture.lock import lock_text, read_lock
from mixture.planning.plan import make_lock, make_plan, plan_json
from mixture.planning.spec import read_spec

CELLS = "domain,tokens,kind\na,200000,web\nb,90000,code\nc,1000000,web\n"
SPEC = """\
# A small mixture.
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: first
    share: 80%
    weights: {a: 50%, b: 30%, c: 20%}
  - phase: second
    weights: [{where: "kind = 'web'", share: 100%, within: {table: shares.csv, column: late}}]
"""
SHARES = "domain,late\na,0.25\nc,0.75\n"
SMALL = {"spec": SPEC, "tables": {"cells.csv": CELLS, "shares.csv": SHARES}}


@pytest.fixture
def app(make_app):
    return make_app()


@pytest.fixture
def secret(app):
    return app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]


@pytest.fixture
def put(app, secret):
    """put("name", body, status=201, **headers): publishes, compares the status, gives the answer."""

    def of(name, body=SMALL, *, status=201, code=None, **headers):
        sent = {"Authorization": f"Bearer {secret}"} | {key.replace("_", "-"): value for key, value in headers.items()}
        content = json.dumps(body).encode()
        answer = ask(
            app, "PUT", f"/v1/mixtures/{name}", content=content, headers=sent | {"Content-Type": "application/json"}
        )
        assert answer.status_code == status, answer.text
        assert answer.headers.get("X-Error-Code") == code
        return answer

    return of


def changed(**fields):
    """The small mixture with another seed, so with another lock."""
    return SMALL | {"spec": SPEC + f"seed: {fields.get('seed', 1)}\n"}


def locked_here(folder: Path, body=SMALL):
    """The plan and lock that the library makes of a body."""
    folder.mkdir()
    for name, text in body["tables"].items():
        (folder / name).write_text(text)
    (folder / "mixture.yaml").write_text(body["spec"])
    plan = make_plan(read_spec(folder / "mixture.yaml"))
    return plan, make_lock(plan)


def test_what_is_published_is_read_back_as_the_library_makes_it(app, put, tmp_path):
    plan, lock = locked_here(tmp_path / "here")
    answer = put("small")
    assert answer.json() == {
        "name": "small",
        "digest": lock.digest,
        "ref": f"small@sha256:{lock.digest}",
        "change": "created",
        "replaced": None,
        "text": "sent",
        "batches": False,
        "url": "/v1/mixtures/small",
    }
    assert answer.headers["ETag"] == ask(app, "GET", "/v1/mixtures/small").headers["ETag"]
    assert answer.headers["ETag"].startswith(f'"sha256:{lock.digest}.')
    for ref in ("small", f"small@sha256:{lock.digest}"):
        assert ask(app, "GET", f"/v1/mixtures/{ref}/lock").text == lock_text(lock)
        assert ask(app, "GET", f"/v1/mixtures/{ref}/spec").text == SPEC
        made = ask(app, "GET", f"/v1/mixtures/{ref}/plan").json()
        assert made["phases"] == plan_json(plan)["phases"]
        assert [finding["place"]["file"] for finding in made["findings"] if finding["place"]] == [
            "mixture.yaml" for finding in made["findings"] if finding["place"]
        ]
    assert "small" in [one["name"] for one in ask(app, "GET", "/v1/mixtures").json()["items"]]


@pytest.mark.parametrize("name", ["demo", "marin-535b-a23b", "olmo-3-7b"])
def test_every_mixture_of_this_repository_can_be_published_with_its_lock(put, name):
    folder = MIXTURES / name
    tables = {path.name: path.read_text() for path in folder.glob("*.csv")}
    body = {"spec": (folder / "mixture.yaml").read_text(), "tables": tables}
    answer = put(f"my-{name}", body | {"lock": (folder / "mixture.lock.json").read_text()})
    assert answer.json()["digest"] == read_lock(folder / "mixture.lock.json").digest


def test_a_lock_that_keeps_domains_to_pools_brings_them_along(app, put, tmp_path):
    locked_here(tmp_path / "here")
    lock = make_lock(make_plan(read_spec(tmp_path / "here" / "mixture.yaml"), pools={"c": 65536}))
    assert put("rung", SMALL | {"lock": lock_text(lock)}).json()["digest"] == lock.digest
    shown = {one["domain"]: one for one in ask(app, "GET", "/v1/mixtures/rung/plan").json()["domains"]}
    assert shown["c"]["pool_tokens"] == 65536
    again = ask(app, "POST", "/v1/mixtures/rung/what-if", json={}).json()
    assert {one["domain"]: one["epochs"] for one in again["domains"]}["c"] == float(shown["c"]["epochs"]["decimal"])
    other = SMALL | {"spec": SPEC + "seed: 1\n", "lock": lock_text(lock)}
    assert "the seed" in put("other", other, status=409, code="lock-differs").json()["detail"]


def test_publishing_the_same_again_changes_nothing(app, put):
    first = put("small").json()
    for headers in ({}, {"If_None_Match": "*"}, {"If_Match": f'"sha256:{first["digest"]}"'}):
        assert put("small", status=200, **headers).json() == first | {"change": "unchanged"}
    reworded = SMALL | {"spec": SPEC.replace("# A small mixture.", "# Said otherwise."), "lock": None}
    said = put("small", reworded, status=200)
    assert said.json() == first | {"change": "unchanged", "text": "first"}, "it says the same in other words"
    assert put("other", reworded).json()["text"] == "first"
    assert ask(app, "GET", "/v1/mixtures/small/spec").text == SPEC
    assert said.headers["ETag"] == ask(app, "GET", "/v1/mixtures/small").headers["ETag"]
    assert len(ask(app, "GET", "/v1/mixtures/small/moves").json()["items"]) == 1


def test_a_name_is_moved_by_who_names_the_digest_that_it_replaces(app, put):
    first = put("small").json()["digest"]
    refused = put("small", changed(), status=428, code="digest-required")
    assert first in refused.json()["hint"]
    put("small", changed(), status=409, code="name-conflict", If_Match=f'"sha256:{"0" * 64}"')
    put("small", changed(), status=409, code="name-conflict", If_None_Match="*")
    put("other", changed(), status=409, code="name-conflict", If_Match=f'"sha256:{first}"')
    tag = ask(app, "GET", "/v1/mixtures/small").headers["ETag"]
    moved = put("small", changed(), status=200, If_Match=tag).json()
    assert (moved["change"], moved["replaced"]) == ("moved", first)
    assert ask(app, "GET", "/v1/mixtures/small").json()["digest"] == moved["digest"] != first
    assert ask(app, "GET", f"/v1/mixtures/small@sha256:{first}").json()["digest"] == first
    moves = ask(app, "GET", "/v1/mixtures/small/moves").json()["items"]
    assert [(move["from_digest"], move["to_digest"], move["by"]) for move in moves] == [
        (None, first, "ann"),
        (first, moved["digest"], "ann"),
    ]


def test_a_digest_may_be_cut_to_its_first_digits_where_they_tell_it_from_others(app, put):
    first = put("small").json()["digest"]
    second = put("small", changed(), status=200, If_Match=f'"sha256:{first}"').json()["digest"]
    for digits in (first[:8], first[:12], first[:63], first):
        for below in ("", "/plan", "/composition?step=0"):
            answer = ask(app, "GET", f"/v1/mixtures/small@sha256:{digits}{below}")
            assert answer.json() == ask(app, "GET", f"/v1/mixtures/small@sha256:{first}{below}").json()
        assert ("immutable" in answer.headers["Cache-Control"]) == (digits == first), "one day it may be ambiguous"
    assert ask(app, "GET", f"/mixtures/small@sha256:{first[:12]}").status_code == 200
    assert ask(app, "GET", f"/v1/mixtures/small@sha256:{first[:12]}/diff/small@sha256:{second[:12]}").status_code == 200
    repository = app.state.services.repository
    alike = replace(repository.bundle(second), digest=first[:12] + ("0" if first[12] != "0" else "1") * 52)
    repository.publish("small", alike, expected=second, if_new=False, by="ann")
    refused = ask(app, "GET", f"/v1/mixtures/small@sha256:{first[:12]}")
    assert (refused.status_code, refused.json()["code"]) == (404, "digest-ambiguous")
    assert refused.json()["facts"]["candidates"] == [f"sha256:{one}" for one in sorted((first, alike.digest))]
    assert ask(app, "GET", f"/v1/mixtures/small@sha256:{first[:13]}").json()["digest"] == first
    for digits, code in (
        (first[:7], "unknown-mixture"),
        ("0" * 20, "unknown-mixture"),
        (first.upper()[:12], "unknown-mixture"),
    ):
        answer = ask(app, "GET", f"/v1/mixtures/small@sha256:{digits}")
        assert (answer.status_code, answer.json()["code"]) in ((404, code), (422, "invalid-request"))


@pytest.mark.parametrize("header", ['"sha256:12"', "*", '"a", "b"', "nothing", ""])
def test_a_condition_that_says_no_digest_is_refused(put, header):
    put("small", status=422, code="precondition-invalid", If_Match=header)
    put("small", status=422, code="precondition-invalid", If_None_Match=header if header != "*" else "W/*x")


def test_a_lock_that_is_not_what_comes_out_is_a_conflict_that_says_both_digests(app, put, tmp_path):
    _, lock = locked_here(tmp_path / "here")
    _, other = locked_here(tmp_path / "there", changed())
    put("same", SMALL | {"lock": lock_text(lock)})
    answer = put("small", SMALL | {"lock": lock_text(other)}, status=409, code="lock-differs").json()
    assert answer["facts"] == {"given": f"sha256:{other.digest}", "made": f"sha256:{lock.digest}"}
    assert "seed" in answer["detail"]
    tables = {"cells.csv": CELLS.replace("200000", "200001"), "shares.csv": SHARES}
    answer = put("small", {"spec": SPEC, "tables": tables, "lock": lock_text(lock)}, status=409, code="lock-differs")
    assert "'a'" in answer.json()["detail"]
    put("small", SMALL | {"lock": lock_text(lock).replace('"seed": 0', '"seed": 5')}, status=422, code="lock-digest")
    put("small", SMALL | {"lock": "{"}, status=422, code="lock-not-json")
    assert ask(app, "GET", "/v1/mixtures/small").status_code == 404


def parquet(text: str) -> str:
    """A CSV table as Parquet, in base64."""
    rows = [line.split(",") for line in text.splitlines()]
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    columns |= {"tokens": [int(tokens) for tokens in columns["tokens"]]} if "tokens" in columns else {}
    out = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(list(cells)) for name, cells in columns.items()}), out)
    return base64.b64encode(out.getvalue()).decode()


def test_tables_come_as_parquet_and_as_json_too_and_give_the_same_mixture(app, put):
    digest = put("small").json()["digest"]
    rows = [{"domain": "a", "late": 0.25}, {"domain": "c", "late": 0.75}]
    spec = SPEC.replace("cells.csv", "cells.parquet").replace("shares.csv", "shares.json")
    body = {"spec": spec, "tables": {"cells.parquet": parquet(CELLS), "shares.json": json.dumps(rows)}}
    assert put("small", body, status=200).json()["digest"] == digest
    assert ask(app, "GET", "/v1/catalogs/small/domains").json()["items"]


def test_endings_are_those_of_tables_in_any_case_of_letters(put):
    digest = put("small").json()["digest"]
    spec = SPEC.replace("cells.csv", "cells.PARQUET").replace("shares.csv", "shares.CSV")
    body = {"spec": spec, "tables": {"cells.PARQUET": parquet(CELLS), "shares.CSV": SHARES}}
    assert put("small", body, status=200).json()["digest"] == digest


def test_a_mixture_locked_over_a_stores_folder_is_published_with_its_content_digests(app, put, tmp_path):
    spec = SPEC.replace("cells.csv", "store")
    body = {"spec": spec, "tables": {"store": parquet(CELLS), "shares.csv": SHARES}}
    plan, _ = locked_here(tmp_path / "here")
    lock = make_lock(plan, content={"a": "ab" * 32, "b": "cd" * 32, "c": "ef" * 32})
    assert put("stored", body | {"lock": lock_text(lock)}).json()["digest"] == lock.digest
    assert ask(app, "GET", "/v1/mixtures/stored/lock").text == lock_text(lock)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../cells.csv", "sub/cells.csv", "./sub/../cells.csv", "..", ".", "other.csv", "cells.csv/"]
)
def test_a_spec_reaches_no_file_but_the_tables_that_came_with_it(put, path):
    for spec in (
        SPEC.replace("catalog: cells.csv", f"catalog: {path}"),
        SPEC.replace("table: shares.csv", f"table: {path}"),
        SPEC.replace("weights: {a: 50%, b: 30%, c: 20%}", f"weights: {{table: {path}, column: late}}"),
    ):
        if path == "cells.csv/":  # says the same as without the slash
            continue
        answer = put("small", SMALL | {"spec": spec}, status=422, code="table-missing").json()
        assert answer["errors"][0]["in"] == "mixture.yaml"
        assert answer["errors"][0]["line"] > 1


@pytest.mark.parametrize(
    "name",
    ["../cells.csv", "/etc/cells.csv", "a/b.csv", ".hidden.csv", "mixture.yaml", "mixture.lock.json", "x.exe", "", "..",
     "a\0.csv", "ü.csv", "x" * 120 + ".csv", "a\n.csv"],
)  # fmt: skip
def test_table_names_that_are_no_plain_names_of_tables_are_refused(put, name):
    put("small", SMALL | {"tables": SMALL["tables"] | {name: "x"}}, status=422, code="table-name")


def test_tables_that_nothing_names_or_that_are_too_many_are_refused(put):
    put("small", SMALL | {"tables": SMALL["tables"] | {"more.csv": CELLS}}, status=422, code="table-unused")
    many = {f"t{i}.csv": CELLS for i in range(40)}
    put("small", SMALL | {"tables": SMALL["tables"] | many}, status=422, code="too-many-tables")
    binary = SMALL["tables"] | {"cells.parquet": "not base64!"}
    put("small", SMALL | {"tables": binary}, status=422, code="table-encoding")


def test_what_would_take_too_much_to_plan_is_refused(put):
    rows = "".join(f"d{i},1000000\n" for i in range(1000))
    tables = SMALL["tables"] | {"cells.csv": CELLS + rows.replace("\n", ",web\n")}
    phases = "".join(f"  - {{phase: p{i}, steps: 1, weights: uniform}}\n" for i in range(300))
    spec = SPEC[: SPEC.index("  - phase: first")] + phases
    body = {"spec": spec, "tables": {"cells.csv": tables["cells.csv"]}}
    assert "1,003 domains" in put("small", body, status=422, code="too-many-weights").json()["detail"]
    stairs = "  - {phase: first, share: 50%, weights: uniform}\n"
    stairs += "  - {phase: second, weights: proportional, transition: {steps: 999, parts: 2}}\n"
    spec = SPEC[: SPEC.index("budget")] + "budget: 2000 steps\nphases:\n" + stairs
    body = {"spec": spec.replace("parts: 2", "parts: 299"), "tables": {"cells.csv": tables["cells.csv"]}}
    refused = put("small", body, status=422, code="too-many-weights").json()
    assert "301 phases and parts of transitions of 1,003 domains" in refused["detail"]
    body = {"spec": spec.replace("parts: 2", "parts: 999"), "tables": {"cells.csv": CELLS}}
    assert "1,001 phases and parts" in put("small", body, status=422, code="too-many-phases").json()["detail"]
    body = {"spec": spec, "tables": {"cells.csv": "domain,tokens\n" + "not read,row by row\n" * 20_001}}
    assert "20,001 domains" in put("small", body, status=413, code="tables-too-large").json()["detail"]
    large = SMALL["tables"] | {"cells.csv": CELLS + "x" * 17_000_000}
    put("small", SMALL | {"tables": large}, status=413, code="tables-too-large")
    out = io.BytesIO()
    pq.write_table(pa.table({f"c{i}": pa.nulls(1_000_000, pa.int64()) for i in range(5)}), out)
    bomb = {"store": base64.b64encode(out.getvalue()).decode(), "shares.csv": SHARES}
    body = {"spec": SPEC.replace("cells.csv", "store"), "tables": bomb}
    assert "1,000,000 rows" in put("small", body, status=413, code="tables-too-large").json()["detail"]


def phases(count: int, weights: str) -> dict[str, object]:
    """A body whose spec has so many phases; `{i}` in their weights is the phase's number."""
    head = SPEC[: SPEC.index("phases:")].replace("budget: 100 steps", f"budget: {count} steps")
    listed = "".join(f"  - phase: p{i}\n    steps: 1\n    weights: {weights.format(i=i)}\n" for i in range(count))
    return {"spec": f"{head}phases:\n{listed}", "tables": {"cells.csv": CELLS}}


def test_a_spec_that_takes_long_to_plan_is_refused_before_it_is_planned(put):
    put("many", phases(1001, "uniform"), status=422, code="too-many-phases")
    where = "[{{where: 'tokens > {i}', share: 100%, within: uniform}}]"
    half = "[{{where: 'tokens > {i}', {half}}}, {{where: 'tokens <= {i}', {half}}}]".replace(
        "{half}", "share: 50%, within: uniform"
    )
    put("many", phases(501, half), status=422, code="too-many-conditions")
    put("few", phases(3, where), status=201)


def test_the_conditions_of_a_spec_have_so_much_time_together(put, monkeypatch):
    monkeypatch.setattr("mixture.api.registry.bundles.CONDITION_SECONDS", 0.0)
    put("slow", status=422, code="condition-too-slow")
    put("quick", phases(2, "uniform"), status=201)


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        (SMALL | {"spec": SPEC.replace("c: 20%", "cc: 20%")}, "unknown-domain", {"in": "mixture.yaml", "line": 10}),
        (SMALL | {"spec": SPEC + "seed: 1\nseed: 2\n"}, "duplicate-key", {"in": "mixture.yaml", "line": 14}),
        (SMALL | {"spec": SPEC.replace("100 steps", "2e12T")}, "exponent-and-suffix", {"in": "mixture.yaml"}),
        (SMALL | {"spec": SPEC.replace("budget: 100 steps", "budget: 9000 steps")}, "over-epochs", {}),
        ({"spec": SPEC, "tables": {"cells.csv": "domain\na\n", "shares.csv": SHARES}}, "missing-column",
         {"in": "cells.csv", "line": 1}),
        (SMALL | {"spec": "a half \ud800 character"}, "invalid-request", {"in": "body", "pointer": "/spec"}),
        (SMALL | {"tables": {"cells.csv": CELLS + "half \ud800,1,web\n", "shares.csv": SHARES}}, "table-encoding", {}),
        (SMALL | {"lock": "half \ud800"}, "invalid-request", {"in": "body", "pointer": "/lock"}),
        (SMALL | {"more": 1}, "invalid-request", {"in": "body", "pointer": "/more"}),
        ({"spec": SPEC}, "invalid-request", {"in": "body", "pointer": "/tables"}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place_and_without_the_servers_folders(put, body, code, where):
    if code == "over-epochs":
        body = body | {"spec": body["spec"] + "max_epochs: 1\n"}
    answer = put("small", body, status=422, code=code)
    assert where.items() <= answer.json().get("errors", [{}])[0].items()
    assert "/tmp" not in answer.text


@pytest.mark.parametrize("number", ["NaN", '"NaN"', ".nan", "Infinity", "-.inf", "1e999"])
def test_a_weight_that_is_no_finite_number_is_refused_by_the_place_of_its_field(app, put, number):
    code = "out-of-range" if number == "1e999" else "not-finite"
    in_spec = put("small", SMALL | {"spec": SPEC.replace("b: 30%", f"b: {number}")}, status=422, code=code).json()
    assert [(one["in"], one["pointer"], one["line"]) for one in in_spec["errors"]] == [
        ("mixture.yaml", "phases[0].weights.b", 10)
    ]
    tables = SMALL["tables"] | {"shares.csv": SHARES.replace("0.75", number.strip('"'))}
    in_table = put("small", SMALL | {"tables": tables}, status=422, code=code).json()
    assert [(one["in"], one["line"]) for one in in_table["errors"]] == [("shares.csv", 3)]
    assert "'late'" in in_table["detail"]
    assert ask(app, "GET", "/v1/mixtures/small").status_code == 404


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
@pytest.mark.parametrize("pointer", ["/spec", "/tables/cells.csv", "/lock"])
def test_a_number_that_json_does_not_have_is_refused_by_the_name_of_its_field(app, secret, pointer, number):
    body = {"spec": SPEC, "tables": {"cells.csv": CELLS}, "lock": "{}"}
    *parents, name = pointer[1:].split("/")
    holder = body
    for parent in parents:
        holder = holder[parent]
    holder[name] = "here"
    content = json.dumps(body).replace('"here"', number).encode()
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    problem = ask(app, "PUT", "/v1/mixtures/small", content=content, headers=headers).json()
    assert (problem["status"], problem["code"]) == (422, "invalid-request")
    assert [(one["in"], one["pointer"]) for one in problem["errors"]] == [("body", pointer)]


def test_publishing_takes_a_token_with_the_scope(app, secret):
    repository = app.state.services.repository
    runner = repository.add_token("trainer", [Scope.RUN, Scope.READ])[1]
    token, revoked = repository.add_token("gone", [Scope.PUBLISH])
    repository.revoke_token(token.id)
    for authorization, status, code in [
        ({}, 401, "token-missing"),
        ({"Authorization": "Bearer nonsense"}, 401, "token-invalid"),
        ({"Authorization": f"Bearer {revoked}"}, 401, "token-invalid"),
        ({"Authorization": f"Basic {secret}"}, 401, "authorization-invalid"),
        ({"Authorization": f"Bearer {runner}"}, 403, "scope-missing"),
    ]:
        answer = ask(app, "PUT", "/v1/mixtures/small", json=SMALL, headers=authorization)
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (status, code)
    assert ask(app, "GET", "/v1/mixtures/small").status_code == 404


def test_names_of_mixtures_that_come_with_the_service_can_not_be_taken(put):
    put("demo", status=409, code="name-built-in")


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a b", "ü", "-a", "a@b", "x" * 101])
def test_names_that_an_address_could_not_carry_are_refused(app, put, name):
    put(name, status=422, code="name-invalid" if "." in name else "invalid-request")
    assert app.state.services.repository.names(limit=10) == []


def test_what_was_published_by_a_version_that_knows_more_is_no_fault_of_who_asks(app):
    known, _ = make_bundle(SPEC, SMALL["tables"])
    later = replace(known, spec=known.spec + b"curriculum: steep\n", digest="ab" * 32)
    app.state.services.repository.publish("later", later, expected=None, if_new=False, by="ann")
    for address in ("mixtures/later", "mixtures/later/composition", "catalogs/later"):
        answer = ask(app, "GET", f"/v1/{address}")
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (503, "unknown-key"), answer.text
        assert "curriculum" in answer.json()["detail"]


def test_the_list_of_catalogs_names_those_of_published_mixtures(app, put, tmp_path):
    put("mine")
    lock = json.loads(ask(app, "GET", "/v1/mixtures/mine/lock").content)
    (mine,) = (one for one in ask(app, "GET", "/v1/catalogs").json()["items"] if one["name"] == "mine")
    assert mine["catalog"] == lock["catalog"] == ask(app, "GET", mine["url"]).json()["catalog"]
    (tmp_path / "data" / "objects").rename(tmp_path / "away")
    restarted = create_app(app.state.services.settings)
    items = ask(restarted, "GET", "/v1/catalogs").json()["items"]
    restarted.state.services.close()
    assert {one["name"]: one["catalog"] for one in items}["mine"] is None
    assert len(items) > 1
