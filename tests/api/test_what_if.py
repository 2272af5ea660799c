"""What if: a mixture is planned with changes, over its own tables, for anybody, and nothing is kept."""

from __future__ import annotations

import asyncio
import json
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from api_helpers import MIXTURES, ask, client_of

from mixture.api.database import Scope
from mixture.api.middleware.limits import what_if_places
from mixture.api.middleware.problems import Problem
from mixture.lock import write_lock
from mixture.planning.plan import make_lock, make_plan, plan_json
from mixture.planning.spec import parse_spec, read_spec

DEMO = "/v1/mixtures/demo/what-if"


@pytest.fixture(scope="module")
def post(client):
    """post(body, status=200, code=None, ref="demo"): the answer."""

    def of(body, *, status=200, code=None, ref="demo"):
        answer = client.post(f"/v1/mixtures/{ref}/what-if", json=body)
        assert (answer.status_code, answer.json().get("code")) == (status, code)
        return answer.json()

    return of


def weights_of(answer, phase):
    return {one["domain"]: one["weights"][phase] for one in answer["domains"]}


def test_without_a_change_the_plan_is_that_of_the_mixture(post, client):
    answer, plan = post({}), client.get("/v1/mixtures/demo/plan").json()
    assert answer["spec"] == (MIXTURES / "demo/mixture.yaml").read_text()
    assert [one["tokens_drawn"] for one in answer["domains"]] == [one["tokens_drawn"] for one in plan["domains"]]
    assert answer["findings"] == plan["findings"]
    assert answer["said"] == []


def test_a_share_is_as_asked_and_the_others_keep_their_proportions_which_is_said(post):
    before, answer = weights_of(post({}), 0), post({"phases": {"pretraining": {"shares": {"math": "13%"}}}})
    after = weights_of(answer, 0)
    assert after["math"] == 0.13
    for name in ("web-mid", "papers", "code-other"):
        assert after[name] / before[name] == pytest.approx(0.87 / 0.97)
    others, replayed = answer["said"]
    assert others.startswith("phase 'pretraining': the other 8 weighed domains were 97% together and are 87%: ")
    assert others.endswith("each is multiplied by 0.896907")
    assert replayed == "phase 'midtraining' replays 'pretraining', and changes with it"


@pytest.mark.parametrize(
    "shares",
    [
        {"web": "49.999999999%", "code": 0.3, "reference": 0.1, "books": 0.1},  # all kinds, a little below
        {"web": 0.50000000001, "code": 0.3, "reference": 0.1, "books": 0.1},  # and a little above
        {"web": "100.00000001%"},  # above, while there are others
    ],
)
def test_shares_that_sum_to_one_within_the_tolerance_are_divided_by_their_sum_as_in_a_spec(post, shares):
    answer = post({"by": "kind", "phases": {"pretraining": {"groups": shares}}})
    assert sum(weights_of(answer, 0).values()) == pytest.approx(1, abs=1e-14)
    web = sum(weights_of(answer, 0)[name] for name in ("web-low", "web-mid", "web-high", "forums"))
    assert web == pytest.approx(1 if len(shares) == 1 else 0.5, abs=1e-10)


@pytest.mark.parametrize(("typed", "share"), [("+10", 0.13), ("-1", 0.02), ("\u22121%", 0.02), ("+0.5 points", 0.035)])
def test_a_sign_adds_points_to_the_present_share(post, typed, share):
    assert weights_of(post({}), 0)["math"] == 0.03
    assert weights_of(post({"phases": {"pretraining": {"shares": {"math": typed}}}}), 0)["math"] == share


def test_points_of_a_group_are_added_to_what_its_domains_have_together(post):
    answer = post({"by": "kind", "phases": {"pretraining": {"groups": {"web": "-10"}}}})
    web = sum(weights_of(answer, 0)[name] for name in ("web-low", "web-mid", "web-high", "forums"))
    assert web == pytest.approx(0.5)
    assert "'web' -10 points" in answer["spec"].splitlines()[0]


def test_all_faults_are_said_at_once_each_with_its_place(post):
    phases = {
        "midtraining": {"shares": {"math": "200%"}},
        "pretraining": {"shares": {"maths": "1%", "papers": "-90"}},
        "later": {},
    }
    errors = post({"phases": phases}, status=422, code="unknown-phase")["errors"]
    assert [(one["pointer"], one["code"]) for one in errors] == [
        ("/phases/later", "unknown-phase"),
        ("/phases/pretraining/shares/maths", "unknown-domain"),
        ("/phases/pretraining/shares/papers", "share-below-zero"),
        ("/phases/midtraining", "weights-sum"),
    ]


