"""One table in four formats, by Accept or by the ending of the address; and how long an answer holds."""

from __future__ import annotations

import io
import json

import httpx2
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from api_helpers import ask
from fastapi import Request
from mixture_folder import write_mixture

from mixture.api.answers.formats import Format, json_bytes
from mixture.api.answers.tables import table_answer
from mixture.api.middleware.http_caching import Lifetime
from mixture.api.routes.publishing import SPEC
from mixture.planning.catalog import read_catalog

DOMAINS = "/v1/catalogs/demo/domains"


def read(answer: httpx2.Response) -> list[dict[str, object]]:
    """The rows of an answer, whatever its format."""
    kind, data = answer.headers["content-type"].split(";")[0], io.BytesIO(answer.content)
    if kind == Format.JSON.value:
        return answer.json()["items"]
    if kind == Format.CSV.value:
        return pyarrow.csv.read_csv(data).to_pylist()
    if kind == Format.PARQUET.value:
        return pyarrow.parquet.read_table(data).to_pylist()
    assert kind == Format.ARROW.value
    return pa.ipc.open_stream(data).read_all().to_pylist()


@pytest.mark.parametrize("form", Format)
def test_all_formats_hold_the_same_rows_by_accept_and_by_ending(client: httpx2.Client, form: Format):
    by_accept = client.get(DOMAINS, headers={"accept": form.value}).raise_for_status()
    by_ending = client.get(DOMAINS + form.suffix, headers={"accept": "text/html"}).raise_for_status()
    assert by_accept.headers["content-type"].split(";")[0] == form.value
    assert by_accept.content == by_ending.content
    assert by_accept.headers["vary"] == "Accept"
    rows = read(by_accept)
    assert [row["domain"] for row in rows] == [row["domain"] for row in read(client.get(DOMAINS))]
    assert rows[0]["tokens"] == 1_904_000_000
    assert (rows[0]["max_epochs"], int(rows[3]["max_epochs"])) == (None, 6)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", Format.JSON),
        ("", Format.JSON),
        ("text/*", Format.CSV),
        ("application/*", Format.JSON),
        ("text/html, application/xhtml+xml, */*;q=0.8", Format.JSON),
        ("application/json;q=0.1, text/csv;q=0.9", Format.CSV),
        ("TEXT/CSV", Format.CSV),
        ("application/json;q=0, */*", Format.CSV),
        ("application/vnd.apache.arrow.stream, application/json;q=0.5", Format.ARROW),
    ],
)
def test_the_format_that_the_client_likes_best_is_taken(client: httpx2.Client, accept: str, form: Format):
    answer = client.get(DOMAINS, headers={"accept": accept})
    assert answer.headers["content-type"].split(";")[0] == form.value


@pytest.mark.parametrize(
    "accept", ["text/html", "application/json;q=0", "image/png, text/csv;q=0", "nonsense", "text/csv;q=x"]
)
def test_a_client_that_takes_none_is_told_what_there_is(client: httpx2.Client, accept: str):
    answer = client.get(DOMAINS, headers={"accept": accept})
    assert (answer.status_code, answer.headers["x-error-code"]) == (406, "not-acceptable")
    assert answer.json()["facts"]["offered"] == [form.value for form in Format]


def test_what_is_not_a_table_is_json_only(client: httpx2.Client):
    assert client.get("/v1/mixtures/demo.json").json()["name"] == "demo"
    for address in ("/v1/mixtures.csv", "/v1/mixtures/demo.parquet", "/v1/mixtures/demo/plan.arrow"):
        answer = client.get(address)
        assert (answer.status_code, answer.json()["instance"]) == (406, address)


