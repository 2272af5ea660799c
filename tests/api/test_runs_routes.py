"""Runs: registered, reported, and what they have read against their plan."""

from __future__ import annotations

import base64
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from api_helpers import MIXTURES, ask

from mixture.api.database import Scope
from mixture.lock import read_lock

LOCK = read_lock(MIXTURES / "demo" / "mixture.lock.json")
PHASE_END = LOCK.phases[1].first_step


@pytest.fixture
def app(make_app, request):
    """An application that shows the demo, or the mixtures that a test names."""
    return make_app(mixtures_dirs=tuple(MIXTURES / name for name in getattr(request, "param", ("demo",))))


with_olmo = pytest.mark.parametrize("app", [("demo", "olmo-3-7b")], indirect=True)


@pytest.fixture
def post(app):
    """post("/v1/runs", body, status=201, code=None): sends JSON as a trainer, compares the status."""
    secret = app.state.services.repository.add_token("trainer", [Scope.RUN])[1]

    def of(address, body, *, status=201, code=None):
        content = body if isinstance(body, str) else json.dumps(body)
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        answer = ask(app, "POST", address, content=content.encode(), headers=headers)
        assert (answer.status_code, answer.headers.get("X-Error-Code")) == (status, code), answer.text
        return answer.json()

    return of


@pytest.fixture
def run(post):
    """The id of a run of the mixture `demo`."""
    return post("/v1/runs", {"mixture": "demo", "name": "ablation 7"})["id"]


def get(app, address, **headers):
    return ask(app, "GET", address, headers=headers).raise_for_status()


def test_a_registered_run_is_of_the_mixture_that_the_name_points_to_now(app, post):
    made = post("/v1/runs", {"mixture": "demo", "name": "ablation 7"})
    assert (made["digest"], made["name"], made["by"]) == (LOCK.digest, "ablation 7", "trainer")
    assert made["mixture"] == f"demo@sha256:{LOCK.digest}"
    assert made["registered"].endswith("Z")
    assert (made["step"], made["last"]) == (0, None)
    assert get(app, made["url"]).json() == made
    assert get(app, made["links"]["mixture"]).json()["digest"] == LOCK.digest


@pytest.mark.parametrize("ref", ["demo", f"demo@sha256:{LOCK.digest}", f"sha256:{LOCK.digest}"])
def test_a_mixture_is_named_by_name_or_by_digest_or_by_both(post, ref):
    assert post("/v1/runs", {"mixture": ref})["mixture"] == f"demo@sha256:{LOCK.digest}"


@pytest.mark.parametrize(
    ("ref", "status", "code"),
    [
        ("dem", 404, "unknown-mixture"),
        (f"demo@sha256:{'0' * 64}", 404, "unknown-mixture"),
        (f"sha256:{'0' * 64}", 404, "unknown-mixture"),
        ("../demo", 404, "unknown-mixture"),
        ("", 404, "unknown-mixture"),
        ("x" * 301, 422, "invalid-request"),
        (None, 422, "invalid-request"),
    ],
)
def test_a_mixture_that_is_not_there_is_refused(app, post, ref, status, code):
    post("/v1/runs", {"mixture": ref}, status=status, code=code)
    assert get(app, "/v1/runs").json()["items"] == []


def test_runs_are_listed_newest_first_in_pages_with_their_last_report(app, post):
    ids = [post("/v1/runs", {"mixture": "demo", "name": f"run {i}"})["id"] for i in range(5)]
    post(f"/v1/runs/{ids[1]}/progress", {"step": 3, "loss": {"books": 2.5}})
    found, url = [], "/v1/runs?limit=2"
    while url:
        page = get(app, url)
        found += page.json()["items"]
        url = page.json()["next_url"]
        assert page.headers.get("Link") == (f'<{url}>; rel="next"' if url else None)
    assert [one["id"] for one in found] == ids[::-1]
    assert [one["step"] for one in found] == [0, 0, 0, 3, 0]
    assert found[3]["last"]["loss"] == {"books": 2.5}