@pytest.mark.parametrize("share", [[1], None, True, -0.5, "x" * 81, "a\nb"])
def test_what_is_no_share_at_all_is_one_fault_at_its_place(post, share):
    errors = post({"phases": {"pretraining": {"shares": {"math": share}}}}, status=422, code="invalid-request")[
        "errors"
    ]
    assert [one["pointer"] for one in errors] == ["/phases/pretraining/shares/math"]


def test_a_body_whose_keys_stand_twice_is_refused(client):
    answer = client.post(DEMO, content='{"budget":"1","budget":"2"}', headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["facts"]) == (422, {"key": "budget"})


def test_a_group_has_its_share_together_and_one_without_weight_is_weighed_by_tokens(post):
    answer = post({"by": "quality", "phases": {"pretraining": {"groups": {"1": 0.25, "3": "40%"}}}})
    weights = weights_of(answer, 0)
    assert weights["web-low"] == 0.25
    assert sum(weights[name] for name in ("web-mid", "forums", "code-other")) == pytest.approx(0.35)
    assert "phase 'pretraining': '1' had no weight: its 1 domains are weighed by their tokens" in answer["said"]
    assert not any(one["code"] == "domain-unused" for one in answer["findings"])


def test_too_much_of_a_domain_is_a_shortfall_and_a_finding(post):
    answer = post({"phases": {"midtraining": {"shares": {"math": "90%"}}}})
    math = next(one for one in answer["domains"] if one["domain"] == "math")
    assert math["epochs"] > math["max_epochs"] == 6
    assert math["tokens_missing"] == math["tokens_drawn"] - 6 * math["tokens"]
    assert answer["lockable"] is False
    assert answer["findings"][0]["code"] == "over-epochs"


def test_a_domain_that_is_not_drawn_is_read_no_times_before_and_after(post):
    web_low = next(one for one in post({"budget": "1000 steps"})["domains"] if one["domain"] == "web-low")
    assert (web_low["tokens_drawn"], web_low["epochs"], web_low["epochs_before"]) == (0, 0, 0)


def test_epochs_before_are_those_after_where_nothing_is_changed(post):
    domains = post({})["domains"]
    assert [one["epochs_before"] for one in domains] == [one["epochs"] for one in domains]


def test_a_changed_spec_says_what_was_changed_of_what_and_has_a_name_of_its_own(post):
    body = {"by": "kind", "budget": "1000 steps", "phases": {"pretraining": {"until": "80%", "groups": {"web": 0.3}}}}
    answer = post(body)
    first, source, tables, _, name = answer["spec"].splitlines()[:5]
    changed = "budget 1000 steps; phase 'pretraining' until 80%; in phase 'pretraining' 'web' 30%."
    assert first == f"# What if: {changed}"
    assert source == f"# Made of demo@sha256:{answer['digest']}, whose own comments follow."
    assert tables == "# It belongs beside that mixture's tables: 'catalog.csv'."
    assert name == "mixture: demo-what-if"


def test_an_error_names_the_line_of_the_spec_as_published(client):
    lines = client.get("/v1/mixtures/demo/spec").text.splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("budget:"))
    problem = client.post(DEMO, json={"budget": "5 sheep"}).json()
    assert (problem["code"], problem["errors"][0]["line"]) == ("unknown-unit", line)
    assert "18.75T" not in problem["hint"]


