"""What pages lead to, behind any prefix: every link answers, every fragment is there, every form can be sent."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit

import httpx2
import pyarrow as pa
import pyarrow.csv
import pytest
from api_helpers import ask
from fastapi import FastAPI
from mixture_folder import write_mixture
from traced_store import traced_store

from mixture.api.app import create_app
from mixture.api.database import Scope
from mixture.api.settings import ExampleTexts, Settings

pytestmark = pytest.mark.xdist_group("links")

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
CELLS = "domain,tokens,topic,level\n" + "".join(f"t{t}l{q},90000,t{t},{q}\n" for t in range(3) for q in range(3))
HEAD = "mixture: {name}\ncatalog: {catalog}\nsequence_length: 64\nbatch: 12 sequences\nbudget: {steps} steps\n"
PLAIN = HEAD.format(name="plain", catalog="cells.csv", steps=30) + (
    "phases:\n  - {phase: first, share: 80%, weights: proportional}\n  - {phase: last, weights: uniform}\n"
)
TOLD = HEAD.format(name="told", catalog="{store}", steps=20) + (
    "tokenizer: bytes\nphases:\n  - {{phase: only, weights: {{code: 40%, held: 0, web: 60%}}}}\n"
)
AMENDED = HEAD.format(name="amended", catalog="cells.csv", steps=40) + "phases: [{phase: only, weights: uniform}]\n"


@dataclass
class Service:
    """A service, and the address of its run; prefix: the path that it is put up below."""

    app: FastAPI
    run: str
    prefix: str = ""

    def get(self, address: str) -> httpx2.Response:
        return ask(self.app, "GET", address, headers=BROWSER, root_path=self.prefix)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two mixtures of folders: one with a store, one without."""
    made = tmp_path_factory.mktemp("links")
    store = traced_store(made / "made", {"code": 40, "held": 5, "web": 60})
    write_mixture(made / "mixtures" / "told", TOLD.format(store=store.path))
    write_mixture(made / "mixtures" / "plain", PLAIN, cells=CELLS)
    return made


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    """Both, and one that was published and amended, with a run that goes on under the amended lock."""
    app = create_app(
        Settings(
            data_dir=folder / "data",
            mixtures_dirs=(folder / "mixtures",),
            store_dirs=(folder / "made" / "store",),
            examples=ExampleTexts.SNIPPET,
            rate_per_second=0,
        )
    )
    secret = app.state.services.repository.add_token("ann", list(Scope))[1]

    def send(method: str, address: str, body: dict[str, object]) -> dict[str, str]:
        answer = ask(app, method, address, json=body, headers={"Authorization": f"Bearer {secret}"})
        sent: dict[str, str] = answer.raise_for_status().json()
        return sent

    first = send("PUT", "/v1/mixtures/amended", {"spec": AMENDED, "tables": {"cells.csv": CELLS}})
    run = send("POST", "/v1/runs", {"mixture": "amended", "name": "ablation"})["id"]
    send("POST", f"/v1/runs/{run}/progress", {"step": 5, "loss": {"t0l0": 2.5}})
    spike = {"base": first["ref"], "step": 10, "skip_steps": 2, "reason": "a loss spike"}
    second = send("POST", "/v1/mixtures/amended/amendments", spike)
    send("POST", f"/v1/runs/{run}/progress", {"step": 12, "lock": second["digest"]})
    yield Service(app, run)
    app.state.services.close()