def test_tokens_read_phase_and_next_boundary_follow_from_the_last_report(app, post, run):
    schedule = LOCK.schedule()
    for step, phase, boundary in [
        (0, "pretraining", PHASE_END),
        (PHASE_END - 1, "pretraining", PHASE_END),
        (PHASE_END, "midtraining", None),
        (LOCK.data.steps, None, None),
        (7, "pretraining", PHASE_END),  # back to a checkpoint
    ]:
        post(f"/v1/runs/{run}/progress", {"step": step})
        shown = get(app, f"/v1/runs/{run}").json()
        standing = shown["standing"]
        assert shown["step"] == step
        assert standing["tokens"] == int(schedule.tokens(step).sum())
        assert standing["planned_tokens"] == int(schedule.tokens(schedule.steps).sum())
        assert (standing["phase"], standing["steps"]) == (phase, schedule.steps)
        if boundary is None:
            assert standing["next_boundary"] is None
        else:
            assert standing["next_boundary"] == {
                "step": boundary,
                "steps_left": boundary - step,
                "phase": "midtraining",
                "sequence_length": 4096,
                "batch_sequences": 256,
            }


def test_the_composition_is_what_was_read_of_each_domain_against_the_plan(app, post, run):
    schedule, step = LOCK.schedule(), PHASE_END + 100
    post(f"/v1/runs/{run}/progress", {"step": step})
    rows = get(app, f"/v1/runs/{run}/composition").json()["items"]
    read, planned = schedule.tokens(step).tolist(), schedule.tokens(schedule.steps).tolist()
    assert [row["domain"] for row in rows] == list(schedule.names)
    assert [row["tokens"] for row in rows] == read
    assert [row["planned_tokens"] for row in rows] == planned
    sizes = [domain.tokens for domain in LOCK.data.domains]
    assert [row["epochs"] for row in rows] == [n / size for n, size in zip(read, sizes, strict=True)]
    assert [row["planned_epochs"] for row in rows] == [n / size for n, size in zip(planned, sizes, strict=True)]
    assert sum(row["weight"] for row in rows) == pytest.approx(1, abs=1e-12)
    assert [row["planned_tokens_so_far"] for row in rows] == read
    assert [row["planned_weight_so_far"] for row in rows] == [n / sum(read) for n in read]
    at_end = get(app, f"/v1/runs/{run}/composition?step={schedule.steps}").json()["items"]
    assert [row["tokens"] for row in at_end] == planned
    at_start = get(app, f"/v1/runs/{run}/composition?step=0").json()["items"]
    assert {(row["tokens"], row["weight"], row["epochs"]) for row in at_start} == {(0, None, 0.0)}


def test_the_composition_is_summed_by_columns_of_the_catalog_and_over_what_a_condition_selects(app, post, run):
    post(f"/v1/runs/{run}/progress", {"step": PHASE_END + 100})
    address = f"/v1/runs/{run}/composition"
    every = get(app, address).json()["items"]
    catalog = {row["domain"]: row for row in get(app, "/v1/catalogs/demo/domains").json()["items"]}
    by_kind = get(app, f"{address}?by=kind,quality").json()["items"]
    for row in by_kind:
        held = [one for one in every if all(catalog[one["domain"]][name] == row[name] for name in ("kind", "quality"))]
        size = sum(catalog[one["domain"]]["tokens"] for one in held)
        tokens, planned = (sum(one[name] for one in held) for name in ("tokens", "planned_tokens"))
        assert (row["domains"], row["tokens"], row["planned_tokens"]) == (len(held), tokens, planned)
        assert (row["epochs"], row["planned_epochs"]) == (tokens / size, planned / size)
    assert sum(row["domains"] for row in by_kind) == len(every)
    assert [len(get(app, f"{address}?by={by}").json()["items"]) for by in ("", "kind")] == [1, 4]
    some = ask(app, "GET", address, params={"where": "kind = 'books'"}).json()["items"]
    assert some == [row for row in every if catalog[row["domain"]]["kind"] == "books"]
    for by, code in [("kin", "unknown-column"), ("tokens", "bad-columns"), ("kind,kind", "bad-columns")]:
        answer = ask(app, "GET", address, params={"by": by})
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (422, code)


