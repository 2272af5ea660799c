"""A mixture's page in a browser: its chart, its tables, with and without scripts."""

import re

import pytest
from api_helpers import MIXTURES
from playwright.sync_api import expect

from mixture.api.pages.assets import assets
from mixture.api.pages.figures import percent
from mixture.api.pages.links import FileLinks
from mixture.api.pages.mixture.chart import Band
from mixture.api.pages.mixture.page import mixture_view
from mixture.api.pages.render import render
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.stores import Stores

MARIN = "/mixtures/marin-535b-a23b"


def write_page(folder, view):
    """The page of a view as a file with what it needs; its address."""
    path = f"mixtures/{view.name}/index.html"
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text(render("mixture.html", FileLinks(path), view))
    (folder / "assets").mkdir()
    for name, data in assets().items():
        (folder / "assets" / name).write_bytes(data)
    return (folder / path).as_uri()


def test_a_mixture_says_what_it_is_and_shows_its_composition(page, service, look):
    page.goto(f"{service}{MARIN}")
    expect(page.locator(".lead")).to_contain_text("18.01T tokens in 390,251 steps, from 200 domains, in 3 phases")
    expect(page.locator("#areas path")).to_have_count(8)
    expect(page.locator("#areas text.phase")).to_have_text(["initial", "main", "cooldown"])
    expect(page.locator("#legend tbody tr").last).to_contain_text("c28 Performance Logs and Low-Level Code")
    look("mixture")


def test_the_chart_says_the_shares_at_a_step_to_the_pointer_and_to_the_keyboard(page, service):
    page.goto(f"{service}/mixtures/demo?by=kind")
    legend = page.locator("#legend")
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("End")
    expect(legend.locator("caption")).to_contain_text("At step 19,072")
    expect(slider).to_have_attribute("aria-valuetext", "step 19,072")
    expect(page.locator("#areas [aria-live]")).to_have_count(0)  # the slider says it: not twice
    expect(legend.get_by_role("link")).to_have_attribute("href", "/mixtures/demo/steps/19072")
    expect(legend.locator("tr", has_text="web").locator("td")).to_have_text("54.4%")
    box = page.locator("#areas svg[role=img]").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    expect(legend.locator("tr", has_text="web").locator("td")).to_have_text("60.0%")
    page.keyboard.press("Escape")
    expect(legend.locator("caption")).to_have_text("Over the run")


def test_the_chart_writes_shares_at_a_step_as_the_page_does_and_keeps_the_exact_ones(page, tmp_path):
    shares = (0.01, 0.0000123456789, 0.01005, 0.09996, 0.29, 0.00000099, 0.0, 0.5899766643211)
    whole = 10**13
    view = mixture_view(BuiltinMixtures([MIXTURES], [], Stores([])).all()["demo"])
    bands = tuple(
        Band(label=f"group {i}", key=f"{i}", groups=1, share=0.5, tokens=(round(share * whole),))
        for i, share in enumerate(shares)
    )
    areas = view.areas.model_copy(update={"steps": (0, view.steps), "bands": bands})
    page.goto(write_page(tmp_path, view.model_copy(update={"areas": areas})))
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("End")
    expect(page.locator("#legend caption")).to_contain_text("At step")
    cells = page.locator("#legend tbody td")
    assert cells.all_text_contents() == [percent(share) for share in reversed(shares)]
    assert [float(title) for title in cells.evaluate_all("all => all.map(one => one.title)")] == list(reversed(shares))


def test_a_short_phase_is_looked_at_alone_by_a_link_and_its_steps_by_the_slider(page, service, look):
    page.goto(f"{service}/mixtures/olmo-2-dolmino?by=kind")
    page.get_by_role("link", name="midtraining alone").click()
    expect(page).to_have_url(f"{service}/mixtures/olmo-2-dolmino?by=kind&phase=midtraining#composition")
    caption = page.locator("#legend caption")
    expect(caption).to_have_text("Over midtraining")
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("End")
    expect(caption).to_contain_text("At step 733,821")
    page.keyboard.press("Home")
    expect(caption).to_contain_text("At step 721,901, as of steps 721,901 to")
    assert float(page.locator("#cursor").get_attribute("x1")) < 1
    plot, drawing = page.locator("#areas line.grid").first, page.locator("#areas svg[role=img]")
    middle = plot.bounding_box()["x"] - drawing.bounding_box()["x"] + plot.bounding_box()["width"] / 2
    drawing.hover(position={"x": middle, "y": 60})
    expect(slider).to_have_attribute("aria-valuetext", re.compile("step 727,8"))
    look("mixture-phase")
    page.get_by_role("link", name="the run", exact=True).click()
    expect(caption).to_have_text("Over the run")


def test_a_table_that_is_wider_than_a_phone_has_a_shade_at_its_edge_and_one_that_is_not_has_none(page, service):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service}/mixtures/olmo-2-dolmino")
    shade = "(at => getComputedStyle(document.querySelector(at)).backgroundAttachment)('.scroll:has(#group-table)')"
    assert page.evaluate(shade) == "local, local, scroll, scroll"

    def edge() -> bytes:
        box = page.locator(".scroll:has(#group-table)").bounding_box()
        clip = {"x": box["x"] + box["width"] - 1, "y": box["y"] + 4, "width": 1, "height": 8}
        return page.screenshot(clip=clip, full_page=True)

    wide = edge()
    page.evaluate("document.querySelector('.scroll:has(#group-table)').scrollLeft = 10000")
    at_end = edge()
    page.set_viewport_size({"width": 1280, "height": 900})
    assert wide != at_end == edge()


