"""The catalog's page as a file: all measures, and rows in any order, with no service to ask."""

from __future__ import annotations

import re

import pytest
from api_helpers import MIXTURES
from playwright.sync_api import Page, expect

from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.stores import Stores
from mixture.api.site.files import site_files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The folder of a site of two mixtures."""
    folder = tmp_path_factory.mktemp("files")
    folders = [MIXTURES / name for name in ("marin-535b-a23b", "demo")]
    for file in site_files(list(BuiltinMixtures(folders, [], Stores([])).all().values())):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
    return folder


def first_row(page: Page):
    return page.locator("#map tbody tr").first


def test_rows_of_a_map_are_sorted_by_any_measure(page, files, look):
    page.goto((files / "catalogs/marin-535b-a23b/index.html").as_uri())
    expect(page.locator("[data-cell=c26q0]")).to_have_attribute(
        "title", re.compile(r"^Share .*%, Enrichment .*×, Tokens")
    )
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.get_by_role("columnheader", name="All")).to_have_attribute("aria-sort", "descending")
    expect(first_row(page).get_by_role("rowheader")).to_have_text("c26")
    expect(first_row(page).locator("td.total")).to_have_text("7.52%")
    page.get_by_role("combobox", name="Show").select_option("epochs")
    expect(page.locator("#map caption")).to_contain_text("Epochs by cluster and quality")
    page.get_by_role("button", name="All", exact=True).click()
    figures = [float(text) for text in page.locator("#map td.total").all_inner_texts()]
    assert figures == sorted(figures, reverse=True)
    look("catalog-files-epochs")
    page.reload()
    expect(page.get_by_role("combobox", name="Show")).to_have_value("epochs")
    page.get_by_role("button", name="cluster").click()
    expect(first_row(page).get_by_role("rowheader")).to_have_text("c39")


def test_a_search_and_a_measure_go_together(page, files):
    page.goto((files / "catalogs/marin-535b-a23b/index.html").as_uri())
    page.get_by_role("searchbox").fill("travel")
    page.get_by_role("combobox", name="Show").select_option("enrichment")
    expect(page.locator("#map tbody tr:visible")).to_have_count(1)
    cell = page.locator("[data-cell=c12q3]")
    expect(cell).to_contain_text("×")
    cell.click()
    expect(page.get_by_role("heading", name="c12q3")).to_be_visible()


def test_a_list_is_sorted_by_exact_figures(page, files):
    page.goto((files / "catalogs/demo/index.html").as_uri())
    page.get_by_role("button", name="Tokens").click()
    expect(first_row(page).get_by_role("rowheader")).to_have_text("web-low")
    page.get_by_role("button", name="Domain").click()
    names = page.locator("#map tbody th").all_inner_texts()
    assert names == sorted(names)
