"""The lineage of an amended mixture, and its marks on the page of a run, in a browser."""

from __future__ import annotations

import json
import subprocess

import httpx2
import pytest
from playwright.sync_api import expect
from service_processes import PROGRAM, copy_of_the_service

from mixture.client import register_run, report_progress
from mixture.client.service import Service

CELLS = "domain,tokens,kind\na,200000,web\nb,90000,code\nc,1000000,web\n"
SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 1000 steps
phases:
  - phase: main
    share: 80%
    weights: {a: 40%, b: 10%, c: 50%}
  - phase: last
    weights: {a: 20%, b: 20%, c: 60%}
"""
LATER = SPEC.replace("sequence_length: 64", "sequence_length: 256").replace("8 sequences", "2 sequences")
LATER = LATER.replace("b: 10%, c: 50%", "b: 20%, c: 30%, d: 10%")


@pytest.fixture(scope="module")
def amended(tmp_path_factory):
    """The address of a service with a mixture that was amended twice, and a run of it that goes on under the last."""
    data_dir = tmp_path_factory.mktemp("data")
    with copy_of_the_service(data_dir) as url:
        httpx2.get(f"{url}/readyz", timeout=60).raise_for_status()  # its database is there
        made = subprocess.run(
            [PROGRAM, "tokens", "create", "ann", "--scope", "publish,run", "--data-dir", str(data_dir), "--json"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        token = json.loads(made.stdout.splitlines()[0])["secret"]
        service = Service(url, token)
        first = service.ask("PUT", "/v1/mixtures/small", {"spec": SPEC, "tables": {"cells.csv": CELLS}})
        run = register_run(url, "small", name="ablation 7", token=token)["id"]
        report_progress(url, run, step=400, token=token)
        body = {"base": first["ref"], "step": 400, "spec": LATER, "reason": "a longer context",
                "tables": {"cells.csv": CELLS + "d,500000,code\n"}}  # fmt: skip
        second = service.ask("POST", "/v1/mixtures/small/amendments", body)
        report_progress(url, run, step=600, lock=second["digest"], token=token)
        spike = {"base": second["ref"], "step": 600, "skip_steps": 3, "reason": "a loss spike"}
        third = service.ask("POST", "/v1/mixtures/small/amendments", spike)
        report_progress(url, run, step=640, lock=third["digest"], token=token)
        yield url, first, run


def test_the_lineage_leads_to_the_locks_that_a_mixture_came_from(page, amended, look):
    url, first, _ = amended
    page.goto(f"{url}/mixtures/small")
    expect(page.get_by_role("heading", name="Lineage")).to_be_visible()
    amendments = page.locator("ol.lineage > li")
    expect(amendments).to_have_count(2)
    expect(amendments.nth(0)).to_contain_text("a loss spike")
    expect(amendments.nth(0)).to_contain_text(", by ann, 20")
    expect(amendments.nth(0)).to_contain_text("Left out: 6 sequences, 1,536 tokens.")
    expect(amendments.nth(1)).to_contain_text("A sequence has 256 tokens and no longer 64.")
    rows = page.get_by_role("table", name="Checkpoints that go on under this lock").get_by_role("row")
    expect(rows).to_have_count(4)
    look("lineage")
    page.set_viewport_size({"width": 390, "height": 800})
    look("lineage-narrow")
    findings = page.get_by_role("region", name="Findings")
    assert findings.evaluate("one => one.scrollWidth <= one.clientWidth"), "findings do not run off"
    expect(findings.get_by_role("row").nth(1)).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="dark")
    look("lineage-dark")
    amendments.nth(1).get_by_role("link", name="compare with it").click()
    expect(page.get_by_text("step 400").first).to_be_visible()
    page.goto(f"{url}/mixtures/{first['ref']}")
    expect(page.get_by_role("heading", name="Lineage")).to_have_count(0)


def test_a_run_shows_its_amendments_and_the_locks_that_it_went_on_under(page, amended, look):
    url, _, run = amended
    page.goto(f"{url}/runs/{run}")
    facts = page.locator("#progress")
    expect(facts).to_contain_text("640 of 1,000 done")
    expect(facts).to_contain_text("at step 400, a longer context; at step 600, a loss spike")
    expect(page.locator("path.amended")).to_have_count(2)
    rows = page.get_by_role("region", name="Locks that it went on under").get_by_role("row")
    expect(rows).to_have_count(3)
    look("run-amended")
    facts.get_by_role("link", name="lineage").click()
    expect(page.get_by_role("heading", name="Lineage")).to_be_visible()


def test_why_an_amended_run_is_not_asked_what_if_is_said_on_a_page(page, amended):
    url, _, _ = amended
    page.goto(f"{url}/mixtures/small")
    expect(page.get_by_text("What-if is not offered for an amended run")).to_be_visible()
    expect(page.get_by_role("link", name="what if")).to_have_count(0)
    answer = page.request.get(f"{url}/mixtures/small/what-if", headers={"Accept": "text/html"})
    assert (answer.status, answer.headers["content-type"]) == (409, "text/html; charset=utf-8")
    assert "its spec alone is not its run" in answer.text()
    assert 'href="/mixtures/small"' in answer.text()