def test_the_composition_comes_in_every_format_and_is_asked_for_again_only_after_a_report(app, post, run):
    post(f"/v1/runs/{run}/progress", {"step": 100})
    rows = get(app, f"/v1/runs/{run}/composition").json()["items"]
    assert pa.csv.read_csv(pa.BufferReader(get(app, f"/v1/runs/{run}/composition.csv").content)).to_pylist() == rows
    arrow = get(app, f"/v1/runs/{run}/composition", Accept="application/vnd.apache.arrow.stream").content
    assert pa.ipc.open_stream(arrow).read_all().to_pylist() == rows
    tag = get(app, f"/v1/runs/{run}/composition").headers["ETag"]
    again = ask(app, "GET", f"/v1/runs/{run}/composition", headers={"If-None-Match": tag})
    assert again.status_code == 304
    post(f"/v1/runs/{run}/progress", {"step": 101})
    again = ask(app, "GET", f"/v1/runs/{run}/composition", headers={"If-None-Match": tag})
    assert again.status_code == 200


def test_the_log_has_every_report_in_order_in_pages(app, post, run):
    sent = [{"step": 10 * i, "loss": {"books": 1 / (i + 1)} if i % 2 else None, "key": f"k{i}"} for i in range(7)]
    for body in sent:
        post(f"/v1/runs/{run}/progress", body)
    found, url = [], f"/v1/runs/{run}/progress?limit=3"
    while url:
        page = get(app, url).json()
        found += page["items"]
        url = page["next_url"]
    assert [entry["seq"] for entry in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [{name: entry[name] for name in ("step", "loss", "key")} for entry in found] == sent
    assert {entry["by"] for entry in found} == {"trainer"}


def test_the_log_comes_as_tables_of_a_row_a_loss(app, post, run):
    address = f"/v1/runs/{run}/progress"
    empty = pa.ipc.open_stream(pa.BufferReader(get(app, f"{address}.arrow").content)).read_all()
    assert empty.num_rows == 0
    bodies = [{"step": 1}, {"step": 2, "loss": {"books": 2.5, "web-high": None}, "key": "k"}, {"step": 3, "loss": {}}]
    for body in bodies:
        post(address, body)
    table = pq.read_table(pa.BufferReader(get(app, f"{address}.parquet").content))
    assert table.schema == empty.schema
    rows = [tuple(row.values())[:5] for row in table.to_pylist()]
    assert rows == [
        (1, 1, None, None, None),
        (2, 2, "books", 2.5, "k"),
        (2, 2, "web-high", None, "k"),
        (3, 3, None, None, None),
    ]
    items = get(app, address).json()["items"]
    assert [one.isoformat() for one in table["at"].to_pylist()[:2]] == [
        item["at"].replace("Z", "+00:00") for item in items[:2]
    ]
    first = get(app, f"{address}.csv?limit=2")
    assert len(first.text.splitlines()) == 4
    last = get(app, first.links["next"]["url"])
    assert last.text.splitlines()[1].startswith("3,3,")
    tag = get(app, address).headers["ETag"]
    assert ask(app, "GET", address, headers={"If-None-Match": tag}).status_code == 304
    post(address, {"step": 4})
    assert ask(app, "GET", address, headers={"If-None-Match": tag}).status_code == 200


def test_a_report_with_a_key_that_is_sent_again_is_added_once(app, post, run):
    body = {"step": 10, "loss": {"books": 2.5}, "key": "attempt 1"}
    first = post(f"/v1/runs/{run}/progress", body)
    assert post(f"/v1/runs/{run}/progress", body, status=200) == first
    other = body | {"loss": {"books": 2.4}}
    post(f"/v1/runs/{run}/progress", other, status=409, code="progress-conflict")
    assert post(f"/v1/runs/{run}/progress", body | {"step": 20})["seq"] == 2
    assert len(get(app, f"/v1/runs/{run}/progress").json()["items"]) == 2


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", '"nan"', "true", '"2.5"', "1" * 400, "[1]"]
)
def test_a_loss_that_is_no_finite_number_is_refused_by_name(app, post, run, number):
    body = f'{{"step": 1, "loss": {{"books": 2.5, "web-high": {number}}}}}'
    problem = post(f"/v1/runs/{run}/progress", body, status=422, code="invalid-request")
    assert [error["pointer"] for error in problem["errors"]] == ["/loss/web-high"]
    assert get(app, f"/v1/runs/{run}/progress").json()["items"] == []


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"step": -1}, "invalid-request", "/step"),
        ({"step": 2**63}, "invalid-request", "/step"),
        ({"step": 1.5}, "invalid-request", "/step"),
        ({"step": "1"}, "invalid-request", "/step"),
        ({"step": True}, "invalid-request", "/step"),
        ({}, "invalid-request", "/step"),
        ({"step": 1, "key": ""}, "invalid-request", "/key"),
        ({"step": 1, "key": "a\0"}, "invalid-request", "/key"),
        ({"step": 1, "key": "a\nb"}, "invalid-request", "/key"),
        ({"step": 1, "key": "half \ud800"}, "invalid-request", "/key"),
        ({"step": 1, "more": 1}, "invalid-request", "/more"),
        ({"step": 1, "loss": {"book": 1.0}}, "unknown-domain", "/loss/book"),
        ({"step": LOCK.data.steps + 1}, "step-out-of-range", None),
    ],
)
def test_a_report_that_says_no_step_of_the_run_is_refused(app, post, run, body, code, pointer):
    problem = post(f"/v1/runs/{run}/progress", body, status=422, code=code)
    assert [error["pointer"] for error in problem.get("errors", [])] == ([pointer] if pointer else [])
    if code == "unknown-domain":
        assert problem["hint"] == "did you mean 'books'?"
    assert get(app, f"/v1/runs/{run}/progress").json()["items"] == []


