"""What a what-if's page asks for by its query, and what it says came of it."""

from __future__ import annotations

import json

import pytest
from api_helpers import ask

from mixture.api.database import Scope
from mixture.api.middleware.limits import WritePlaces
from mixture.api.pages.mixture.what_if import asked_of
from mixture.api.pages.render import POLICY

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - {phase: one, weights: {a: 50%, b: 30%, c: 20%}}
"""
TABLE = "domain,tokens,kind\na,200000,text\nb,90000,\nc,90000,none\nd,90000,text\n"


@pytest.mark.parametrize(
    ("key", "phase", "name"),
    [
        ("share:a:web", "a", "web"),
        ("share:a:b:web", "a:b", "web"),
        ("share:a:c:web", "a", "c:web"),
        ("share:a:b:c:d", "a:b", "c:d"),
    ],
)
@pytest.mark.parametrize("phases", [["a", "a:b"], ["a:b", "a"]])
def test_a_share_is_of_the_phase_with_the_longest_name_that_fits_and_of_no_other(key, phase, name, phases):
    asked = asked_of([(key, " 10% ")], phases, by="kind", domain_column="domain")
    assert asked == {"phases": {phase: {"groups": {name: "10%"}}}, "by": "kind"}


def test_ends_are_of_the_phase_that_is_named_and_what_is_of_none_asks_for_nothing():
    phases = ["a", "a:b"]
    ends = asked_of([("until:a:b", "90%"), ("budget", "5 steps")], phases, by="kind", domain_column="domain")
    assert ends == {"phases": {"a:b": {"until": "90%"}}, "by": "kind", "budget": "5 steps"}
    assert asked_of([("share:b:web", "1%"), ("share:a:web", "")], phases, by="kind", domain_column="domain") == {}


@pytest.fixture
def app(make_app):
    """A service with a mixture of which one domain has no kind, and one has the kind `none`."""
    made = make_app(mixtures_dirs=())
    secret = made.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = json.dumps({"spec": SPEC, "tables": {"cells.csv": TABLE}})
    ask(made, "PUT", "/v1/mixtures/small", content=body, headers=headers).raise_for_status()
    return made


def test_domains_without_a_value_are_another_group_than_those_whose_value_is_none(app):
    answer = ask(app, "GET", "/mixtures/small/what-if.json?by=kind&share:one:text=80%25").raise_for_status().json()
    groups = {one["name"]: one["tokens"] for one in answer["groups"]}
    drawn = {one["domain"]: one["tokens_drawn"] for one in answer["answer"]["domains"]}
    assert groups == {"text": drawn["a"] + drawn["d"], None: drawn["b"], "none": drawn["c"]}


def test_what_a_client_has_already_takes_no_place_of_who_plans(app):
    address, html = "/mixtures/small/what-if?budget=90+steps", {"Accept": "text/html"}
    first = ask(app, "GET", address, headers=html).raise_for_status()
    app.state.services.what_if_places = WritePlaces(1, most_waiting=0, seconds=0)  # nobody comes to a place in time
    again = ask(app, "GET", address, headers={**html, "If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.headers["content-security-policy"]) == (304, POLICY)
    assert ask(app, "GET", "/mixtures/small/what-if?budget=80+steps", headers=html).status_code == 503


def test_a_phase_with_a_transition_shows_the_shares_after_it_which_changes_start_from(make_app):
    app = make_app(mixtures_dirs=())
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    last = "  - {phase: two, weights: {a: 18.02%, b: 41.98%, c: 40%}, transition: {steps: 20, parts: 4}}\n"
    spec = SPEC.replace("phase: one", "phase: one, share: 50%") + last
    body = json.dumps({"spec": spec, "tables": {"cells.csv": TABLE}})
    ask(app, "PUT", "/v1/mixtures/small", content=body, headers=headers).raise_for_status()
    view = ask(app, "GET", "/mixtures/small/what-if.json?by=domain&share:two:a=%2B10").raise_for_status().json()
    assert view["changing"] == ["two"]
    now = {row["key"]: [one["now"] for one in row["fields"]] for row in view["rows"]}
    assert now == {"a": [0.5, 0.1802], "b": [0.3, 0.4198], "c": [0.2, 0.4], "d": [0.0, 0.0]}
    assert "were 81.98% together and are 71.98%" in view["answer"]["said"][0]
    html = ask(app, "GET", "/mixtures/small/what-if?by=domain", headers={"Accept": "text/html"}).text
    assert 'placeholder="18.0%" aria-label="a in two, after the transition"' in html
    assert 'aria-label="a in one"' in html