def test_integers_above_2_53_and_decimals_are_exact_in_json_and_nan_is_null(make_app):
    app = make_app()
    table = pa.table(
        {
            "tokens": pa.array([2**53 + 1, 2**63 - 1]),
            "sum": pa.array([10**30 + 1, None], pa.decimal128(38, 0)),
            "weight": pa.array([float("nan"), 0.1]),
            "name": pa.array(['q"ü\n', None]).dictionary_encode(),
        }
    )

    @app.get("/rows")
    def rows(request: Request, columns: str):
        def make() -> pa.Table:
            return table.select(columns.split(","))

        return table_answer(request, Format.JSON, of="x", lifetime=Lifetime.SHORT, make=make)

    expected = [
        {"tokens": 2**53 + 1, "sum": 10**30 + 1, "weight": None, "name": 'q"ü\n'},
        {"tokens": 2**63 - 1, "sum": None, "weight": 0.1, "name": None},
    ]
    for columns in (["tokens", "sum", "weight", "name"], ["name", "weight", "tokens"], ["sum"]):
        items = ask(app, "GET", f"/rows?columns={','.join(columns)}").json()["items"]
        assert items == [{name: row[name] for name in columns} for row in expected]
        assert [list(row) for row in items] == [columns, columns]
    with pytest.raises(ValueError, match="Out of range"):
        json_bytes({"x": float("nan")})


def test_pages_of_a_table_lead_to_each_other_in_every_format(client: httpx2.Client):
    for form in Format:
        url, seen = f"{DOMAINS}{form.suffix}?limit=4&where=tokens%20%3E%200", []
        while url:
            answer = client.get(url).raise_for_status()
            seen += [row["domain"] for row in read(answer)]
            url = answer.links.get("next", {}).get("url")
            if form is Format.JSON:
                assert answer.json()["next_url"] == url
        assert seen == [row["domain"] for row in read(client.get(DOMAINS))]


def test_an_answer_that_the_client_has_is_not_sent_again(client: httpx2.Client):
    first = client.get(DOMAINS)
    tag = first.headers["etag"]
    for header in (tag, f'"x", W/{tag}', "*"):
        again = client.get(DOMAINS, headers={"if-none-match": header})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
    assert client.get(DOMAINS, headers={"if-none-match": '"other"'}).status_code == 200
    others = {client.get(url).headers["etag"] for url in (f"{DOMAINS}.csv", f"{DOMAINS}?limit=3", f"{DOMAINS}.parquet")}
    assert len(others | {tag}) == 4


def test_what_a_digest_names_holds_for_good_and_what_a_name_points_to_for_seconds(client: httpx2.Client):
    ref = client.get("/v1/mixtures/demo").json()["ref"]
    for part in ("", "/plan", "/spec", "/lock"):
        # The lock's digest does not say where things stand in the spec's text, nor what its comments are.
        lasting = "max-age=31536000, immutable" if part == "/lock" else "max-age=10, must-revalidate"
        assert client.get(f"/v1/mixtures/{ref}{part}").headers["cache-control"] == f"public, {lasting}"
        assert client.get(f"/v1/mixtures/demo{part}").headers["cache-control"] == "public, max-age=10, must-revalidate"
    pinned = client.get(f"/v1/catalogs/{ref}/domains.csv")
    assert pinned.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert client.get("/v1/mixtures").headers["cache-control"] == "no-cache"
    for page in (f"/mixtures/{ref}", f"/catalogs/{ref}"):
        # A page says what the name led to before and after, too.
        assert client.get(page).headers["cache-control"] == "public, max-age=10, must-revalidate"


def test_csv_reads_back_as_the_catalog_that_it_is(client: httpx2.Client, tmp_path):
    path = tmp_path / "cells.csv"
    path.write_bytes(client.get("/v1/catalogs/demo/domains.csv").content)
    assert read_catalog(path).digest == client.get("/v1/catalogs/demo").json()["catalog"]


def test_json_is_utf_8_without_escapes():
    assert json_bytes({"name": "ü"}) == '{"name":"ü"}'.encode()
    assert json.loads(json_bytes({"n": 2**70})) == {"n": 2**70}


def test_a_domain_whose_name_ends_as_a_format_does_is_found_by_its_name(make_app, tmp_path):
    cells = "domain,tokens\nstack,200000\nstack.json,90000\n"
    write_mixture(tmp_path / "small", SPEC.replace("{a: 50%, b: 50%}", "uniform"), cells=cells)
    app = make_app(mixtures_dirs=(tmp_path / "small",))
    for name in ("stack", "stack.json"):
        shown = ask(app, "GET", f"/v1/catalogs/small/domains/{name}").raise_for_status().json()
        assert shown["key"] == name
    assert len(read(ask(app, "GET", "/v1/catalogs/small/domains.csv"))) == 2