def test_a_loss_that_is_no_number_is_reported_as_null(app, post, run):
    body = {"step": 7, "loss": {"books": None, "web-high": 2.5}, "key": "a"}
    entry = post(f"/v1/runs/{run}/progress", body)
    assert entry["loss"] == {"books": None, "web-high": 2.5}
    assert post(f"/v1/runs/{run}/progress", body, status=200) == entry
    other = body | {"loss": {"books": 1.0, "web-high": 2.5}}
    post(f"/v1/runs/{run}/progress", other, status=409, code="progress-conflict")
    assert get(app, f"/v1/runs/{run}").json()["last"] == entry


def test_a_loss_that_diverged_is_shown_as_what_it_is_in_every_form(app, post, run):
    losses = {"books": "NaN", "web-high": "Infinity", "code-python": "-Infinity", "papers": 2.5, "math": None}
    losses = dict(zip(LOCK.schedule().names, losses.values(), strict=False))
    body = {"step": 7, "loss": losses, "key": "a"}
    entry = post(f"/v1/runs/{run}/progress", body)
    assert entry["loss"] == losses
    assert post(f"/v1/runs/{run}/progress", body, status=200) == entry, "it is the same report"
    post(f"/v1/runs/{run}/progress", body | {"loss": losses | {entry_of(losses, "NaN"): None}}, status=409,
         code="progress-conflict")  # fmt: skip
    log = f"/v1/runs/{run}/progress"
    assert get(app, log).json()["items"][0]["loss"] == losses
    table = pq.read_table(pa.BufferReader(get(app, f"{log}.parquet").content))
    shown = dict(zip(table["domain"].to_pylist(), table["loss"].to_pylist(), strict=True))
    assert [str(shown[name]) for name in losses] == ["nan", "inf", "-inf", "2.5", "None"]
    rows = get(app, f"{log}.csv").text.splitlines()[1:]
    assert [row.split(",")[3] for row in rows] == ["nan", "inf", "-inf", "2.5", ""]
    page = get(app, f"/runs/{run}", Accept="text/html").text
    for text in ("NaN", "Infinity", "−Infinity"):
        assert f">{text}</span>" in page
    view = get(app, f"/runs/{run}.json").json()
    assert view["log"][0]["mean_loss"] == "NaN"
    assert sorted(str(line["losses"][0]) for line in view["losses"]) == ["-Infinity", "2.5", "Infinity", "NaN"]
    for wrong in ("nan", "inf", "1.5", "", True, [1]):
        post(log, {"step": 8, "loss": {entry_of(losses, "NaN"): wrong}}, status=422, code="invalid-request")
    for wrong in ("NaN", "Infinity", "1e999"):
        content = f'{{"step": 8, "loss": {{"{entry_of(losses, "NaN")}": {wrong}}}}}'
        post(log, content, status=422, code="invalid-request")


