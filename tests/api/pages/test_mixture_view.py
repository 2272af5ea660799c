"""What a mixture's page shows, made of a loaded mixture and nothing else."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from api_helpers import MIXTURES
from mixture_folder import write_mixture

from mixture.api.middleware.problems import Problem
from mixture.api.pages.links import FileLinks
from mixture.api.pages.mixture.page import mixture_view
from mixture.api.pages.mixture.rows import Reach, reach_of
from mixture.api.pages.render import render
from mixture.api.pages.titles import says_the_same
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.overviews import overview_of
from mixture.api.registry.stores import Stores
from mixture.lock import write_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

TABLE = (
    "domain,kind,level,tokens,max_epochs\na,text,1,160000,1\nb,text,2,90000,\nc,code,1,400000,0.1\nd,code,2,50000,\n"
)
SPEC = """\
# Two phases of a small run.
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 1000 steps
max_epochs: 8
accept: [over-epochs]
phases:
  - phase: first
    share: 75%
    weights: {a: 40%, b: 35%, c: 25%}
  - phase: last
    weights: {b: 80%, c: 20%}
"""


@pytest.fixture(scope="module")
def mixtures():
    return BuiltinMixtures([MIXTURES], [], Stores([])).all()


@pytest.fixture
def small(tmp_path: Path):
    """A mixture of four domains, one near its cap, one above, one never drawn."""
    (tmp_path / "cells.csv").write_text(TABLE)
    (tmp_path / "mixture.yaml").write_text(SPEC)
    lock = make_lock(make_plan(read_spec(tmp_path / "mixture.yaml")))
    write_lock(lock, tmp_path / "mixture.lock.json")
    return next(iter(BuiltinMixtures([tmp_path], [], Stores([])).all().values()))


def test_the_shares_of_every_stretch_add_up_and_change_where_phases_begin(mixtures):
    view = mixture_view(mixtures["demo"], by="kind")
    at = view.areas.steps.index(15259)
    shares_by_band = view.areas.shares()
    web = next(shares_by_band[i] for i, band in enumerate(view.areas.bands) if band.label == "web")
    assert web[at - 1] == pytest.approx(0.6, abs=0.01)
    assert web[at] == pytest.approx(0.544, abs=0.01)
    for shares in zip(*shares_by_band, strict=True):
        assert sum(shares) == pytest.approx(1, abs=1e-9)


def test_of_many_groups_the_largest_seven_are_drawn_and_the_rest_together(mixtures):
    marin = mixtures["marin-535b-a23b"]
    view = mixture_view(marin, overview=overview_of(marin))
    assert view.by == "cluster"
    assert [band.key for band in view.areas.bands] == ["c28", "c32", "c30", "c14", "c13", "c25", "c38", None]
    assert view.areas.bands[0].label == "c28 Performance Logs and Low-Level Code"
    assert view.areas.bands[-1].groups == 33
    assert [one.key for one in view.groups[:3]] == ["c28", "c32", "c30"]
    assert sum(one.share for one in view.groups) == pytest.approx(1)


def test_groups_are_by_any_column_of_labels_and_domains_alone_where_it_names_them(mixtures):
    assert mixture_view(mixtures["demo"]).by == "kind"
    by_level = mixture_view(mixtures["demo"], by="quality")
    assert {one.key: one.domains for one in by_level.groups} == {"1": 1, "2": 3, "3": 6}
    assert mixture_view(mixtures["demo"], by="domain").groups == ()


def test_weights_of_phases_in_the_catalog_are_no_column_to_group_by(mixtures):
    assert mixture_view(mixtures["marin-535b-a23b"]).columns == ("cluster", "quality", "title", "domain")


def test_what_the_spec_lets_through_comes_after_what_it_does_not(mixtures):
    view = mixture_view(mixtures["marin-535b-a23b"])
    ordered = view.findings_in_order()
    assert [one.accepted for one in ordered] == sorted(one.accepted for one in view.findings)
    assert ordered[-1].accepted
    assert not ordered[0].accepted


def test_epochs_stand_against_the_cap_of_each_domain(small):
    rows = {row.domain: row for row in mixture_view(small).domains}
    assert {name: row.reach for name, row in rows.items()} == {
        "a": Reach.NEAR, "b": Reach.BELOW, "c": Reach.ABOVE, "d": Reach.BELOW,
    }  # fmt: skip
    assert rows["a"].epochs == pytest.approx(750 * 512 * 0.4 / 160000, rel=0.01)


@pytest.mark.parametrize(
    ("drawn", "tokens", "cap", "reach"),
    [
        (4 * 10**18 + 1, 10**18, Fraction(4), Reach.ABOVE), (4 * 10**18, 10**18, Fraction(4), Reach.NEAR),
        (900, 1000, Fraction(1), Reach.NEAR), (899, 1000, Fraction(1), Reach.BELOW),
        (0, 0, Fraction(1), Reach.BELOW), (10**9, 1, None, Reach.BELOW), (1, 10, Fraction(0), Reach.ABOVE),
    ],
)  # fmt: skip
def test_a_cap_is_passed_by_one_token_and_near_from_nine_tenths(drawn, tokens, cap, reach):
    assert reach_of(drawn, tokens, cap) is reach


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (None, "bacd"), ("domain", "abcd"), ("-domain", "dcba"), ("tokens", "dbac"), ("-weight:last", "bcad"),
        ("weight:first", "dcba"), ("-max_epochs", "bdac"), ("group", "cdab"),
    ],
)  # fmt: skip
def test_domains_are_in_order_of_any_column(small, sort, names):
    assert "".join(row.domain for row in mixture_view(small, sort=sort).domains) == names


@pytest.mark.parametrize(
    ("asked", "code", "hint"),
    [
        ({"by": "kin"}, "unknown-column", "did you mean 'kind'?"),
        ({"by": "tokens"}, "unknown-column", "expected one of: kind, quality, domain"),
        ({"sort": "-epoch"}, "unknown-sort", "did you mean 'epochs'?"),
        ({"sort": "weight:main"}, "unknown-sort", None),
    ],
)
def test_a_column_or_an_order_that_there_is_not_is_refused(mixtures, asked, code, hint):
    with pytest.raises(Problem) as refused:
        mixture_view(mixtures["demo"], **asked)
    assert (refused.value.status_code, refused.value.code) == (422, code)
    assert hint is None or refused.value.hint == hint


@pytest.mark.parametrize("format", ["", ".json", ".csv"])
@pytest.mark.parametrize(
    ("page", "query", "code"),
    [
        ("demo", "by=nothing", "unknown-column"),
        ("demo", "sort=nothing", "unknown-sort"),
        ("demo", "with=olmo-3-7b&phase=nothing", "unknown-phase"),
        ("demo", "with=olmo-3-7b&with_phase=nothing", "unknown-phase"),
        ("demo", "with=olmo-3-7b&by=nothing", "unknown-column"),
        ("demo/what-if", "by=nothing", "unknown-column"),
    ],
)
def test_a_page_and_its_data_refuse_what_there_is_not(client, page, query, code, format):
    answer = client.get(f"/mixtures/{page}{format}?{query}", headers={"Accept": "application/json, */*"})
    assert (answer.status_code, answer.json()["code"]) == (422, code)


@pytest.mark.parametrize("query", ["by=&sort=", "with=olmo-3-7b&phase=&with_phase=&by="])
def test_what_a_form_leaves_empty_is_not_asked_for(client, query):
    assert client.get(f"/mixtures/demo.csv?{query}").status_code == 200


def test_data_have_all_domains_in_the_order_of_the_page_with_a_weight_for_each_phase(mixtures):
    view = mixture_view(mixtures["marin-535b-a23b"], sort="-tokens")
    assert view.shown == 50
    table = view.table()
    assert table.num_rows == 200
    assert table.column_names[3:6] == ["weight_initial", "weight_main", "weight_cooldown"]
    tokens = table["tokens"].to_pylist()
    assert tokens == sorted(tokens, reverse=True)
    assert mixture_view(mixtures["marin-535b-a23b"], whole=True).shown == 200


def test_findings_say_where_in_the_spec_and_whether_they_are_accepted(mixtures):
    first = mixture_view(mixtures["marin-535b-a23b"]).findings[0]
    assert (first.code, first.level, first.accepted, first.place) == (
        "budget-mismatch", "error", True, "mixture.yaml:8:25",
    )  # fmt: skip


def test_a_page_says_where_weights_change_inside_of_a_phase(tmp_path):
    last = "    transition: {steps: 100, parts: 4}\n"
    write_mixture(tmp_path / "stairs", SPEC + last, cells=TABLE)
    (mixture,) = BuiltinMixtures([tmp_path / "stairs"], [], Stores([])).all().values()
    view = mixture_view(mixture)
    assert [phase.weights_change for phase in view.phases] == [(), (775, 800, 825, 850)]
    # a has 40% before, and a half of it on the mean of the stairs, which are 100 of 250 steps.
    weights = {row.domain: row.weights for row in view.domains}
    assert weights["a"] == pytest.approx((0.4, 0.4 * 0.5 * 100 / 250))
    html = render("mixture.html", FileLinks("mixtures/small/index.html"), view)
    assert "The weights of last change inside of it, at steps 775, 800, 825 and 850: tables" in html
    assert view.areas.drawing().changes == (744.0, 768.0, 792.0, 816.0)
    assert html.count('class="change"') == 4
    assert {775, 800, 825, 850} <= set(view.areas.steps)


def test_of_many_steps_at_which_weights_change_ten_are_said_and_those_apart_are_drawn(tmp_path):
    write_mixture(tmp_path / "stairs", SPEC + "    transition: {steps: 240, parts: 120}\n", cells=TABLE)
    (mixture,) = BuiltinMixtures([tmp_path / "stairs"], [], Stores([])).all().values()
    view = mixture_view(mixture)
    assert view.phases[1].changes_in_words().endswith("766, 768, 770 and 110 more")
    drawn = view.areas.drawing().changes
    assert 30 < len(drawn) < 120
    assert all(after - before >= 4 for before, after in pairwise(drawn))


def test_the_picture_can_be_of_one_phase_and_the_tables_stay_those_of_the_run(mixtures):
    dolmino = mixtures["olmo-2-dolmino"]
    whole, view = mixture_view(dolmino), mixture_view(dolmino, phase="midtraining")
    assert (view.areas.steps[0], view.areas.steps[-1], len(view.areas.steps)) == (721901, 733822, 97)
    assert [mark.x for mark in view.areas.marks()] == [0]
    assert view.areas.ticks() == [721901, 724000, 726000, 728000, 730000, 732000]
    assert sum(band.share for band in view.areas.bands) == pytest.approx(1)
    shares = {row.key: row.weights[1] for row in view.groups}
    assert {band.key: band.share for band in view.areas.bands} == pytest.approx(
        {key: share for key, share in shares.items() if share}, abs=1e-4
    )
    assert (view.groups, view.domains) == (whole.groups, whole.domains)
    with pytest.raises(Problem, match="no phase 'midtrainin'") as refused:
        mixture_view(dolmino, phase="midtrainin")
    assert (refused.value.code, refused.value.hint) == ("unknown-phase", "did you mean 'midtraining'?")


@pytest.mark.parametrize(
    ("title", "key", "same"),
    [
        ("Health", "health", True), ("Software Development", "software_development", True),
        ("Science, Math & Technology", "science_math_and_technology", True),
        ("Web Pages", "web", False), ("Performance Logs", "c28", False),
    ],
)  # fmt: skip
def test_a_title_that_says_the_same_as_its_key_stands_alone(title, key, same):
    assert says_the_same(title, key) is same


def test_groups_of_which_the_title_is_the_key_are_named_once(mixtures):
    topics = mixtures["olmo-3-topics"]
    view = mixture_view(topics, overview=overview_of(topics))
    assert {"Health", "Software Development"} <= {band.label for band in view.areas.bands}
    html = render("mixture.html", FileLinks("mixtures/olmo-3-topics/index.html"), view)
    assert '<th scope="row">Health</th>' in html
    assert "health Health" not in html


def test_names_of_phases_do_not_touch_in_the_chart(mixtures):
    marks = mixture_view(mixtures["olmo-3-7b"]).areas.marks()
    assert [(mark.phase, mark.line) for mark in marks] == [("pretraining", 0), ("midtraining", 0), ("long-context", 1)]
    assert [mark.is_right_of for mark in marks] == [True, False, False]


def test_the_same_view_is_a_page_of_files(mixtures):
    html = render("mixture.html", FileLinks("mixtures/demo/index.html"), mixture_view(mixtures["demo"]))
    assert 'href="mixture.lock.json"' in html
    assert 'href="../../catalogs/demo/index.html"' in html
    assert "<form" not in html
    assert 'href="/' not in html
