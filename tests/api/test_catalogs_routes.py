"""/v1/catalogs: domains with their attributes, which of them, and sums."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES, ask
from mixture_folder import write_mixture

from mixture.planning.catalog import read_catalog

MARIN = "/v1/catalogs/marin-535b-a23b"


def test_every_mixture_has_its_catalog(client: httpx2.Client):
    listed = client.get("/v1/catalogs?limit=4").json()
    names = ["demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino"]
    assert [one["name"] for one in listed["items"]] == names
    rest = client.get(listed["next_url"]).json()["items"]
    assert [one["name"] for one in rest] == ["olmo-3-7b", "olmo-3-topics"]
    shown = client.get(MARIN).json()
    catalog = read_catalog(MIXTURES / "marin-535b-a23b" / "cells.csv")
    assert (shown["catalog"], shown["tokens"], shown["domains"]) == (catalog.digest, 23_106_103_007_622, 200)
    assert {"name": "cluster", "type": "string"} in shown["columns"]


def test_a_catalog_is_named_by_its_own_digest_and_by_its_mixtures(client: httpx2.Client):
    for listed in client.get("/v1/catalogs").json()["items"]:
        shown = client.get(listed["url"]).json()
        assert listed.items() <= shown.items()
        mixture = client.get(f"/v1/mixtures/{listed['name']}").json()
        assert (mixture["digest"], mixture["catalog"]) == (listed["digest"], listed["catalog"])
        pinned = client.get(f"/v1/catalogs/{listed['ref']}")
        assert pinned.json() == shown
        assert "immutable" in pinned.headers["cache-control"]


def test_domains_are_those_that_a_condition_is_true_for(client: httpx2.Client):
    where = "cluster = 'c00' and quality >= 2"
    rows = client.get(f"{MARIN}/domains", params={"where": where}).json()["items"]
    assert [row["domain"] for row in rows] == ["c00q2", "c00q3", "c00q4"]
    assert rows[0] == {
        "domain": "c00q2", "cluster": "c00", "quality": 2, "title": "Geopolitics and World News",
        "tokens": 218832257133,
        "initial": rows[0]["initial"], "main": 0.0189208984375, "cooldown": 0.013285319010416666,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("qualty = 1", "unknown-column"),
        ("quality =", "bad-condition"),
        ("", "bad-condition"),
        ("quality = 1; drop table cells", "bad-condition"),
        ("exists (select 1 from read_csv('/etc/passwd'))", "condition-not-allowed"),
        ("read_text('/etc/passwd') = ''", "condition-not-allowed"),
        ("(" * 5000 + "1=1" + ")" * 4000, "condition-too-large"),
    ],
)
def test_a_condition_that_is_not_one_is_refused(client: httpx2.Client, where: str, code: str):
    answer = client.get(f"{MARIN}/domains", params={"where": where})
    assert answer.status_code == 422
    assert answer.headers["x-error-code"] in (code, "condition-not-allowed")
    assert "root:" not in answer.text


def test_sums_by_columns_are_those_of_the_table(client: httpx2.Client):
    catalog = read_catalog(MIXTURES / "marin-535b-a23b" / "cells.csv")
    rows = client.get(f"{MARIN}/sums", params={"by": "cluster, quality"}).json()["items"]
    assert [(row["cluster"], row["quality"]) for row in rows] == sorted(
        (row["cluster"], row["quality"]) for row in rows
    )
    assert [row["tokens"] for row in rows] == [domain.tokens for domain in catalog.domains]
    by_quality = client.get(f"{MARIN}/sums", params={"by": "quality"}).json()["items"]
    assert [row["domains"] for row in by_quality] == [40] * 5
    assert sum(row["tokens"] for row in by_quality) == catalog.tokens
    assert by_quality[0]["share"] == by_quality[0]["tokens"] / catalog.tokens
    whole = client.get(f"{MARIN}/sums").json()["items"]
    assert [(row["domains"], row["tokens"], row["share"]) for row in whole] == [(200, catalog.tokens, 1.0)]


def test_means_of_nothing_are_null(client: httpx2.Client):
    none = client.get(f"{MARIN}/sums", params={"where": "tokens < 0"})
    assert none.json()["items"] == [
        {"domains": 0, "tokens": 0, "share": None, "documents": None, "tokens_per_document": None}
    ]
    assert client.get(f"{MARIN}/sums", params={"where": "tokens < 0", "by": "quality"}).json()["items"] == []
    assert client.get(f"{MARIN}/sums").json()["items"][0]["documents"] is None


@pytest.mark.parametrize(
    ("by", "code"),
    [
        ("qualty", "unknown-column"),
        ("tokens", "bad-columns"),
        ("a,a", "unknown-column"),
        ("quality,quality", "bad-columns"),
        (",", "unknown-column"),
    ],
)
def test_columns_that_can_not_make_groups(client: httpx2.Client, by: str, code: str):
    answer = client.get(f"{MARIN}/sums", params={"by": by})
    assert (answer.status_code, answer.headers["x-error-code"]) == (422, code)
    assert answer.json()["errors"][0]["pointer"] == "/by"


CELLS = """\
domain,kind,tokens,documents
a,x,9007199254740993,0
b,x,4611686018427387904,3
b2,x,4611686018427387904,
c,,4611686018427387904,
"""
SPEC = """\
mixture: large
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 10 steps
phases:
  - phase: only
    weights: proportional