def test_the_table_of_a_log_has_all_reports(app, post, run, monkeypatch):
    for step in range(1, 131):
        post(f"/v1/runs/{run}/progress", {"step": step, "key": str(step)})
    log = f"/v1/runs/{run}/progress"
    assert len(get(app, log).json()["items"]) == 100
    for most in (1000, 50):
        monkeypatch.setattr("mixture.api.routes.runs.MOST_REPORTS", most)
        answer = get(app, f"{log}.csv")
        assert [int(line.split(",")[1]) for line in answer.text.splitlines()[1:]] == list(range(1, 131))
        assert "link" not in answer.headers
    assert get(app, f"{log}.csv?limit=5").links["next"]["url"]


def entry_of(losses, value):
    return next(name for name, loss in losses.items() if loss == value)


def test_names_of_domains_that_are_not_there_are_pointed_to_and_cut(app, post, run):
    problem = post(f"/v1/runs/{run}/progress", {"step": 1, "loss": {"a/b~c": 1.0}}, status=422, code="unknown-domain")
    assert [error["pointer"] for error in problem["errors"]] == ["/loss/a~1b~0c"]
    long = {"step": 1, "loss": {f"{i}{'x' * 100_000}": 1.0 for i in range(30)}}
    problem = post(f"/v1/runs/{run}/progress", long, status=422, code="unknown-domain")
    assert len(problem["errors"]) == 20
    assert len(json.dumps(problem)) < 6000


@with_olmo
def test_a_run_that_is_registered_again_with_its_key_is_there_once(app, post):
    body = {"mixture": "demo", "name": "ablation 7", "key": "job-4711"}
    first = post("/v1/runs", body)
    post(f"{first['url']}/progress", {"step": 5})
    again = post("/v1/runs", body | {"mixture": f"demo@sha256:{LOCK.digest}"}, status=200)
    assert (again["id"], again["step"]) == (first["id"], 5)
    for other in ({"name": "ablation 8"}, {"name": None}, {"mixture": "olmo-3-7b"}):
        post("/v1/runs", body | other, status=409, code="run-conflict")
    assert post("/v1/runs", body | {"key": "job-4712"})["id"] != first["id"]
    somebody = app.state.services.repository.add_token("somebody", [Scope.RUN])[1]
    theirs = ask(app, "POST", "/v1/runs", json=body, headers={"Authorization": f"Bearer {somebody}"})
    assert theirs.status_code == 201, "a key is its holder's own"
    assert len(get(app, "/v1/runs").json()["items"]) == 3


@with_olmo
def test_runs_are_listed_by_mixture_with_the_steps_of_the_whole_run(app, post):
    made = [post("/v1/runs", {"mixture": name})["id"] for name in ("demo", "olmo-3-7b", "demo")]
    assert {one["id"]: one["steps"] for one in get(app, "/v1/runs").json()["items"]}[made[0]] == LOCK.data.steps
    for asked, ids in (
        ("demo", [made[2], made[0]]),
        (f"demo@sha256:{LOCK.digest}", [made[2], made[0]]),
        (f"sha256:{LOCK.digest}", [made[2], made[0]]),
        ("olmo-3-7b", [made[1]]),
        ("dem", []),
        ("%", []),
        (f"sha256:{'0' * 64}", []),
    ):
        found = ask(app, "GET", "/v1/runs", params={"mixture": asked}).json()["items"]
        assert [one["id"] for one in found] == ids
    page = ask(app, "GET", "/v1/runs", params={"mixture": "demo", "limit": 1}).json()
    assert [one["id"] for one in get(app, page["next_url"]).json()["items"]] == [made[0]]
    assert ask(app, "GET", "/v1/runs", params={"mixture": "a\0"}).status_code == 422


