"""The catalog's page: the map, its search, the panel of a cell, examples; with scripts and without."""

from __future__ import annotations

import csv
import io
import re
import signal

import pytest
from mixture_folder import write_mixture
from playwright.sync_api import Page, expect
from service_processes import start_copy

from mixture.data.store import Store, open_store

LONG = """\
mixture: long
catalog: cells.csv
sequence_length: 10
batch: 10 sequences
budget: 1000 steps
phases:
  - {phase: only, weights: proportional}
"""


@pytest.fixture(scope="module")
def store(clustered) -> Store:
    return open_store(clustered / "store")


@pytest.fixture(scope="module")
def largest(store) -> str:
    """A domain that has many documents."""
    return max(store.domains.values(), key=lambda domain: domain.documents).name


@pytest.fixture(scope="module")
def long_service(tmp_path_factory):
    """The address of a service with a catalog of 1,200 domains that has no axes."""
    folder = tmp_path_factory.mktemp("mixtures") / "long"
    rows = "".join(f"d{i:04},{1000 + i}\n" for i in range(1200))
    write_mixture(folder, LONG, cells=f"domain,tokens\n{rows}")
    copy = start_copy(data_dir=tmp_path_factory.mktemp("service"), mixtures_dirs=[folder])
    yield copy.url
    copy.end(signal.SIGTERM)


