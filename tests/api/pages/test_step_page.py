"""A step's page in a browser."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect
from service_processes import start_copy

from mixture.data.ingest import ingest
from mixture.data.store import open_store
from mixture.lock import write_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

SPEC = """\
mixture: told
catalog: store
sequence_length: 64
batch: 8 sequences
budget: 60 steps
phases:
  - {phase: first, share: 50%, weights: proportional}
  - {phase: second, weights: uniform}
"""


PAPER = 680
"""Pixels between the margins of A4 on edge."""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The address of a service whose mixture has a store, and the store."""
    folder = tmp_path_factory.mktemp("told")
    for name in ("web", "code"):
        rows = [
            {"id": f"{name}/{i}", "text": f"secret words of {name} {i} " * 20, "url": url}
            for i in range(80)
            for url in (f"https://example.org/{name}/{i}" if i % 2 else "javascript:alert(1)",)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    lines = [f"  {name}: {{files: [{name}.jsonl], text: text, id: id, attributes: [url]}}" for name in ("web", "code")]
    (folder / "sources.yaml").write_text("\n".join(["domains:", *lines, ""]), encoding="utf-8")
    ingest(folder / "sources.yaml", folder / "store", processes=1)
    (folder / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    write_lock(make_lock(make_plan(read_spec(folder / "mixture.yaml"))), folder / "mixture.lock.json")
    copy = start_copy(data_dir=folder / "data", mixtures_dirs=[folder])
    yield copy.url, open_store(folder / "store")
    copy.kill()


def test_a_step_of_a_large_run_is_shown_by_cluster_by_domain_and_by_sequence(page, service, look):
    page.goto(f"{service}/mixtures/marin-535b-a23b/steps/200000")
    expect(page.get_by_role("heading", name="Step 200,000 of marin-535b-a23b")).to_be_visible()
    expect(page.get_by_role("region", name="By cluster").get_by_role("row")).to_have_count(41)
    expect(page.get_by_role("region", name="By domain").get_by_role("row")).to_have_count(51)
    expect(page.locator("dl.facts")).to_contain_text("11,264 sequences of 4,096 tokens: 46,137,344 tokens")
    look("step")


def test_one_goes_from_step_to_step_and_to_a_position(page, service):
    page.goto(f"{service}/mixtures/demo/steps/15258")
    page.get_by_role("navigation", name="Steps").get_by_role("link", name="next", exact=True).click()
    expect(page.get_by_role("heading", name="Step 15,259 of demo")).to_be_visible()
    expect(page.locator("dl.facts")).to_contain_text("midtraining, its first step")
    page.get_by_role("link", name="previous", exact=True).click()
    page.get_by_role("link", name="first of pretraining").click()
    expect(page.get_by_role("heading", name="Step 0 of demo")).to_be_visible()
    page.get_by_label("Step, 0 to 19,072").fill("19072")
    page.get_by_role("button", name="Go").first.click()
    assert page.url == f"{service}/mixtures/demo/steps/19072"
    page.get_by_label("Position, 0 to 8,788,991").fill("8788990")
    page.get_by_role("button", name="Go").last.click()
    assert page.url == f"{service}/mixtures/demo/steps/19072?slot=254#sequences"
    expect(page.get_by_role("heading", name="Sequences: slots 254 to 255 of 256")).to_be_in_viewport()


@pytest.mark.parametrize("address", ["steps", "steps/"])
def test_steps_without_a_number_lead_to_the_first(page, service, address):
    page.goto(f"{service}/mixtures/demo/{address}")
    assert page.url == f"{service}/mixtures/demo/steps/0"


def test_a_sequence_leads_to_its_domain_in_the_catalog(page, service):
    page.goto(f"{service}/mixtures/demo/steps/3")
    link = page.get_by_role("region", name="Sequences").locator("tbody a").first
    name = link.text_content()
    link.click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


@pytest.mark.parametrize("path", ["demo/steps/15259?world_size=8", "marin-535b-a23b/steps/200000"])
def test_a_printed_step_fits_the_paper(page, service, look, path):
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    page.goto(f"{service}/mixtures/{path}")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    look(f"step-print-{path.partition('/')[0]}")


def test_ranks_are_shown_where_their_number_is_given(page, service, look):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{service}/mixtures/demo/steps/15259")
    page.get_by_label("Ranks").fill("8")
    page.get_by_role("button", name="Show who reads what").click()
    expect(page.get_by_text("Each of 8 ranks reads 32 sequences in a row.")).to_be_visible()
    page.get_by_role("link", name="rank 3", exact=True).click()
    first = page.get_by_role("region", name="Sequences").locator("tbody tr").first
    assert first.locator("th, td").all_text_contents()[:2] == ["96", "3"]
    rows = page.get_by_role("region", name="Sequences").locator("tbody tr")
    expect(rows).to_have_count(32)
    expect(page.get_by_role("heading", name="Sequences of rank 3: slots 96 to 127 of 256")).to_be_visible()
    page.get_by_role("navigation", name="Steps").get_by_role("link", name="next", exact=True).click()
    expect(page.get_by_role("heading", name="Step 15,260 of demo")).to_be_visible()
    expect(page.get_by_text("Rank 3 reads slots 96 to 127.")).to_be_visible()
    page.get_by_label("Rank, from 0").fill("7")
    page.get_by_role("button", name="Show who reads what").click()
    expect(page.get_by_text("Rank 7 reads slots 224 to 255.")).to_be_visible()
    page.get_by_role("link", name="all slots").click()
    expect(page.get_by_role("heading", name="Sequences: slots 0 to 49 of 256")).to_be_visible()
    look("step-ranks-dark")


def test_documents_are_named_with_their_attributes_and_their_text_is_not_there(page, told, look):
    url, store = told
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}/mixtures/told/steps/3")
    data = page.request.get(f"{url}/mixtures/told/steps/3.json").json()
    row = data["slots"][0]
    held = store.documents(row["domain"], row["first_token"], row["tokens"]).to_pylist()
    assert [one["id"] for one in row["documents"]] == [one["id"] for one in held]
    for one in page.locator("td.documents summary").all():
        one.click()
    links = page.locator("td.documents a[rel=noreferrer]")
    assert links.count() > 0
    assert all(one.get_attribute("href").startswith("https://example.org/") for one in links.all())
    expect(page.locator("td.documents").filter(has_text="javascript:alert(1)").first).to_be_visible()
    assert "secret words" not in page.content()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look("step-documents-narrow")


def test_a_step_has_its_data_at_its_address_with_an_ending(page, service):
    answer = page.request.get(f"{service}/mixtures/demo/steps/15259.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = answer.text().splitlines()
    assert rows[0].startswith('"domain","group_kind","weight","sequences"')
    every = (
        page.request.get(f"{service}/v1/mixtures/demo/positions.csv?first_position=7812608&last_position=7812863")
        .text()
        .splitlines()
    )
    assert len(every) == 257


def test_a_step_that_is_not_in_the_run_is_refused(page, service):
    assert page.request.get(f"{service}/mixtures/demo/steps/19073").status == 422
    assert page.request.get(f"{service}/mixtures/demo/steps?position=8788992").status in (404, 422)


def test_a_step_is_whole_without_scripts(browser, service):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{service}/mixtures/demo/steps/3")
    domains = page.get_by_role("region", name="By domain")
    domains.get_by_role("link", name="Domain").click()
    expect(domains.get_by_role("columnheader", name="Domain")).to_have_attribute("aria-sort", "ascending")
    context.close()