def test_budget_and_boundaries_move(post):
    answer = post({"budget": "1000 steps", "phases": {"pretraining": {"until": "step 900"}}})
    assert [(one["steps"], one["steps_before"]) for one in answer["phases"]] == [(900, 15_259), (100, 3_814)]
    assert sum(one["tokens_before"] for one in answer["phases"]) == 19_999_490_048
    assert [(one["first_step"], one["steps"]) for one in answer["phases"]] == [(0, 900), (900, 100)]
    assert answer["steps"] == 1000


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("demo", {"by": "kind", "phases": {"pretraining": {"groups": {"web": 0.1}}}, "budget": "1B tokens"}),
        ("marin-535b-a23b", {"by": "cluster", "phases": {"main": {"groups": {"c14": "20%"}, "until": "90%"}}}),
        ("olmo-3-7b", {"phases": {"midtraining": {"shares": {"mid-cranemath": "12.5%"}}}}),
    ],
)
def test_the_spec_that_is_given_saved_beside_the_tables_has_the_same_plan(post, tmp_path: Path, name, body):
    answer = post(body, ref=name)
    for table in MIXTURES.joinpath(name).glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    (tmp_path / "mixture.yaml").write_text(answer["spec"], encoding="utf-8")
    plan = plan_json(make_plan(read_spec(tmp_path / "mixture.yaml")))
    drawn = {one["domain"]: one["tokens_drawn"] for one in plan["domains"]}
    assert {one["domain"]: one["tokens_drawn"] for one in answer["domains"]} == drawn
    assert [one["message"] for one in answer["findings"]] == [one["message"] for one in plan["findings"]]
    for phase in plan["phases"]:
        assert sum(Fraction(one["weight"]["ratio"]) for one in phase["domains"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"phases": {"pre": {"until": "90%"}}}, "unknown-phase"),
        ({"phases": {"pretraining": {"shares": {"maths": "1%"}}}}, "unknown-domain"),
        ({"phases": {"pretraining": {"groups": {"web": "1%"}}}}, "unknown-column"),
        ({"by": "kind", "phases": {"pretraining": {"groups": {"wep": "1%"}}}}, "unknown-group"),
        (
            {"by": "kind", "phases": {"pretraining": {"groups": {"web": "1%"}, "shares": {"forums": 0}}}},
            "shares-overlap",
        ),
        ({"phases": {"pretraining": {"shares": {"math": "60%", "papers": 0.5}}}}, "weights-sum"),
        ({"phases": {"pretraining": {"shares": {"math": "much"}}}}, "not-a-number"),
        ({"phases": {"pretraining": {"shares": {"math": "2T tokens"}}}}, "wrong-unit"),
        ({"phases": {"pretraining": {"shares": {"math": "17.85"}}}}, "share-above-one"),
        ({"phases": {"pretraining": {"shares": {"math": 17.85}}}}, "share-above-one"),
        ({"phases": {"pretraining": {"shares": {"math": "-5"}}}}, "share-below-zero"),
        ({"phases": {"pretraining": {"shares": {"math": "+much"}}}}, "not-a-number"),
        ({"phases": {"zz": {}}}, "unknown-phase"),
        ({"phases": {"pretraining": {"until": "step 5", "steps": "5"}}}, "invalid-request"),
        ({"phases": {"pretraining": {"until": "500%"}}}, "out-of-range"),
        ({"budget": "{steps: 1}"}, "not-a-number"),
        ({"budget": "5\n"}, "invalid-request"),
        ({"seed": 5}, "invalid-request"),
    ],
)
def test_what_can_not_be_planned_is_refused_with_the_reason(post, body, code):
    post(body, status=422, code=code)


def test_a_published_mixture_is_changed_over_its_own_tables_and_nothing_is_kept(make_app):
    app = make_app(mixtures_dirs=())
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]
    spec = (
        "mixture: small\ncatalog: cells.csv\nsequence_length: 64\nbatch: 8 sequences\nbudget: 100 steps\nphases:\n"
        "  - {phase: one, share: 50%, weights: {table: shares.csv, column: x}}\n  - {phase: two, weights: uniform}\n"
    )
    tables = {"cells.csv": "domain,tokens\na,200000\nb,90000\n", "shares.csv": "domain,x\na,0.25\nb,0.75\n"}
    body = json.dumps({"spec": spec, "tables": tables})
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    first = ask(app, "PUT", "/v1/mixtures/small", content=body, headers=headers).raise_for_status().json()
    answer = ask(app, "POST", "/v1/mixtures/small/what-if", json={"phases": {"two": {"shares": {"a": "80%"}}}})
    answer.raise_for_status()
    assert weights_of(answer.json(), 0) == {"a": 0.25, "b": 0.75}
    assert weights_of(answer.json(), 1) == {"a": 0.8, "b": 0.2}
    assert answer.headers["cache-control"] == "no-store"
    assert ask(app, "GET", "/v1/mixtures/small").json()["digest"] == first["digest"]
    assert [one["name"] for one in ask(app, "GET", "/v1/mixtures").json()["items"]] == ["small"]