@pytest.fixture
def plain(browser):
    """A page without scripts."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def map_of(page: Page):
    return page.get_by_role("region", name="Map")


def test_a_map_of_clusters_by_quality_has_a_figure_in_every_cell_and_totals(page, service, look):
    page.goto(f"{service}/catalogs/marin-535b-a23b")
    expect(page.get_by_role("heading", name="Catalog of marin-535b-a23b")).to_be_visible()
    expect(map_of(page).locator("[data-cell]")).to_have_count(200)
    row = map_of(page).get_by_role("row", name="c26")
    expect(row).to_contain_text("7.52%")  # the total of the cluster that is largest, as it was published
    expect(map_of(page).locator("tfoot")).to_contain_text("100%")
    look("catalog-marin")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("measure", ["share", "enrichment", "epochs"])
def test_every_measure_can_be_read_by_day_and_by_night(page, service, look, measure, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{service}/catalogs/marin-535b-a23b?measure={measure}&phase=main")
    expect(page.get_by_role("combobox", name="Show")).to_have_value(measure)
    look(f"catalog-{measure}-{scheme}")


def test_rows_are_sorted_by_links_without_scripts(plain, service):
    plain.goto(f"{service}/catalogs/marin-535b-a23b")
    plain.get_by_role("link", name="All", exact=True).click()
    expect(plain.get_by_role("columnheader", name="All")).to_have_attribute("aria-sort", "descending")
    expect(map_of(plain).locator("tbody th").first).to_have_text("c26")
    plain.get_by_role("link", name="All", exact=True).click()
    expect(map_of(plain).locator("tbody th").last).to_have_text("c26")


def test_a_search_by_form_and_a_panel_by_link_work_without_scripts(plain, service):
    plain.goto(f"{service}/catalogs/marin-535b-a23b")
    plain.get_by_role("searchbox").fill("travel")
    plain.get_by_role("button", name="Show").click()
    expect(map_of(plain).locator("tbody tr")).to_have_count(1)
    plain.locator("[data-cell=c12q3]").click()
    expect(plain.get_by_role("heading", name="c12q3")).to_be_visible()
    assert "q=travel" in plain.url
    assert plain.url.endswith("cell=c12q3#panel")


def test_typing_leaves_the_rows_that_have_all_words(page, service):
    page.goto(f"{service}/catalogs/marin-535b-a23b")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("commerce SEO")
    expect(page.get_by_role("status")).to_have_text("0 of 40 rows.")
    page.get_by_role("searchbox").fill("seo business")
    expect(page.get_by_role("status")).to_have_text("1 of 40 rows.")
    expect(map_of(page).get_by_role("row", name="SEO and Online Business")).to_be_visible()


def test_what_is_typed_is_searched_in_all_rows_whatever_the_page_was_of(page, service):
    page.goto(f"{service}/catalogs/marin-535b-a23b?q=travel")
    expect(map_of(page).locator("tbody tr")).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    expect(page.get_by_role("status")).to_have_text("")
    expect(map_of(page).locator("tbody tr")).to_have_count(40)
    assert "q=" not in page.url
    page.get_by_role("searchbox").fill("seo")
    expect(page.get_by_role("status")).to_have_text("1 of 40 rows.")
    page.wait_for_url("**?q=seo")
    page.get_by_text("Data of this page").click()
    expect(page.get_by_role("link", name=".csv")).to_have_attribute("href", re.compile(r"\.csv\?q=seo$"))
    expect(page.locator("details.data code").first).to_contain_text(".csv?q=seo'")
    map_of(page).locator("tbody tr:not([hidden]) [data-cell]").first.click()
    expect(page.locator("#panel-heading")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    assert page.url.endswith("?q=seo")


def test_a_search_goes_on_while_a_cell_is_opened(page, service):
    page.goto(f"{service}/catalogs/marin-535b-a23b")
    held = []
    page.route(
        "**/catalogs/*?q=*", lambda route: held.append(route) if "part=" not in route.request.url else route.continue_()
    )
    with page.expect_request("**/catalogs/*?q=travel"):
        page.get_by_role("searchbox").fill("travel")
    map_of(page).locator("[data-cell=c12q3]").click()
    expect(page.get_by_role("heading", name="c12q3")).to_be_focused()
    held[0].continue_()
    expect(map_of(page).locator("tbody tr")).to_have_count(1)
    expect(map_of(page).locator("[aria-current]")).to_have_attribute("data-cell", "c12q3")


def test_a_search_in_a_long_list_finds_what_the_page_does_not_show(page, long_service):
    page.goto(f"{long_service}/catalogs/long?from=500")
    expect(page.get_by_role("status")).to_have_text("1,200 of 1,200 rows, 500 shown.")
    page.get_by_role("searchbox").fill("d0007")
    expect(page.get_by_role("status")).to_have_text("1 of 1,200 rows.")
    expect(page.locator("#map tbody tr")).to_have_text(re.compile("d0007"))
    assert page.url.endswith("?q=d0007")
    page.get_by_role("searchbox").fill("d0")
    expect(page.get_by_role("status")).to_have_text("1,000 of 1,200 rows, 500 shown.")


def test_a_panel_opens_in_place_goes_on_by_keyboard_and_closes(page, clustered_service, store, look):
    first, second, *_ = store.domains  # cells are in the order of their names, row by row
    page.goto(f"{clustered_service}/catalogs/clustered")
    page.locator(f"[data-cell={first}]").press("Enter")
    expect(page.get_by_role("heading", name=first)).to_be_focused()
    assert page.url.endswith(f"?cell={first}#panel")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name=second)).to_be_focused()
    expect(page.locator("#map [aria-current=true]")).to_have_attribute("data-cell", second)
    look("catalog-panel")
    page.keyboard.press("Escape")
    expect(page.locator(f"[data-cell={second}]")).to_be_focused()
    expect(page.locator("#panel")).to_be_hidden()
    page.go_back()
    expect(page.get_by_role("heading", name=second)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name=first)).to_be_visible()


def test_arrows_go_from_cell_to_cell_over_those_that_are_not_there(page, service):
    page.goto(f"{service}/catalogs/olmo-3-7b")
    cells = page.locator("#map tbody tr").filter(has=page.get_by_role("rowheader", name="web", exact=True))
    last = cells.locator("[data-cell]").last
    last.focus()
    page.keyboard.press("ArrowUp")  # there are no reasoning traces in pretraining, but there is code
    above = page.locator("#map [data-cell]:focus")
    column = "el => el.closest('td').cellIndex"
    assert above.evaluate(column) == last.evaluate(column)
    assert above.get_attribute("data-cell") != last.get_attribute("data-cell")
    page.keyboard.press("ArrowDown")
    expect(last).to_be_focused()


def test_the_panel_says_what_the_documents_of_a_domain_are(page, clustered_service, store, largest):
    domain = store.domains[largest]
    page.goto(f"{clustered_service}/catalogs/clustered?cell={largest}")
    panel = page.locator("#panel")
    expect(panel.locator("dl").first).to_contain_text(f"{domain.documents}")
    lengths = store.documents_from(largest, 0, domain.documents)["tokens"].to_pylist()
    expect(panel.locator("figcaption")).to_contain_text(f"{min(lengths):,} to {max(lengths):,}")
    expect(panel.get_by_role("table", name="License")).to_contain_text(f"PSF-2.0100%{domain.documents}")


def test_examples_are_typical_or_random_by_a_seed_one_after_the_other(page, clustered_service, store, largest):
    typical = next(one.typical for one in store.overview.domains if one.domain == largest)
    page.goto(f"{clustered_service}/catalogs/clustered?cell={largest}")
    shown = page.locator("#panel .id")
    expect(shown).to_have_text(typical[0])
    page.get_by_role("link", name="next", exact=True).click()
    expect(shown).to_have_text(typical[1])
    page.get_by_role("link", name="random").click()
    expect(page.get_by_role("link", name="random")).to_have_attribute("aria-current", "true")
    first = shown.inner_text()
    page.get_by_role("link", name="next", exact=True).click()
    expect(shown).not_to_have_text(first)
    page.get_by_role("link", name="previous", exact=True).click()
    expect(shown).to_have_text(first)
    page.reload()
    expect(shown).to_have_text(first)
    expect(page.locator("#panel pre")).to_contain_text("…")
    expect(page.locator("#panel")).to_contain_text(f"level {largest[-1]}: its score")


def test_texts_of_examples_are_searched_and_lead_to_the_example(page, clustered_service, look):
    page.goto(f"{clustered_service}/catalogs/clustered")
    page.get_by_role("searchbox").fill("generated from")
    hit = page.locator("a.hit").first
    expect(hit).to_be_visible()
    expect(hit.locator("mark")).to_have_text("generated")
    look("catalog-search")
    hit.click()
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    expect(page.locator("#panel pre")).to_contain_text("generated from")


def test_a_catalog_without_axes_is_a_list_or_a_map_by_any_two_columns(page, service, look):
    page.goto(f"{service}/catalogs/demo?sort=-tokens")
    first = page.get_by_role("region", name="Domains").locator("tbody tr").first
    expect(first.get_by_role("rowheader")).to_have_text("web-low")
    look("catalog-list")
    page.get_by_label("Rows").select_option("kind")
    page.get_by_label("Columns").select_option("quality")
    page.get_by_role("button", name="Show").click()
    expect(map_of(page).locator("thead")).to_contain_text("Quality")


def test_a_cell_of_several_domains_names_them(page, service):
    page.goto(f"{service}/catalogs/olmo-3-7b?cell=qa/midtraining")
    expect(page.get_by_role("heading", name="qa/midtraining")).to_be_visible()
    page.locator("#panel").get_by_role("link", name="mid-nemotron-synth-qa").click()
    expect(page.get_by_role("heading", name="mid-nemotron-synth-qa")).to_be_focused()


@pytest.mark.parametrize("address", ["marin-535b-a23b?cell=c12q3", "olmo-3-7b", "demo?cell=books"])
def test_on_a_narrow_screen_only_the_map_scrolls_sideways(page, service, look, address):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service}/catalogs/{address}")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    look(f"catalog-narrow-{address.partition('?')[0]}")


def test_on_paper_there_are_the_map_and_how_it_was_made(page, service, look):
    page.emulate_media(media="print")
    page.goto(f"{service}/catalogs/marin-535b-a23b")
    expect(page.get_by_role("searchbox")).to_be_hidden()
    expect(page.get_by_role("heading", name="How it was made")).to_be_visible()
    look("catalog-print")


def test_the_data_of_the_page_are_its_cells_as_shown(page, service):
    page.goto(f"{service}/catalogs/marin-535b-a23b?q=travel&measure=weight")
    page.get_by_text("Data of this page").click()
    answer = page.request.get(f"{service}{page.get_by_role('link', name='.csv').get_attribute('href')}")
    rows = list(csv.DictReader(io.StringIO(answer.text())))
    assert [row["domains"] for row in rows] == [f"c12q{quality}" for quality in range(5)]
    assert sum(int(row["tokens"]) for row in rows) == 386594350901


def test_a_search_that_finds_nothing_says_where_it_looked(page, service, clustered_service, look):
    page.goto(f"{clustered_service}/catalogs/clustered?q=nowhereatall")
    expect(page.get_by_text("beginnings of typical examples. The rest of the texts is not searched.")).to_be_visible()
    expect(page.locator("#map")).to_have_count(0)
    look("catalog-nothing")
    page.goto(f"{service}/catalogs/marin-535b-a23b")
    page.get_by_role("searchbox").fill("nowhereatall")
    expect(page.get_by_text("Nothing is found in titles, terms and names of domains.")).to_be_visible()
    expect(page.locator("#map")).to_be_hidden()
    page.get_by_role("searchbox").fill("travel")
    expect(map_of(page).locator("tbody tr")).to_have_count(1)
    expect(page.locator("#nothing")).to_be_hidden()


def test_the_open_cell_is_outlined_without_scripts(plain, service):
    plain.goto(f"{service}/catalogs/marin-535b-a23b?cell=c12q3")
    marked = plain.locator("#results [aria-current=true]")
    expect(marked).to_have_attribute("data-cell", "c12q3")
    assert marked.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    plain.goto(f"{service}/catalogs/demo?cell=books")
    expect(plain.locator("#results [aria-current=true]")).to_have_text("books")


def test_links_to_other_cells_stand_in_one_place_and_figures_do_not_break(page, service, look):
    page.set_viewport_size({"width": 1280, "height": 900})
    places = set()
    for cell in ("c00q0", "c00q1", "c12q3"):
        page.goto(f"{service}/catalogs/marin-535b-a23b?cell={cell}")
        boxes = [page.locator(f"#panel .panel-head {one}").bounding_box() for one in ("[rel=next]", "[data-close]")]
        places.add(tuple((round(box["x"]), round(box["y"])) for box in boxes))
        assert page.locator("#panel dd.whole").first.evaluate("one => getComputedStyle(one).whiteSpace") == "nowrap"
        assert page.evaluate("document.documentElement.scrollWidth") == 1280
    assert len(places) == 1
    look("catalog-panel-wide")
