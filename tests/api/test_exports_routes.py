"""/v1/mixtures/{ref}/exports: what `mixture export` writes, over HTTP."""

from __future__ import annotations

import io
import json
from zipfile import ZipFile

import httpx2
import pytest
import yaml
from api_helpers import MIXTURES, ask

from mixture.formats import FORMATS, WeightUnit, export_mixture
from mixture.lock import read_lock
from mixture.planning.catalog import read_catalog

HERE = "/v1/mixtures/demo/exports"


def exported(name: str, **options: object):
    lock = read_lock(MIXTURES / "demo" / "mixture.lock.json")
    catalog = read_catalog(MIXTURES / "demo" / "catalog.csv")
    return export_mixture(lock, FORMATS[name], catalog=catalog, **options)  # type: ignore[arg-type]


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_the_list_has_every_format_with_its_units_and_an_address_that_answers(client: httpx2.Client):
    items = client.get(HERE).raise_for_status().json()["items"]
    assert [item["format"] for item in items] == list(FORMATS)
    for item in items:
        assert item["units"] == [unit.value for unit in FORMATS[item["format"]].units]
        said = client.get(item["url"]).raise_for_status().json()
        assert said["unit"] == item["units"][0]


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_is_that_of_the_library(name, client: httpx2.Client):
    said = client.get(f"{HERE}/{name}").raise_for_status().json()
    made = exported(name)
    assert {file["name"]: file["text"] for file in said["files"]} == made.files
    assert {key: said[key] for key in ("mixture", "digest", "format", "unit", "remarks")} == made.json()


def test_every_file_has_an_address_of_its_text(client: httpx2.Client):
    query = {"phase": "midtraining", "path_template": "s3://bucket/{kind}/{domain}", "unit": "sequences"}
    said = client.get(f"{HERE}/mosaic", params=query).raise_for_status().json()
    made = exported("mosaic", phase="midtraining", path_template=query["path_template"], unit=WeightUnit.SEQUENCES)
    assert len(said["files"]) == 2
    for file in said["files"]:
        answer = client.get(file["url"]).raise_for_status()
        assert answer.text == file["text"] == made.files[file["name"]]
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-disposition"] == f'inline; filename="{file["name"]}"'
    assert "s3://bucket/code/code-python" in said["files"][0]["text"]


def test_a_single_file_needs_no_name_and_reads_as_yaml(client: httpx2.Client):
    text = client.get(f"{HERE}/marin-json/text").raise_for_status().text
    assert len(yaml.safe_load(text)["phase_budgets"]) == 2


def test_files_that_end_as_forms_of_answers_do_are_reached_too(client: httpx2.Client):
    said = client.get(f"{HERE}/marin-json").raise_for_status().json()
    (file,) = said["files"]
    assert file["name"].endswith(".json")
    assert json.loads(client.get(file["url"]).raise_for_status().text)["phase_budgets"]
    assert client.get(f"{HERE}/csv/text", params={"file": "demo.csv"}).raise_for_status().text.startswith("phase,")


def test_an_archive_has_all_files_and_what_they_can_not_say(client: httpx2.Client):
    address = f"{HERE}/hf/archive"
    answer = client.get(address).raise_for_status()
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="demo.hf.zip"'
    assert client.get(address).content == answer.content
    made = exported("hf")
    with ZipFile(io.BytesIO(answer.content)) as archive:
        held = {name: archive.read(name).decode() for name in archive.namelist()}
    notes = held.pop("demo.hf.remarks.txt")
    assert held == made.files
    assert all(str(remark) in notes for remark in made.remarks)


@pytest.mark.parametrize("path", ["", "/levanter", "/marin-json/text", "/olmo/archive"])
def test_answers_hold_and_are_not_sent_twice(path, client: httpx2.Client):
    digest = read_lock(MIXTURES / "demo" / "mixture.lock.json").digest
    pinned = client.get(f"/v1/mixtures/demo@sha256:{digest}/exports{path}").raise_for_status()
    assert "immutable" in pinned.headers["cache-control"]
    assert "immutable" not in client.get(f"{HERE}{path}").headers["cache-control"]
    again = client.get(str(pinned.url), headers={"If-None-Match": pinned.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == pinned.headers["etag"]


def test_other_options_are_another_answer(client: httpx2.Client):
    tags = {
        client.get(f"{HERE}/levanter", params=query).raise_for_status().headers["etag"]
        for query in ({}, {"phase": "pretraining"}, {"path_template": "x/{domain}"})
    }
    assert len(tags) == 3


@pytest.mark.parametrize(
    ("path", "query", "status", "expected"),
    [
        ("/levantr", {}, 404, "unknown-mixture-format"),
        ("/levanter", {"phase": "midtrainin"}, 422, "unknown-phase"),
        ("/levanter", {"unit": "documents"}, 422, "unit-not-drawn"),
        ("/levanter", {"unit": "words"}, 422, "invalid-request"),
        ("/levanter", {"path_template": "{kind}"}, 422, "paths-alike"),
        ("/levanter", {"path_template": "{knd}/{domain}"}, 422, "unknown-column"),
        ("/levanter", {"fase": "x"}, 422, "unknown-parameter"),
        ("/levanter/text", {}, 422, "file-required"),
        ("/levanter/text", {"file": "demo.levanter.yaml"}, 422, "unknown-file"),
    ],
)
def test_what_can_not_be_written_is_a_problem_with_a_code(path, query, status, expected, client: httpx2.Client):
    answer = client.get(f"{HERE}{path}", params=query)
    assert code(answer) == (status, expected)
    assert answer.json().get("hint") or expected == "invalid-request"


def test_documents_that_a_catalog_does_not_count_are_a_problem(client: httpx2.Client):
    assert code(client.get("/v1/mixtures/marin-535b-a23b/exports/hf")) == (422, "missing-column")
    said = client.get("/v1/mixtures/marin-535b-a23b/exports/hf", params={"unit": "sequences"})
    assert len(said.raise_for_status().json()["files"]) == 3


def test_a_mixture_leads_to_its_exports(client: httpx2.Client):
    links = client.get("/v1/mixtures/demo").json()["links"]
    assert client.get(links["exports"]).raise_for_status().json()["items"]


def test_more_domains_and_phases_than_a_service_writes_at_once_are_a_problem(make_app):
    app = make_app(max_rows=19)
    answer = ask(app, "GET", f"{HERE}/levanter")
    assert code(answer) == (422, "too-many-rows")
    assert "mixture export levanter" in answer.json()["hint"]
    assert ask(make_app(max_rows=20), "GET", f"{HERE}/levanter").status_code == 200