def test_a_share_of_a_phase_with_a_transition_is_of_what_it_leads_to(make_app):
    app = make_app(mixtures_dirs=())
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]
    spec = (
        "mixture: small\ncatalog: cells.csv\nsequence_length: 64\nbatch: 8 sequences\nbudget: 100 steps\nphases:\n"
        "  - {phase: one, share: 50%, weights: {a: 10%, b: 30%, c: 60%}}\n"
        "  - {phase: two, weights: {a: 40%, b: 40%, c: 20%}, transition: {steps: 10, parts: 1}}\n"
    )
    body = json.dumps({"spec": spec, "tables": {"cells.csv": "domain,tokens\na,200000\nb,90000\nc,90000\n"}})
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    ask(app, "PUT", "/v1/mixtures/small", content=body, headers=headers).raise_for_status()
    answer = ask(app, "POST", "/v1/mixtures/small/what-if", json={"phases": {"two": {"shares": {"a": "+10"}}}})
    changed = parse_spec(answer.raise_for_status().json()["spec"].encode(), path=Path("mixture.yaml")).phases[1]
    assert changed.weights.shares["a"] == Fraction(1, 2)
    assert changed.weights.shares["b"] == pytest.approx(1 / 3)
    assert changed.transition is not None


def test_where_reading_takes_a_token_so_does_asking_what_if(make_app):
    assert ask(make_app(public_reads=False), "POST", DEMO, json={}).status_code == 401


def test_a_body_of_more_than_a_mebibyte_is_refused_declared_or_not(client):
    data = json.dumps({"budget": "1", "by": " " * 2**20}).encode()
    headers = {"Content-Type": "application/json"}
    assert client.post(DEMO, content=data, headers=headers).status_code == 413
    assert client.post(DEMO, content=iter([data[: 2**19], data[2**19 :]]), headers=headers).status_code == 413


def test_a_mixture_that_is_too_large_is_refused_before_it_is_planned(make_app, monkeypatch):
    monkeypatch.setattr("mixture.api.what_if.planning.MOST_WEIGHTS", 19)
    answer = ask(make_app(), "POST", DEMO, json={})
    assert (answer.status_code, answer.json()["code"]) == (422, "too-many-weights")


def test_stairs_of_a_transition_count_among_the_weights_of_a_mixture(make_app, monkeypatch, tmp_path):
    text = (MIXTURES / "demo/mixture.yaml").read_text()
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "catalog.csv").write_text((MIXTURES / "demo/catalog.csv").read_text())
    batch = "    batch: 256 sequences\n"
    assert batch in text
    (folder / "mixture.yaml").write_text(text.replace(batch, f"{batch}    transition: {{steps: 50, parts: 20}}\n"))
    plan = make_plan(read_spec(folder / "mixture.yaml"))
    write_lock(make_lock(plan), folder / "mixture.lock.json")
    app = make_app(mixtures_dirs=(tmp_path,))
    assert ask(app, "POST", DEMO, json={}).status_code == 200
    monkeypatch.setattr("mixture.api.what_if.planning.MOST_WEIGHTS", 21 * len(plan.domains))
    answer = ask(app, "POST", DEMO, json={"budget": "21B tokens"})
    assert (answer.status_code, answer.json()["code"]) == (422, "too-many-weights")


def test_one_is_planned_at_a_time_and_who_would_wait_behind_too_many_is_told_so():
    async def refusals() -> list[Problem]:
        places, refused = what_if_places(), []

        async def one() -> None:
            try:
                async with places.place("anybody"):
                    await asyncio.sleep(0)
            except Problem as problem:
                refused.append(problem)

        async with places.place("anybody"):
            waiting = [asyncio.create_task(one()) for _ in range(20)]
            while len(refused) < 12:
                await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        return refused

    refused = asyncio.run(refusals())
    assert [(one.status_code, one.code) for one in refused] == [(503, "busy")] * 12


def test_while_many_ask_what_if_reading_goes_on(make_app):
    app = make_app()
    with client_of(app) as client:
        bodies = [{"budget": f"{steps} steps"} for steps in range(20_000, 20_030)]
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda body=body: statuses.append(client.post(DEMO, json=body).status_code))
            for body in bodies
        ]
        for thread in threads:
            thread.start()
        for _ in range(10):
            assert client.get("/v1/mixtures/demo").status_code == 200
        for thread in threads:
            thread.join()
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 1


def test_the_page_shows_what_each_phase_loses(client):
    page = client.get("/mixtures/demo/what-if?budget=15300+steps&until:pretraining=step+15259").raise_for_status().text
    table = page.split('id="after-phases"')[1].split("</table>")[0]
    cells = '<td class="n">3,814</td><td class="n">41</td>'
    assert cells in table, "the steps of the last phase, before and after"