def test_domains_are_sorted_by_a_click_on_a_head_and_the_address_keeps_it(page, service):
    page.goto(f"{service}{MARIN}")
    page.locator("#domain-table").get_by_role("link", name="Epochs").click()
    expect(page).to_have_url(f"{service}{MARIN}?sort=-epochs#domains")
    expect(page.locator("#domain-table tbody tr").first).to_contain_text("c27q0")
    expect(page.get_by_role("columnheader", name="Epochs").last).to_have_attribute("aria-sort", "descending")
    expect(page.locator("#domain-table tbody tr")).to_have_count(50)
    page.get_by_role("link", name="all", exact=True).click()
    expect(page.locator("#domain-table tbody tr")).to_have_count(200)
    expect(page.locator("#domain-table tbody tr").first).to_contain_text("c27q0")


def test_groups_are_put_in_order_by_a_click_on_a_head(page, service):
    page.goto(f"{service}{MARIN}?by=quality")
    table = page.locator("#group-table")
    table.get_by_role("button", name="Quality").click()
    expect(table.locator("tbody th").first).to_contain_text("0")
    table.get_by_role("button", name="Tokens", exact=True).click()
    tokens = table.locator("tbody td:nth-child(3)").evaluate_all("all => all.map(one => Number(one.title))")
    assert tokens == sorted(tokens, reverse=True)
    assert len(set(tokens)) == len(tokens) >= 5


def test_a_group_leads_to_its_row_of_the_catalogs_map(page, service):
    page.goto(f"{service}{MARIN}?by=cluster")
    page.locator("#group-table").get_by_role("link", name="c14", exact=True).click()
    expect(page).to_have_url(f"{service}/catalogs/marin-535b-a23b?q=c14")
    expect(page.locator("table.map tbody tr")).to_have_count(1)
    expect(page.locator("table.map tbody tr")).to_contain_text("c14")


def test_in_a_file_the_script_puts_the_rows_in_order(page, tmp_path):
    mixture = BuiltinMixtures([MIXTURES], [], Stores([])).all()["olmo-3-7b"]
    page.goto(write_page(tmp_path, mixture_view(mixture)))
    rows = page.locator("#domain-table tbody tr")
    page.locator("#domain-table").get_by_role("button", name="Epochs").click()
    expect(rows.first).to_contain_text("pre-finemath-3-plus")
    page.locator("#domain-table").get_by_role("button", name="Domain", exact=True).click()
    expect(rows.first).to_contain_text("long-pdf-128k-256k")
    expect(page.locator("#domain-table th[aria-sort=ascending]")).to_have_text("Domain")


def test_without_scripts_the_page_is_whole_and_its_form_changes_the_groups(browser, service):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{service}/mixtures/demo?sort=domain")
    page.get_by_label("By").first.select_option("quality")
    page.get_by_role("button", name="Show").first.click()
    expect(page).to_have_url(f"{service}/mixtures/demo?by=quality&sort=domain#composition")
    expect(page.get_by_role("heading", name="By quality")).to_be_visible()
    expect(page.locator("#areas path")).to_have_count(2)  # the lowest quality is never drawn
    context.close()


@pytest.mark.parametrize("name", ["mixture-dark", "mixture-narrow"])
def test_a_mixture_can_be_read_in_the_dark_and_on_a_phone(page, service, look, name):
    if name == "mixture-dark":
        page.emulate_media(color_scheme="dark")
    else:
        page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service}/mixtures/olmo-3-7b")
    expect(page.get_by_role("heading", name="olmo-3-7b")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    look(name)


def test_the_chart_is_as_wide_as_a_phone_and_its_slider_spans_the_plot(page, service):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service}{MARIN}")
    assert page.evaluate("(one => one.scrollWidth - one.clientWidth)(document.querySelector('.areas .scroll'))") == 0
    plot = page.locator("#areas line.grid").first.bounding_box()
    slider = page.get_by_role("slider", name="Step").bounding_box()
    assert slider["x"] == pytest.approx(plot["x"], abs=4)
    assert slider["width"] == pytest.approx(plot["width"], abs=8)


def test_all_columns_of_domains_are_seen_at_a_usual_width(page, service):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{service}/mixtures/olmo-3-7b")
    widths = "(one => one.scrollWidth - one.clientWidth)(document.querySelector('.scroll:has(#%s)'))"
    assert [page.evaluate(widths % one) for one in ("domain-table", "group-table")] == [0, 0]


def test_the_data_are_those_of_the_page_in_its_order(page, service):
    answer = page.request.get(f"{service}{MARIN}.csv?sort=-tokens&by=quality")
    head, first = answer.text().splitlines()[:2]
    assert head.startswith('"domain","group_quality","tokens","weight_initial"')
    assert first.startswith('"c26q4","4",676090234529,')
    assert page.request.get(f"{service}{MARIN}.json").json()["steps"] == 390251


def test_a_page_that_a_browser_has_already_keeps_its_policy(page, service):
    first = page.request.get(f"{service}/mixtures/demo")
    again = page.request.get(f"{service}/mixtures/demo", headers={"If-None-Match": first.headers["etag"]})
    assert again.status == 304
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    data = page.request.get(f"{service}/mixtures/demo.json")
    assert data.headers["content-security-policy"] != first.headers["content-security-policy"]