def test_a_body_that_says_a_key_twice_is_refused(app, post, run):
    for body, key in (('{"step": 1, "step": 2}', "step"), ('{"step": 1, "loss": {"books": 1, "books": 2}}', "books")):
        problem = post(f"/v1/runs/{run}/progress", body, status=422, code="invalid-request")
        assert problem["facts"] == {"key": key}
    post("/v1/runs", '{"mixture": "demo", "mixture": "demo"}', status=422, code="invalid-request")
    assert get(app, f"/v1/runs/{run}/progress").json()["items"] == []


@pytest.mark.parametrize("key", [-1, 2**63, 10**400, "a\0", "a", [1], True, None, {}])
def test_a_cursor_that_begins_nowhere_is_refused(app, run, key):
    cursor = base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")
    for address in ("/v1/runs", f"/v1/runs/{run}/progress"):
        answer = ask(app, "GET", address, params={"cursor": cursor})
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (422, "bad-cursor")


def test_names_that_nobody_could_see_are_refused(app, post):
    for name in ("a\0", "a\nb", "", "half \ud800", "x" * 201):
        post("/v1/runs", {"mixture": "demo", "name": name}, status=422, code="invalid-request")
    assert get(app, "/v1/runs").json()["items"] == []


def test_a_run_that_is_not_there_is_a_404_everywhere(app, post):
    for part in ("", "/progress", "/composition", "/events"):
        answer = ask(app, "GET", f"/v1/runs/nothing{part}")
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (404, "unknown-run")
    post("/v1/runs/nothing/progress", {"step": 1}, status=404, code="unknown-run")
    assert ask(app, "GET", "/v1/runs/nothing/composition?step=99999999").status_code == 404


def test_registering_and_reporting_take_a_token_with_the_scope(app, post, run):
    publisher = app.state.services.repository.add_token("ann", [Scope.PUBLISH, Scope.READ])[1]
    for address, body in [("/v1/runs", {"mixture": "demo"}), (f"/v1/runs/{run}/progress", {"step": 1})]:
        assert ask(app, "POST", address, json=body).status_code == 401
        refused = ask(app, "POST", address, json=body, headers={"Authorization": f"Bearer {publisher}"})
        assert (refused.status_code, refused.headers["X-Error-Code"]) == (403, "scope-missing")
    assert len(get(app, "/v1/runs").json()["items"]) == 1


def test_where_reading_takes_a_token_runs_do_too(make_app):
    app = make_app(public_reads=False)
    for address in ("/v1/runs", "/v1/runs/x", "/v1/runs/x/progress", "/v1/runs/x/composition", "/v1/runs/x/events"):
        answer = ask(app, "GET", address)
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (401, "token-missing")


def test_a_run_goes_on_when_its_mixtures_folder_is_gone(app, post, run, make_app, tmp_path):
    post(f"/v1/runs/{run}/progress", {"step": 5})
    before = get(app, f"/v1/runs/{run}").json()
    (tmp_path / "nothing").mkdir()
    without = make_app(mixtures_dirs=(tmp_path / "nothing",))
    assert ask(without, "GET", "/v1/mixtures/demo").status_code == 404
    assert get(without, f"/v1/runs/{run}").json() == before
    assert get(without, before["links"]["mixture"]).json()["digest"] == LOCK.digest
    for part in ("progress", "composition"):
        assert get(without, f"/v1/runs/{run}/{part}").content == get(app, f"/v1/runs/{run}/{part}").content


