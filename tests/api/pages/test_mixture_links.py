"""Where links of a mixture's pages lead: to the same version as the page, also when its name has moved on."""

import re
from urllib.parse import unquote

import pytest


def links_to(html, name):
    """The addresses on a page that lead to a mixture or its catalog, also those that a script completes."""
    found = [unquote(one) for one in re.findall(r'(?:href|data-step|formaction)="([^"]*)"', html)]
    return [one for one in found if re.match(rf"/(?:mixtures|catalogs|v1/mixtures)/{name}\b(?!-)", one)]


@pytest.fixture(scope="module")
def digest(client):
    return client.get("/v1/mixtures/demo").json()["digest"]


@pytest.mark.parametrize("page", ["", "/what-if", "/what-if?budget=1000+steps", "?with=olmo-3-7b", "?sort=domain"])
def test_a_page_by_digest_links_that_digest_alone(client, digest, page):
    ref = f"demo@sha256:{digest}"
    answer = client.get(f"/mixtures/{ref}{page}", headers={"Accept": "text/html"}).raise_for_status()
    links = links_to(answer.text, "demo")
    assert links
    assert [one for one in links if f"/{ref}" not in one] == []


def test_the_other_of_two_is_linked_as_it_was_asked_for(client, digest):
    ref = f"demo@sha256:{digest}"
    answer = client.get(f"/mixtures/olmo-3-7b?with={ref}", headers={"Accept": "text/html"}).raise_for_status()
    assert f"/mixtures/{ref}" in links_to(answer.text, "demo")
    assert "/mixtures/olmo-3-7b" in links_to(answer.text, "olmo-3-7b")


def test_a_page_by_name_links_the_name_and_files_that_are_fixed_by_the_digest(client, digest):
    links = links_to(client.get("/mixtures/demo", headers={"Accept": "text/html"}).raise_for_status().text, "demo")
    assert {"/catalogs/demo", "/mixtures/demo/steps/0", "/mixtures/demo/what-if?by=kind"} <= set(links)
    assert f"/v1/mixtures/demo@sha256:{digest}/lock" in links
