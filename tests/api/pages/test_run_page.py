"""A run's page in a browser, while the run goes on."""

from __future__ import annotations

import json
import subprocess

import pytest
from api_helpers import MIXTURES
from playwright.sync_api import expect
from service_process import free_port
from service_processes import PROGRAM, Copy, start_copy

from mixture.client import register_run, report_progress
from mixture.lock import read_lock

PAPER = 680
"""Pixels between the margins of A4 on edge."""
LOCK = read_lock(MIXTURES / "demo" / "mixture.lock.json")


class Running:
    """A service that shows `demo`, a token to report with, and the run that a test is about."""

    def __init__(self, data_dir) -> None:
        self.data_dir, self.port = data_dir, free_port()
        self.copy = self.start()
        said = subprocess.run(
            [PROGRAM, "tokens", "create", "trainer", "--scope", "run", "--data-dir", str(data_dir), "--new", "--json"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        self.token = json.loads(said.stdout.splitlines()[0])["secret"]
        self.id = self.address = ""

    def register(self) -> None:
        self.id = register_run(self.copy.url, "demo", name="ablation 7", token=self.token)["id"]
        self.address = f"{self.copy.url}/runs/{self.id}"

    def start(self) -> Copy:
        return start_copy(port=self.port, data_dir=self.data_dir, mixtures_dirs=[MIXTURES])

    def report(self, step: int, **loss: float) -> None:
        report_progress(self.copy.url, self.id, step=step, loss=loss or None, token=self.token)


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    made = Running(tmp_path_factory.mktemp("runs"))
    yield made
    made.copy.kill()


@pytest.fixture
def running(trainer):
    """A new run at the service."""
    trainer.register()
    return trainer


def test_the_page_follows_the_reports_of_a_run(page, running, look):
    page.goto(running.address)
    facts = page.locator("#progress")
    expect(page.get_by_role("status")).to_have_text("Live: 0 steps are done.")
    expect(page.get_by_text("Nothing was reported yet")).to_be_visible()
    running.report(9_000, **{"web-high": 2.5, "books": 3.0})
    expect(facts).to_contain_text("9,000 of 19,073 done")
    running.report(15_300, **{"web-high": 2.25, "books": 2.75})
    expect(facts).to_contain_text("15,300 of 19,073 done")
    expect(facts).to_contain_text("midtraining")
    expect(page.get_by_role("status")).to_have_text("Live: 15,300 steps are done.")
    expect(page.get_by_role("img", name="Loss of books from 3 at step 9,000 to 2.75 at step 15,300")).to_be_visible()
    expect(page.get_by_role("region", name="Last reports").get_by_role("row")).to_have_count(3)
    read = int(LOCK.schedule().tokens(15_300).sum())
    expect(facts.locator(f"[title='{read:,} tokens']")).to_be_visible()
    look("run")


def test_what_was_read_is_shown_by_any_column_and_said_to_follow_from_the_step(page, running, look):
    running.report(15_300)
    page.emulate_media(color_scheme="dark")
    page.goto(running.address)
    page.get_by_role("combobox", name="By").select_option("domain")
    page.get_by_role("button", name="Show").click()
    rows = page.get_by_role("region", name="Read so far, by domain").get_by_role("row")
    drawn = LOCK.schedule().tokens(LOCK.data.steps)
    expect(rows).to_have_count(1 + int((drawn > 0).sum()))
    expect(page.get_by_text("it follows from the step")).to_be_visible()
    look("run-dark")


def test_one_report_is_no_change_and_the_steps_that_are_done_lead_to_the_last_of_them(page, running, look):
    running.report(100, books=2.75, **{"web-high": 2.25})
    page.goto(running.address)
    losses = page.locator("#losses")
    expect(losses).to_contain_text("2.75")
    expect(losses).to_contain_text("at step 100")
    expect(losses.get_by_role("img")).to_have_count(0)
    expect(losses).not_to_contain_text("+0")
    expect(page.get_by_role("region", name="Last reports").get_by_role("cell", name="2.5", exact=True)).to_be_visible()
    look("run-one-report")
    page.locator("#progress").get_by_role("link", name="100", exact=True).click()
    assert page.url.endswith("/steps/99")


def test_a_printed_run_fits_the_paper(page, running, look):
    running.report(9_000, **{"web-high": 2.5, "books": 3.0})
    running.report(15_300, **{"web-high": 2.25, "books": 2.75})
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    page.goto(f"{running.address}?by=domain")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    look("run-print")


def test_a_service_that_is_away_is_said_and_its_reports_are_shown_when_it_is_back(browser, running):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()  # its console says that the service is away, which is so
    page.goto(running.address)
    expect(page.get_by_role("status")).to_have_text("Live: 0 steps are done.")
    running.copy.kill()
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    running.copy = running.start()
    running.report(7)
    expect(page.locator("#progress")).to_contain_text("7 of 19,073 done", timeout=30_000)
    expect(page.get_by_role("status")).to_have_text("Live: 7 steps are done.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_without_scripts_the_page_is_whole_and_its_data_are_beside(browser, running):
    running.report(15_300, books=2.0)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(running.address)
    expect(page.locator("#progress")).to_contain_text("15,300 of 19,073 done")
    expect(page.get_by_role("status")).to_contain_text("load it again")
    rows = context.request.get(f"{running.address}.csv").text().splitlines()
    assert rows[0].startswith('"kind","domains","tokens","planned_tokens_so_far"')
    assert context.request.get(f"{running.address}.json").json()["step"] == 15_300
    context.close()


def test_a_run_that_there_is_not_is_refused(page, running):
    assert page.request.get(f"{running.address[:-16]}{'0' * 16}").status == 404