@dataclass
class Form:
    """A form; fields: what it sends where nobody types anything; asked: those that have to be typed."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    buttons: list[str] = field(default_factory=list)


class Html(HTMLParser):
    """A page: its title, its links, its forms and what fragments can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.title, self.inside = "", ""
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.ids = Counter[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.inside = tag
        if "id" in given:
            self.ids[given["id"]] += 1
        self.links += [given[name] for name in ("href", "src") if name in given]
        if given.get("data-step", "").startswith("/"):  # a script puts a step into it
            self.links.append(given["data-step"].replace("987654321", "7"))
        if "data-events" in given:
            assert given["data-events"].endswith("/events")
        if tag == "form":
            self.forms.append(Form(given.get("action", "")))
        elif self.forms and tag == "input" and "name" in given:
            form = self.forms[-1]
            form.asked += [given["name"]] if "required" in given and not given.get("value") else []
            form.fields.append((given["name"], given.get("value", "")))
        elif self.forms and tag == "select":
            self.forms[-1].fields.append((given["name"], ""))
        elif self.forms and tag == "option" and "selected" in given:
            name, _ = self.forms[-1].fields.pop()
            self.forms[-1].fields.append((name, given.get("value", "\0")))
        elif self.forms and tag == "button" and "formaction" in given:
            self.forms[-1].buttons.append(given["formaction"])

    def handle_data(self, data: str) -> None:
        if self.inside == "title" and "main" not in self.ids:  # drawings have titles too
            self.title += data
        elif self.inside == "option" and self.forms and self.forms[-1].fields:
            name, value = self.forms[-1].fields[-1]
            if value == "\0":
                self.forms[-1].fields[-1] = (name, data)

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def kind_of(address: str) -> str:
    """What an address is an example of."""
    parts = urlsplit(address)
    path = re.sub(r"[0-9a-f]{16,64}|[0-9]+", "N", unquote(parts.path))
    return f"{path}?{'&'.join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))}"


def crawled(service: Service, *, of_a_kind: int) -> tuple[dict[str, Html], list[str]]:
    """The pages that the first one leads to, so many of each kind, and what is wrong with what they lead to."""
    start, wrong = f"{service.prefix}/", []
    answers: dict[str, httpx2.Response] = {}
    pages: dict[str, Html] = {}
    kinds, waiting = Counter[str](), [start]

    def answer_of(address: str, where: str) -> httpx2.Response:
        if address not in answers:
            answers[address] = service.get(address)
            if answers[address].status_code != 200:
                wrong.append(f"{where}: {address}: {answers[address].status_code} {answers[address].text[-300:]}")
        return answers[address]

    while waiting:
        here = waiting.pop(0)
        page = pages[here] = Html(answer_of(here, here).text)
        wrong += [f"{here}: the id {name} stands {n} times" for name, n in page.ids.items() if n > 1]
        for link in dict.fromkeys(page.links):
            parts = urlsplit(urljoin(f"http://service{here}", link))
            if parts.scheme == "data" or (parts.scheme, parts.netloc) != ("http", "service"):
                continue
            address = parts.path + (f"?{parts.query}" if parts.query else "")
            if not address.startswith(start):
                wrong.append(f"{here}: {link} leaves {start}")
            kinds[kind_of(address)] += address not in answers
            if address not in answers and kinds[kind_of(address)] > of_a_kind:
                continue
            is_new, answer = address not in answers, answer_of(address, here)
            is_page = answer.headers["content-type"].startswith("text/html")
            if parts.fragment and is_page and parts.fragment not in Html(answer.text).ids:
                wrong.append(f"{here}: {link} has no such part")
            if is_new and is_page and not parts.path.endswith("/docs"):
                waiting.append(address)
    return pages, wrong


@pytest.fixture(scope="module")
def site(service: Service) -> tuple[dict[str, Html], list[str]]:
    return crawled(service, of_a_kind=2)


def test_every_link_of_every_page_answers_and_every_part_of_one_is_there(site):
    pages, wrong = site
    assert wrong == []
    assert {"/", "/mixtures/told", "/catalogs/told", "/mixtures/told/steps/0", "/mixtures/told/trace"} <= set(pages)
    assert any(path.startswith("/runs/") for path in pages)
    assert any("with=" in path for path in pages)


def test_behind_a_prefix_pages_and_their_data_lead_to_nothing_outside_of_it(service: Service):
    pages, wrong = crawled(Service(service.app, service.run, "/lab/data"), of_a_kind=1)
    assert wrong == []
    assert {"/lab/data/", "/lab/data/mixtures/told", "/lab/data/mixtures/told/steps/0"} <= set(pages)


def test_every_page_has_a_title_of_its_own(site):
    pages, _ = site
    titles: dict[str, set[str]] = {}
    for address, page in pages.items():
        assert page.title.endswith(" · mixture"), address
        assert len(page.title) > len(" · mixture"), address
        titles.setdefault(page.title, set()).add(re.sub(r"@sha256:[0-9a-f]+", "", urlsplit(address).path))
    assert {title: paths for title, paths in titles.items() if len(paths) > 1} == {}


def test_every_form_can_be_sent_as_it_stands(service: Service, site):
    pages, _ = site
    typed = {"step": "3", "position": "17", "world_size": "4", "token": "5", "until": "5", "domain": "web"}
    typed |= {"document": "web/7", "with": "plain"}
    sent = set()
    for address, page in pages.items():
        for form in page.forms:
            fields = [(name, typed[name] if name in form.asked else value) for name, value in form.fields]
            for action in (form.action, *form.buttons):
                target = urlsplit(urljoin(f"http://service{address}", action))
                sent.add(f"{target.path}?{urlencode(fields)}")
    assert len(sent) > 10
    for address in sorted(sent):
        answer = service.get(address)
        assert answer.status_code in (200, 303), f"{address}: {answer.text[-300:]}"


PAGES = {
    "/": "/index",
    "/index": "/index",
    "/mixtures/{ref}": "/mixtures/told",
    "/mixtures/{ref}?with=": "/mixtures/told?with=plain",
    "/mixtures/{ref}/what-if": "/mixtures/told/what-if?budget=10+steps",
    "/mixtures/{ref}/steps/{step}": "/mixtures/told/steps/5",
    "/mixtures/{ref}/trace": "/mixtures/told/trace?document=web/7",
    "/catalogs/{ref}": "/catalogs/plain",
    "/catalogs/{ref}?cell=": "/catalogs/told?cell=web",
    "/catalogs/{ref}?part=": "/catalogs/told?cell=web&part=panel",
    "/runs/{run_id}": "/runs/RUN",
}
"""An example of every page, and of those that are others by a parameter, where their data are."""
ELSEWHERE = {"/mixtures", "/catalogs", "/runs", "/mixtures/{ref}/steps", "/mixtures/{ref}/steps/"}
NO_PAGES = {"/mixtures/{ref}/what-if.yaml", "/assets/{name}"}


def data_of(address: str, form: str) -> str:
    path, mark, query = address.partition("?")
    return f"{path}.{form}{mark}{query}"


def test_every_page_has_its_data_beside_it_and_names_them_at_its_end(service: Service):
    assert {path.partition("?")[0] for path in PAGES} | ELSEWHERE | NO_PAGES == set(service.app.state.page_paths())
    for page, example in PAGES.items():
        address = example.replace("RUN", service.run)
        shown = "/" if page == "/" else address
        html = service.get(shown)
        assert html.headers["content-type"].startswith("text/html"), shown
        said = json.loads(service.get(data_of(address, "json")).raise_for_status().content)
        assert isinstance(said, dict), address
        csv = service.get(data_of(address, "csv")).raise_for_status()
        assert csv.headers["content-type"].startswith("text/csv"), address
        rows = pyarrow.csv.read_csv(pa.BufferReader(csv.content))
        assert rows.num_columns > 1, address
        assert rows.num_rows > 0, address
        if "part=" not in page:  # it is a part of a page that is there already
            assert {data_of(address, form) for form in ("json", "csv", "parquet")} <= set(
                map(unquote, Html(html.text).links)
            )


def test_addresses_that_lead_to_a_page_lead_to_its_data_too(service: Service):
    for address in ("/mixtures", "/catalogs", "/runs"):
        assert service.get(address).headers["location"] == "/"
        assert service.get(f"{address}.csv").headers["location"] == "/index.csv"
        assert ask(service.app, "GET", f"/lab{address}.json", root_path="/lab").headers["location"] == "/lab/index.json"
    moved = service.get("/mixtures/told/steps.csv?position=17&world_size=4")
    assert moved.headers["location"] == "/mixtures/told/steps/1.csv?slot=5&world_size=4"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (BROWSER["Accept"], "text/html"),
        ("*/*", "text/html"),
        ("text/*", "text/html"),
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("application/json, text/html;q=0.9", "application/json"),
        ("text/html;q=0.1, text/csv", "text/csv"),
        ("*/*, text/html;q=0", "application/json"),
        ("application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("image/png", None),
        ("text/html;q=0", None),
    ],
)
def test_a_page_is_given_in_the_kind_that_a_request_likes_best(service: Service, accept: str, kind: str | None):
    for address in ("/", "/mixtures/told", "/mixtures/told/steps/3", f"/runs/{service.run}"):
        answer = ask(service.app, "GET", address, headers={"Accept": accept})
        if kind is None:
            assert (answer.status_code, answer.json()["code"]) == (406, "not-acceptable")
            assert answer.json()["facts"]["offered"][:2] == ["text/html", "application/json"]
        else:
            assert answer.raise_for_status().headers["content-type"].partition(";")[0] == kind
            assert "accept" in answer.headers["vary"].lower()


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        (BROWSER["Accept"], True),
        ("text/html", True),
        ("*/*", False),
        ("application/json", False),
        ("application/problem+json, text/html;q=0.5", False),
        ("text/html;q=0.5, application/json;q=0.4", True),
        ("image/png", False),
    ],
)
def test_a_problem_is_a_page_to_those_who_like_pages_best(service: Service, accept: str, is_page: bool):
    for prefix in ("", "/lab"):
        for address, in_words in (("/mixtures/nobody", True), ("/nothing", True), ("/v1/mixtures/nobody", False)):
            answer = ask(service.app, "GET", f"{prefix}{address}", headers={"Accept": accept}, root_path=prefix)
            assert answer.status_code in (404, 406 if address.startswith("/v1/") else 404)
            is_html = answer.headers["content-type"].startswith("text/html")
            assert is_html is (is_page and in_words), (accept, address)


def test_where_there_is_no_store_nothing_leads_to_documents_or_examples(service: Service, site):
    pages, _ = site
    for name, has_text in (("told", True), ("plain", False), ("amended", False)):
        own = [page for address, page in pages.items() if re.match(rf"/(mixtures|catalogs)/{name}\b", address)]
        links = {link for page in own for link in page.links if re.match(rf"/(mixtures|catalogs)/{name}\b", link)}
        assert any("/trace" in link for link in links)
        assert any("/trace?step=" in link for link in links) is has_text
        assert any("/trace?document=" in link for link in links) is has_text
        assert any("examples=" in link for link in links) is has_text
        words = service.get(f"/mixtures/{name}").text
        assert f'/trace">{"document" if has_text else "token"}</a> is read' in words, name
