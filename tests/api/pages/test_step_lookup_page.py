"""Steps looked up in the browser, from files alone: no service runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from schedule.asking import answers
from schedule.making import ROOT

from mixture.api.pages.assets import assets
from mixture.api.pages.step.lookup import step_lookup_files
from mixture.lock import Lock, lock_text, read_lock


def write_site(folder: Path, name: str) -> tuple[Lock, str]:
    """The page of a mixture with what it loads, as files; gives the lock, and the page's address."""
    lock = read_lock(ROOT / "mixtures" / name / "mixture.lock.json")
    for path, text in step_lookup_files(lock).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "assets").mkdir(exist_ok=True)
    for path, data in assets().items():
        (folder / "assets" / path).write_bytes(data)
    return lock, (folder / "mixtures" / name / "steps" / "index.html").as_uri()


def table(page, region: str) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    rows = page.get_by_role("region", name=region).locator("tbody tr")
    return [row.locator("th, td").all_text_contents() for row in rows.all()]


def test_a_typed_step_is_worked_out_from_the_lock(page, tmp_path, look):
    lock, url = write_site(tmp_path, "marin-535b-a23b")
    schedule = lock.schedule()
    page.goto(url)
    page.get_by_label("Step, 0 to 390,250").fill("200000")
    page.locator("#by-step").get_by_role("button", name="Look up").click()
    expect(page.get_by_role("heading", name="Step 200,000")).to_be_visible()
    assert page.url == f"{url}?step=200000"
    assert page.locator("#facts dd").all_text_contents() == [
        "main",
        "2,252,800,000 to 2,252,811,263",
        "11,264 sequences of 4,096 tokens: 46,137,344 tokens",
        schedule.history(200_000),
    ]
    counts = schedule.counts(200_001) - schedule.counts(200_000)
    weights = lock.data.segments[1].weights
    shown = table(page, "By domain")
    assert [(row[0], row[2]) for row in shown] == [
        (name, f"{count:,}") for name, count, weight in zip(schedule.names, counts, weights, strict=True) if weight
    ]
    look("step-lookup")


def test_the_first_sequences_of_a_step_are_those_of_the_schedule(page, tmp_path):
    lock, url = write_site(tmp_path, "demo")
    schedule = lock.schedule()
    page.goto(f"{url}?step=15259&slot=200")
    start = schedule.positions_before(15_259)
    expected = answers(schedule, schedule.rows(start + 200, 50))
    names = ("slot", "position", "domain", "epoch", "draw", "sequence", "first_token")
    assert table(page, "Sequences") == [
        [row[name] if name == "domain" else f"{row[name]:,}" for name in names] for row in expected
    ]
    page.get_by_role("link", name="next slots").click()
    expect(page.get_by_role("heading", name="Sequences: slots 250 to 255 of 256")).to_be_in_viewport()


def test_a_position_leads_to_its_step_and_is_marked_there(page, tmp_path, look):
    lock, url = write_site(tmp_path, "demo")
    schedule = lock.schedule()
    page.goto(url)
    page.get_by_label("Position, 0 to 8,788,991").fill("8788990")
    page.locator("#by-position").get_by_role("button", name="Look up").click()
    expect(page.get_by_role("heading", name="Step 19,072")).to_be_visible()
    marked = page.locator("[aria-current=true]")
    expect(marked).to_have_count(1)
    row = answers(schedule, schedule.at([8_788_990]))[0]
    assert marked.locator("th, td").all_text_contents()[:3] == ["254", "8,788,990", row["domain"]]
    fact = page.locator("#facts dd").first
    expect(fact).to_contain_text(
        f"Slot 254 reads sequence {row['sequence']:,} of {row['domain']}, in epoch {row['epoch']}"
    )
    page.emulate_media(color_scheme="dark")
    look("step-lookup-position-dark")


def test_links_lead_from_step_to_step_and_sort_the_domains(page, tmp_path):
    _, url = write_site(tmp_path, "olmo-3-7b")
    page.goto(f"{url}?step=1473425")
    steps = page.get_by_role("navigation", name="Steps")
    steps.get_by_role("link", name="next").click()
    expect(page.get_by_role("heading", name="Step 1,473,426")).to_be_visible()
    expect(steps.get_by_role("link", name="next")).to_have_count(0)
    page.get_by_role("link", name="Sequences", exact=True).click()
    expect(page.get_by_role("columnheader", name="Sequences")).to_have_attribute("aria-sort", "descending")
    sequences = [int(row[2].replace(",", "")) for row in table(page, "By domain")]
    assert sequences == sorted(sequences, reverse=True)
    assert sum(sequences) == 64
    steps.get_by_role("link", name="first").click()
    expect(page.get_by_role("heading", name="Step 0", exact=True)).to_be_visible()
    assert page.url == f"{url}?order=sequences&step=0"


def test_the_rows_of_a_step_and_the_lock_can_be_saved(page, tmp_path):
    lock, url = write_site(tmp_path, "demo")
    schedule = lock.schedule()
    page.goto(f"{url}?step=3")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save all 512 as CSV").click()
    with saved.value.path().open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = answers(schedule, schedule.rows(3 * 512, 512))
    assert rows == [{name: str(value) for name, value in row.items()} for row in expected]
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the lock").click()
    assert saved.value.path().read_text(encoding="utf-8") == lock_text(lock)


def test_a_lock_that_was_changed_is_said_to_be_wrong_and_nothing_is_shown(page, tmp_path):
    lock, url = write_site(tmp_path, "demo")
    changed = lock_text(lock).replace('"tokens": 652000000', '"tokens": 652000001')
    beside = tmp_path / "mixtures" / "demo" / "steps" / "lock.js"
    beside.write_text(f"const LOCK_TEXT = {json.dumps(changed)};\n", encoding="utf-8")
    page.goto(url)
    expect(page.get_by_role("status")).to_contain_text(
        "The lock can not be relied on. This does not hold: The lock's digest"
    )
    expect(page.locator("#found")).to_be_hidden()


@pytest.mark.parametrize("query", ["step=19073", "step=-1", "step=two", "position=8788992", "step=1&slot=512"])
def test_what_is_not_in_the_run_is_said(page, tmp_path, query):
    _, url = write_site(tmp_path, "demo")
    page.goto(f"{url}?{query}")
    expect(page.get_by_role("status")).to_contain_text("There is no")
    expect(page.locator("#found")).to_be_hidden()


def test_the_page_says_what_was_checked_and_can_be_read_on_a_telephone(page, tmp_path, look):
    lock, url = write_site(tmp_path, "demo")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}?step=15000")
    expect(page.get_by_role("status")).to_contain_text(f"digest {lock.digest[:12]}, which is right")
    checks = page.locator("#checks li")
    expect(checks).to_have_count(3)
    expect(checks.first).to_contain_text(lock.digest)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look("step-lookup-narrow")


def test_without_scripts_the_page_says_what_it_needs(browser, tmp_path):
    _, url = write_site(tmp_path, "demo")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    expect(page.get_by_text("which needs JavaScript")).to_be_visible()
    context.close()