def test_a_run_whose_mixture_is_damaged_still_has_its_log(app, post, run, make_app, tmp_path):
    post(f"/v1/runs/{run}/progress", {"step": 5})
    (tmp_path / "data" / "objects").rename(tmp_path / "away")
    without = make_app(mixtures_dirs=())
    assert [entry["step"] for entry in get(without, f"/v1/runs/{run}/progress").json()["items"]] == [5]
    for address in (f"/v1/runs/{run}", f"/v1/runs/{run}/composition"):
        answer = ask(without, "GET", address)
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (503, "object-missing")


def test_a_page_of_the_log_has_less_where_losses_are_long_and_its_cursor_goes_on(app, post, run, monkeypatch):
    monkeypatch.setattr("mixture.api.database.runs.PAGE_BYTES", 300)
    for step in range(9):
        post(f"/v1/runs/{run}/progress", {"step": step, "loss": dict.fromkeys(LOCK.schedule().names[:4], 2.5)})
    for limit in (1000, 2):
        steps, sizes, address = [], [], f"/v1/runs/{run}/progress?limit={limit}"
        while address:
            answer = get(app, address)
            page = answer.json()
            assert (page["next"] is None) == ("Link" not in answer.headers)
            steps += [entry["step"] for entry in page["items"]]
            sizes.append(len(page["items"]))
            address = page["next_url"]
        assert steps == list(range(9))
        assert max(sizes) == (2 if limit == 2 else 3)
    for _ in range(3):
        other = post("/v1/runs", {"mixture": "demo"})["id"]
        post(f"/v1/runs/{other}/progress", {"step": 1, "loss": dict.fromkeys(LOCK.schedule().names, 2.5)})
    runs, address = [], "/v1/runs?limit=1000"
    while address:
        page = get(app, address).json()
        assert len(page["items"]) < 4
        runs += [one["id"] for one in page["items"]]
        address = page["next_url"]
    assert (len(runs), runs[-1]) == (len(set(runs)), run)
    assert len(runs) == 4


def test_a_token_reports_to_runs_that_one_of_its_name_registered_and_to_all_with_the_scope_that_says_so(app, post, run):
    repository = app.state.services.repository

    def report(name, *scopes):
        secret = repository.add_token(name, scopes)[1]
        return ask(app, "POST", f"/v1/runs/{run}/progress", json={"step": 1},
                   headers={"Authorization": f"Bearer {secret}"})  # fmt: skip

    for name in ("other", "Trainer", "trainer2", "trainer "):
        refused = report(name, Scope.RUN, Scope.PUBLISH, Scope.READ)
        assert (refused.status_code, refused.headers["X-Error-Code"]) == (403, "scope-missing"), name
        assert refused.json()["facts"] == {"scope": "run-all"}
        assert "'trainer' registered" in refused.json()["detail"]
    assert report("trainer", Scope.READ).json()["facts"] == {"scope": "run"}, "its name alone is not enough"
    assert get(app, f"/v1/runs/{run}").json()["last"] is None, "nothing was added"
    assert report("trainer", Scope.RUN).status_code == 201, "a token that took the place of the first"
    assert report("operator", Scope.RUN_ALL).status_code == 201
    secret = repository.add_token("operator 2", [Scope.RUN_ALL])[1]
    made = ask(app, "POST", "/v1/runs", json={"mixture": "demo"}, headers={"Authorization": f"Bearer {secret}"})
    assert made.status_code == 201, "who may report to all may register"


@pytest.mark.parametrize(
    "text", ["", " ", "\t", "\u200b", "\u00a0\u3000", "a\nb", "a\0", "a\u202eb", "\u2067a", "\u2028"]
)
def test_names_and_keys_of_runs_are_text_that_people_see(post, run, text):
    for field in ("name", "key"):
        post("/v1/runs", {"mixture": "demo", field: text}, status=422, code="invalid-request")
    post(f"/v1/runs/{run}/progress", {"step": 1, "key": text}, status=422, code="invalid-request")
    for seen in ("متن ٪", "zero\u200djoined", " a "):
        assert post("/v1/runs", {"mixture": "demo", "name": seen})["name"] == seen
