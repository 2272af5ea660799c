"""The page that follows text through a run, as a view and in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_helpers import MIXTURES, ask
from mixture_folder import write_mixture
from playwright.sync_api import expect
from service_processes import start_copy
from traced_store import traced_store

from mixture.api.middleware.problems import Problem, problem_of
from mixture.api.pages.step.sequences import StoreState
from mixture.api.pages.trace import Asked, trace_view
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.library import LoadedMixture
from mixture.api.registry.stores import Stores
from mixture.data.store import Store
from mixture.errors import MixtureError
from mixture.stream import read_so_far, trace_documents, trace_token

SPEC = """\
mixture: followed
catalog: {store}
tokenizer: bytes
sequence_length: 64
batch: 24 sequences
budget: 60 steps
phases:
  - phase: first
    until: step 30
    weights: {{code: 40%, held: 0, web: 60%}}
  - phase: second
    sequence_length: 128
    weights: {{code: 70%, held: 0, web: 30%}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a mixture `followed/`, and its store."""
    made = tmp_path_factory.mktemp("followed")
    store = traced_store(made / "made", {"code": 100, "held": 9, "web": 200})
    write_mixture(made / "followed", SPEC.format(store=store.path))
    return made


@pytest.fixture(scope="module")
def followed(folder: Path) -> tuple[LoadedMixture, Store]:
    stores = Stores([folder / "made" / "store"])
    mixture = BuiltinMixtures([folder / "followed"], [folder / "made" / "store"], stores).all()["followed"]
    assert mixture.store is not None
    return mixture, mixture.store


@pytest.fixture(scope="module")
def told(folder: Path):
    """The address of a service that shows it, and the mixtures of the repository."""
    copy = start_copy(
        data_dir=folder / "data", mixtures_dirs=[folder / "followed", MIXTURES], store_dirs=[folder / "made" / "store"]
    )
    yield copy.url
    copy.kill()


def test_a_view_has_the_traces_and_the_sums_of_the_library(followed: tuple[LoadedMixture, Store]):
    mixture, store = followed
    view = trace_view(mixture, Asked(document="code/0", first_step=10, step=40), store=store)
    expected = trace_documents(mixture.lock, store, ["code/0"], first_step=10)
    assert [(one.domain, one.times) for one in view.traces] == [(one.domain, one.times) for one in expected]
    for one, trace in zip(view.traces, expected, strict=True):
        assert [read.position for read in one.reads] == [read.position for read in trace.reads()]
    assert view.asked.by == "license"
    sums = read_so_far(mixture.lock, store, 40, by="license")
    assert [(one.value, one.tokens) for one in view.sums or ()] == [(one.value, one.tokens) for one in sums.values]
    assert view.total is not None
    assert view.total.tokens_with_repeats == sums.total.tokens_with_repeats
    assert view.table().num_rows == len(sums.values)
    assert trace_view(mixture, Asked(document="code/0"), store=store).table().num_rows > 2


def said(mixture: LoadedMixture, asked: Asked, store: Store | None = None) -> str | None:
    """What the page says where there is no answer."""
    with pytest.raises((Problem, MixtureError)) as caught:
        trace_view(mixture, asked, store=store)
    refused = caught.value if isinstance(caught.value, Problem) else problem_of(caught.value)
    view = trace_view(mixture, asked, store=store, refused=refused)
    assert (view.traces, view.sums) == ((), None)
    return view.said


def test_a_token_is_traced_without_a_store_and_a_document_is_not(followed: tuple[LoadedMixture, Store]):
    mixture, _ = followed
    view = trace_view(mixture, Asked(domain="web", token=777))
    assert [one.position for one in view.traces[0].reads] == [
        read.position for read in trace_token(mixture.lock, "web", 777).reads()
    ]
    assert (view.store, view.columns) == (StoreState.NONE, ())
    assert said(mixture, Asked(document="web/7")) == "this service has no store of this mixture's text"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked(document="wob/7"), "the store has no document 'wob/7'"),
        (Asked(domain="wob", token=1), "unknown domain 'wob'"),
        (Asked(domain="web", token=10**9), "token 1,000,000,000 is not in domain 'web'"),
        (Asked(token=1), "a domain and a token in it go together"),
        (Asked(domain="web"), "a domain and a token in it go together"),
        (Asked(document="web/7", token=1), "a document and a token of a domain are both given"),
        (Asked(document="web/7", first_step=61), "step 61 is not in a run of 60 steps"),
        (Asked(step=61), "step 61 is not in a run of 60 steps"),
        (Asked(step=5, by="nothing"), "neither documents nor the catalog of the store have a column 'nothing'"),
    ],
)
def test_what_can_not_be_answered_is_said(followed: tuple[LoadedMixture, Store], asked: Asked, words: str):
    mixture, store = followed
    assert words in (said(mixture, asked, store) or "")


@pytest.mark.parametrize(
    ("query", "status", "code", "is_said_beside_the_form"),
    [
        ("document=wob/7", 404, "unknown-document", True),
        ("domain=web", 422, "invalid-request", True),
        ("step=61", 422, "step-out-of-range", True),
        ("step=5&by=licens", 422, "unknown-column", False),
    ],
)
def test_data_of_what_can_not_be_answered_are_a_problem(
    make_app, folder: Path, query: str, status: int, code: str, is_said_beside_the_form: bool
):
    app = make_app(mixtures_dirs=[folder / "followed"], store_dirs=[folder / "made" / "store"])
    for form in ("json", "csv"):
        answer = ask(app, "GET", f"/mixtures/followed/trace.{form}?{query}")
        assert (answer.status_code, answer.headers["x-error-code"]) == (status, code)
    page = ask(app, "GET", f"/mixtures/followed/trace?{query}", headers={"Accept": "text/html"})
    assert page.status_code == (200 if is_said_beside_the_form else status)
    assert ('role="alert"' in page.text) is is_said_beside_the_form


def test_a_document_is_followed_to_its_steps_and_what_is_still_to_come(page, told, look, followed):
    mixture, store = followed
    page.goto(f"{told}/mixtures/followed")
    page.get_by_role("link", name="document").click()
    page.get_by_label("Document, by its id").fill("web/7")
    page.get_by_role("button", name="Trace the document").click()
    (trace,) = trace_documents(mixture.lock, store, ["web/7"])
    reads = list(trace.reads())
    expect(page.get_by_text(f"Read {len(reads)} times in all, first at step {reads[0].step}.")).to_be_visible()
    expect(page.get_by_role("region", name="Document web/7").get_by_role("row")).to_have_count(len(reads) + 1)
    look("trace-document")
    form = page.locator("form").filter(has=page.get_by_label("Document, by its id"))
    form.get_by_label("From step").fill(str(reads[0].step + 1))
    form.get_by_role("button").click()
    later = [read for read in reads if read.step > reads[0].step]
    expect(page.get_by_text(f"from step {reads[0].step + 1} on, next at step {later[0].step}.")).to_be_visible()
    page.get_by_role("region").get_by_role("link").first.click()
    row = page.get_by_role("region", name="Sequences").locator("tbody tr").first
    assert row.locator("th, td").all_text_contents()[:2] == [str(later[0].slot), f"{later[0].position:,}"]


def test_what_was_read_until_a_step_is_a_click_away_and_readable_everywhere(page, told, look):
    page.goto(f"{told}/mixtures/followed/steps/39")
    page.get_by_role("link", name="until here, by license or source").click()
    expect(page.get_by_role("heading", name="Read before step 40")).to_be_visible()
    region = page.get_by_role("region", name="Read before step 40")
    expect(region.get_by_role("row")).to_have_count(6)
    expect(region).to_contain_text("CC-BY-4.0")
    page.emulate_media(color_scheme="dark")
    look("trace-sums-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look("trace-sums-narrow")


def test_a_token_of_a_large_run_is_followed_without_a_store_and_faults_are_said(page, told, look):
    page.goto(f"{told}/mixtures/marin-535b-a23b/trace")
    expect(page.get_by_text("only tokens can be traced")).to_be_visible()
    page.get_by_label("Domain").fill("c26q4")
    page.get_by_label("Token").fill("5000000")
    page.get_by_role("button", name="Trace the token").click()
    expect(page.get_by_role("heading", name="Token 5,000,000 of c26q4")).to_be_visible()
    look("trace-token")
    page.goto(f"{told}/mixtures/followed/trace?document=wob/7")
    expect(page.get_by_role("alert")).to_contain_text("the store has no document 'wob/7'")
    look("trace-fault")


def test_the_data_of_a_trace_is_at_its_address_with_an_ending(page, told):
    rows = page.request.get(f"{told}/mixtures/followed/trace.csv?document=web/7").text().splitlines()
    assert rows[0].startswith('"document","domain","position","step","slot"')
    assert all(row.startswith('"web/7","web",') for row in rows[1:])
    assert page.request.get(f"{told}/mixtures/followed/trace.json?step=40").json()["asked"]["by"] == "license"


def test_a_field_that_the_page_does_not_have_is_refused(page, told):
    answer = page.request.get(f"{told}/mixtures/followed/trace?document=web/7&at_step=9")
    assert (answer.status, answer.headers["x-error-code"]) == (422, "unknown-parameter")
    assert "there is no parameter" in answer.text()


def test_domains_are_offered_by_name(page, told):
    page.goto(f"{told}/mixtures/marin-535b-a23b/trace")
    offered = page.get_by_label("Domain").evaluate("field => [...field.list.options].map(one => one.value)")
    assert "c26q4" in offered
