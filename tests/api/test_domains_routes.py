"""One domain of a catalog, and its examples: /v1/catalogs/{ref}/domains/{domain}."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES, ask
from clustered_mixture import NAME, clustered_mixture

from mixture.data.store import Store, open_store

DOMAIN = "c00q2"
HERE = f"/v1/catalogs/{NAME}/domains/{DOMAIN}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return clustered_mixture(tmp_path_factory)


@pytest.fixture(scope="module")
def store(folder) -> Store:
    return open_store(folder / "store")


@pytest.fixture(scope="module")
def app(folder, make_shared_app):
    return make_shared_app(mixtures_dirs=(folder, MIXTURES))


def get(app, address: str) -> httpx2.Response:
    return ask(app, "GET", address)


def text(store: Store, row: dict) -> str:
    """The whole text of a document, from the tokens themselves."""
    tokens = store.read(DOMAIN, row["first_token"], row["tokens"] - 1)
    return tokens.astype("uint8").tobytes().decode()


def test_a_domain_has_the_figures_of_catalog_plan_and_documents(app, store):
    shown = get(app, HERE).raise_for_status().json()
    own, held = shown["figures"], store.domains[DOMAIN]
    whole = sum(domain.tokens for domain in store.domains.values())
    assert (own["tokens"], own["documents"]) == (held.tokens, held.documents)
    assert own["share"] == held.tokens / whole
    assert (shown["row"], shown["column"], shown["axes"]) == ("c00", "2", ["cluster", "quality"])
    assert [one["phase"] for one in shown["phases"]] == ["first", "second", None]
    plan = get(app, f"/v1/mixtures/{NAME}/plan").json()
    planned = next(one for one in plan["domains"] if one["domain"] == DOMAIN)
    assert shown["phases"][-1]["tokens"] == planned["tokens_drawn"]
    documents = store.documents_from(DOMAIN, 0, held.documents).to_pylist()
    facts = shown["store"]
    assert sum(one["documents"] for one in facts["lengths"]) == held.documents
    for one in facts["lengths"]:
        assert one["documents"] == sum(one["first"] <= row["tokens"] <= one["last"] for row in documents)
    lengths = sorted(row["tokens"] for row in documents)
    assert (facts["shortest"], facts["longest"]) == (lengths[0], lengths[-1])
    assert facts["median"] == lengths[(len(lengths) - 1) // 2]
    attributes = {one["name"]: one for one in facts["attributes"]}
    assert list(attributes)[:2] == ["source", "license"]
    for one in attributes["source"]["values"]:
        assert one["tokens"] == sum(row["tokens"] for row in documents if row["source"] == one["value"])
    assert sum(one["tokens"] for one in attributes["source"]["values"]) == held.tokens


def test_a_domain_without_a_store_has_no_documents(app):
    shown = get(app, "/v1/catalogs/marin-535b-a23b/domains/c12q3").raise_for_status().json()
    assert shown["title"] == "Travel and Destinations"
    assert shown["store"] is None
    missing = get(app, "/v1/catalogs/marin-535b-a23b/domains/c12q3/examples")
    assert (missing.status_code, missing.json()["code"]) == (404, "store-missing")


def test_typical_examples_are_those_of_the_overview_in_its_order(app, store):
    typical = next(one.typical for one in store.overview.domains if one.domain == DOMAIN)
    found, url = [], f"{HERE}/examples?limit=7"
    while url:
        page = get(app, url).raise_for_status().json()
        found, url = found + page["items"], page["next_url"]
    assert [one["id"] for one in found] == list(typical)
    assert [one["number"] for one in found] == list(range(len(typical)))


def test_random_examples_are_all_documents_once_in_an_order_of_the_seed(app, store):
    def order(seed: int) -> list[str]:
        found, url = [], f"{HERE}/examples?kind=random&seed={seed}&limit=20"
        while url:
            page = get(app, url).raise_for_status().json()
            found, url = found + page["items"], page["next_url"]
        return [one["id"] for one in found]

    every = store.documents_from(DOMAIN, 0, store.domains[DOMAIN].documents)["id"].to_pylist()
    assert order(1) == order(1)
    assert sorted(order(1)) == sorted(order(2)) == sorted(every)
    assert order(1) != order(2) != every


def test_an_example_says_where_it_is_from_and_why_it_is_in_its_level(app, store):
    (one,) = get(app, f"{HERE}/examples?limit=1").json()["items"]
    ends, score = store.overview.quality.cut_offs, float(one["attributes"]["quality_score"])
    assert one["url"] == one["attributes"]["url"]
    level = bisect_right(ends, score)
    reason = one["quality"]
    assert f"q{reason['level']}" == f"q{level}" == DOMAIN[-2:]
    assert (reason["score"], reason["at_least"]) == (score, ends[level - 1])
    assert sum(part["value"] * part["weight"] for part in reason["features"]) == pytest.approx(score, abs=1e-3)
    assert [part["name"] for part in reason["features"]] == [part.name for part in store.overview.quality.features]


@pytest.mark.parametrize(("setting", "most"), [("none", None), ("snippet", 300), ("full", 20_000)])
def test_texts_are_shown_as_far_as_the_setting_lets_them(folder, make_app, store, setting, most):
    app = make_app(mixtures_dirs=(folder,), examples=setting)
    for one in get(app, f"{HERE}/examples?limit=20").raise_for_status().json()["items"]:
        if most is None:
            assert one["text"] is None
            continue
        whole = text(store, one)
        assert one["text"] == whole[:most]
        assert one["is_cut"] == (len(whole) > most)


def test_a_page_shows_no_more_of_texts_than_the_setting_lets(folder, make_app):
    app = make_app(mixtures_dirs=(folder,), examples="none")
    page = get(app, f"/catalogs/{NAME}?cell={DOMAIN}&q=import").raise_for_status().text
    assert "Texts are not shown here." in page
    assert "<pre" not in page[: page.index("Data of this page")]
    assert "texts" not in page[page.index('type="search"') :].partition(">")[0]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("c00q9", 404, "unknown-domain"),
        ("c00q9/examples", 404, "unknown-domain"),
        (f"{DOMAIN}/examples?kind=best", 422, "invalid-request"),
        (f"{DOMAIN}/examples?sed=1", 422, "unknown-parameter"),
        (f"{DOMAIN}/examples?limit=21", 422, "invalid-request"),
        (f"{DOMAIN}.csv", 404, "unknown-domain"),
    ],
)
def test_what_is_not_there_is_refused(app, path, status, code):
    answer = get(app, f"/v1/catalogs/{NAME}/domains/{path}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_an_answer_that_the_client_has_is_not_sent_again(app):
    tag = get(app, f"{HERE}/examples").headers["etag"]
    again = ask(app, "GET", f"{HERE}/examples", headers={"If-None-Match": tag})
    assert again.status_code == 304


def test_the_plan_of_another_mixture_over_the_same_domains_is_shown_on_the_page(app):
    here = "/catalogs/marin-535b-a23b.json?mixture=marin-announced-80-20&phase=midtraining"
    shown = get(app, here).raise_for_status().json()
    assert (shown["overlay"], shown["stretch"]) == ("marin-announced-80-20", "midtraining")
    plan = get(app, "/v1/mixtures/marin-announced-80-20/plan").json()["phases"][1]
    cells = {cell["key"]: cell for row in shown["rows"] for cell in row["cells"]}
    for one in plan["domains"]:
        assert cells[one["domain"]]["planned_tokens"] == one["tokens"]
        assert cells[one["domain"]]["weight"] == float(one["weight"]["decimal"])


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("mixture=demo", 422, "other-catalog"),
        ("phase=warmup", 422, "unknown-phase"),
        ("measure=size", 422, "invalid-request"),
        ("sort=-size", 422, "unknown-sort"),
        ("columns=qality", 422, "unknown-column"),
        ("cell=c99q9", 404, "unknown-domain"),
        ("part=panel", 422, "invalid-request"),
    ],
)
def test_a_page_that_can_not_be_is_refused(app, query, status, code):
    answer = get(app, f"/catalogs/marin-535b-a23b?{query}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