"""


def test_sums_beyond_64_bits_are_exact_and_groups_without_a_value_come_last(make_app, tmp_path: Path):
    folder = tmp_path / "large"
    write_mixture(folder, SPEC.replace("proportional", "{a: 1}"), cells=CELLS)
    app = make_app(mixtures_dirs=(folder,))
    rows = ask(app, "GET", "/v1/catalogs/large/sums?by=kind").json()["items"]
    most = 2**53 + 1 + 2**63
    assert [(row["kind"], row["tokens"], row["documents"]) for row in rows] == [("x", most, None), (None, 2**62, None)]
    assert [row["tokens_per_document"] for row in rows] == [None, None]
    only = ask(app, "GET", "/v1/catalogs/large/sums", params={"where": "domain in ('a', 'b')"}).json()["items"]
    assert [(row["documents"], row["tokens_per_document"]) for row in only] == [(3, (2**53 + 1 + 2**62) / 3)]
    for suffix in ("csv", "parquet", "arrow"):
        assert ask(app, "GET", f"/v1/catalogs/large/sums.{suffix}?by=kind").status_code == 200


def test_a_condition_that_takes_too_long_is_refused_with_the_limit(make_app, tmp_path: Path):
    rows = "".join(f"d{i},1000,{'a' * 300}\n" for i in range(20_000))
    write_mixture(tmp_path / "slow", SPEC.replace("proportional", "{d1: 1}"), cells=f"domain,tokens,text\n{rows}")
    app = make_app(mixtures_dirs=(tmp_path / "slow",), condition_seconds=0.001)
    where = " or ".join(f"lower(text) like '%a%{i}%a'" for i in range(60))
    for address in ("catalogs/large/domains", "catalogs/large/sums", "mixtures/large/composition"):
        answer = ask(app, "GET", f"/v1/{address}", params={"where": where})
        assert (answer.status_code, answer.headers["x-error-code"]) == (422, "condition-too-slow"), answer.text
        assert "more than 0.001 seconds" in answer.json()["detail"]


def test_two_mixtures_over_one_table_have_one_catalog(make_app, tmp_path: Path):
    spec = SPEC.replace("proportional", "{a: 1}")
    columns = CELLS.replace("domain,kind,tokens,documents", "domain,sort,tokens,documents")
    for name, text, cells in (("one", spec, CELLS), ("two", f"{spec}seed: 7\n", CELLS), ("three", spec, columns)):
        write_mixture(tmp_path / name, text.replace("large", name), cells=cells)
    app = make_app(mixtures_dirs=(tmp_path,))
    found = {one["name"]: one for one in ask(app, "GET", "/v1/catalogs").json()["items"]}
    assert found["one"]["catalog"] == found["two"]["catalog"] != found["three"]["catalog"]
    assert len({one["digest"] for one in found.values()}) == 3


def test_an_answers_tag_changes_with_what_it_shows(make_app, tmp_path: Path):
    """The digest of a catalog leaves out the order of its columns, and so does a lock's; the answers do not."""
    spec, turned = SPEC.replace("proportional", "{a: 1}"), "kind,domain,tokens\nx,a,700000\ny,b,90\n"
    tags, digests = [], set()
    for name, cells in (("as it is", "domain,kind,tokens\na,x,700000\nb,y,90\n"), ("turned", turned)):
        write_mixture(tmp_path / name, spec, cells=cells)
        app = make_app(mixtures_dirs=(tmp_path / name,))
        answers = [ask(app, "GET", f"/v1/catalogs/large{part}") for part in ("", "/domains")]
        tags.append([answer.headers["etag"] for answer in answers])
        digests.add((answers[0].json()["digest"], answers[0].json()["catalog"]))
        known = ask(app, "GET", "/v1/catalogs/large", headers={"If-None-Match": answers[0].headers["etag"]})
        assert known.status_code == 304
    assert len(digests) == 1
    assert not set(tags[0]) & set(tags[1])
