"""The formats that a mixture's page offers, with units, and that its links give files."""

import io
from zipfile import ZipFile

import httpx2
import pytest
from api_helpers import MIXTURES
from playwright.sync_api import expect

from mixture.api.pages.links import FileLinks
from mixture.api.pages.mixture.exports import export_rows
from mixture.api.pages.mixture.page import mixture_view
from mixture.api.pages.render import render
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.stores import Stores
from mixture.formats import FORMATS


@pytest.fixture(scope="module")
def mixtures():
    return BuiltinMixtures([MIXTURES], [], Stores([])).all()


def test_all_formats_are_offered_with_a_unit_that_the_catalog_can_give(mixtures):
    units = {
        name: {row.format: row.unit.value for row in export_rows(mixtures[name])}
        for name in ("demo", "marin-535b-a23b")
    }
    assert list(units["demo"]) == list(FORMATS)
    assert units["demo"]["hf"] == "documents"
    assert units["marin-535b-a23b"]["hf"] == "sequences"  # its catalog counts no documents
    assert units["demo"]["olmo"] == units["marin-535b-a23b"]["olmo"] == "tokens"


def test_files_of_a_site_offer_none_for_no_service_answers_there(mixtures):
    page = render("mixture.html", FileLinks("mixtures/demo/index.html"), mixture_view(mixtures["demo"]))
    assert "Export to a trainer" not in page


@pytest.mark.parametrize("name", ["demo", "marin-535b-a23b", "olmo-3-7b"])
def test_every_link_of_the_list_gives_its_files(name, page, service, look):
    page.goto(f"{service}/mixtures/{name}")
    table = page.get_by_role("region", name="Export to a trainer")
    expect(table.locator("tbody tr")).to_have_count(len(FORMATS))
    expect(table.locator("tbody tr", has_text="levanter").locator("td").first).to_have_text("sequences")
    look(f"mixture-exports-{name}")
    with httpx2.Client(base_url=service, timeout=60) as client:
        for link in table.get_by_role("link").all():
            answer = client.get(str(link.get_attribute("href"))).raise_for_status()
            if answer.headers["content-type"] == "application/zip":
                assert len(ZipFile(io.BytesIO(answer.content)).namelist()) >= 2
            else:
                assert answer.json()["files"]
