"""Two mixtures beside each other: what moved, and how far they are apart."""

from dataclasses import replace
from fractions import Fraction

import pytest
from api_helpers import MIXTURES
from mixture_folder import write_mixture
from playwright.sync_api import expect

from mixture.api.middleware.problems import Problem
from mixture.api.pages.links import FileLinks
from mixture.api.pages.mixture.compare import compare_view
from mixture.api.pages.render import render
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.overviews import overview_of
from mixture.api.registry.stores import Stores
from mixture.lock import Mask
from mixture.planning.amend import amend
from mixture.planning.compare import diff, half_l1, side_of


@pytest.fixture(scope="module")
def mixtures():
    return BuiltinMixtures([MIXTURES], [], Stores([])).all()


def seen(one, other, **asked):
    return compare_view(one, other, overview=overview_of(one), other_overview=overview_of(other), **asked)


def test_a_mixture_is_not_apart_from_itself_nor_are_its_rows(mixtures):
    view = seen(mixtures["demo"], mixtures["demo"], phase="pretraining", other_phase="pretraining")
    assert (view.distance.half_l1, view.distance.hellinger) == (0, 0)
    assert {row.weight.change for row in view.domains} == {0}


def test_a_phase_that_replays_another_in_part_is_apart_by_what_it_adds(mixtures):
    demo = mixtures["demo"]
    view = seen(demo, demo, phase="midtraining", other_phase="pretraining")
    shares = [
        {one["domain"]: Fraction(one["weight"]["ratio"]) for one in phase["domains"]}
        for phase in demo.plan_json["phases"]
    ]
    assert view.distance.half_l1 == pytest.approx(float(half_l1(*shares)), abs=1e-12)
    first = view.domains[0]
    most = max(abs(float(shares[0][name] - shares[1][name])) for name in shares[0])
    assert abs(first.weight.change) == pytest.approx(most, abs=1e-12)
    assert sum(row.weight.change for row in view.domains) == pytest.approx(0)


def test_all_pairs_of_phases_and_the_runs_have_their_distances(mixtures):
    view = seen(mixtures["marin-535b-a23b"], mixtures["marin-announced-80-20"])
    assert len(view.distances) == 4 * 3
    assert view.distance == view.distances[0]
    assert view.distance.half_l1 == pytest.approx(sum(abs(row.weight.change) for row in view.domains) / 2)


def test_the_map_of_changes_has_the_rows_of_the_overview_and_adds_up_to_nothing(mixtures):
    view = seen(mixtures["marin-535b-a23b"], mixtures["marin-announced-80-20"])
    assert view.map_axes == ("cluster", "quality")
    assert (len(view.map_rows), view.map_columns) == (40, ("0", "1", "2", "3", "4"))
    cells = [cell for row in view.map_rows for cell in row.cells if cell is not None]
    assert sum(change for change, _ in cells) == pytest.approx(0, abs=1e-9)
    assert all((colour > 3) <= (change > 0) and (colour < 3) <= (change < 0) for change, colour in cells)
    assert max(cells, key=lambda cell: abs(cell[0]))[1] in (0, 6)


def test_domains_that_one_of_them_alone_has_are_named_and_have_no_figure_in_the_other(mixtures):
    view = seen(mixtures["demo"], mixtures["olmo-3-7b"])
    assert view.distance.half_l1 == 1
    assert (len(view.only_here), len(view.only_there)) == (10, 40)
    assert view.by == "kind"
    code = next(row for row in view.groups if row.name == "code")
    assert code.weight.one == pytest.approx(0.2, abs=0.001)
    assert code.weight.other == pytest.approx(0.0717, abs=0.0005)
    books = next(row for row in view.domains if row.name == "books")
    assert (books.weight.other, books.tokens.other, books.epochs.other) == (None, None, None)
    assert view.table()["other_tokens"].null_count == 10


def test_it_says_from_which_step_they_part_and_in_what(mixtures):
    view = seen(mixtures["marin-535b-a23b"], mixtures["marin-announced-80-20"])
    assert (view.agreed_steps, view.agreement) == (0, "They differ from the first step on, in the weights.")
    same = seen(mixtures["demo"], mixtures["demo"])
    assert same.agreement == f"They read the same in all of their {same.agreed_steps:,} steps."


def test_figures_are_those_of_the_library_and_changes_are_the_other_ones(mixtures):
    here, there = mixtures["marin-535b-a23b"], mixtures["marin-announced-80-20"]
    view = seen(here, there, by="quality")
    sides = [side_of(one.lock, name=one.name, catalog=one.catalog) for one in (here, there)]
    found = diff(*sides, by="quality")
    assert view.columns == ("cluster", "quality", "title")
    assert [row.name for row in view.groups] == [move.name for move in found.moves]
    for row, move in zip(view.groups, found.moves, strict=True):
        assert (row.tokens.one, row.tokens.other) == (move.a.tokens, move.b.tokens)
        assert row.weight.change == pytest.approx(float(move.weight_change))
        assert row.epochs.one == float(move.a.epochs)
    assert view.distance.half_l1 == float(found.distance.half_l1)
    assert view.distance.hellinger == float(found.distance.hellinger)


def test_domains_that_have_other_tokens_in_both_are_named_with_both(tmp_path):
    tables = ("domain,tokens\na,200000\nb,90000\n", "domain,tokens\na,200000\nb,95000\n")
    for name, table in zip(("one", "two"), tables, strict=True):
        write_mixture(tmp_path / name, SMALL.format(name=name), cells=table)
    one, two = BuiltinMixtures([tmp_path], [], Stores([])).all().values()
    view = compare_view(one, two)
    assert [(size.name, size.one, size.other) for size in view.resized] == [("b", 90000, 95000)]
    assert view.agreement == "They differ from the first step on, in the tokens of domains."
    assert view.resume_step == 0
    html = render("mixture_compare.html", FileLinks("mixtures/one/with-two.html"), view)
    assert "Checkpoints" not in html
    assert "The catalogs count other tokens of 1: b (" in html
    assert view.agreement in html


def test_text_that_was_taken_down_is_no_sameness_and_columns_name_the_two(tmp_path):
    write_mixture(tmp_path / "one", SMALL.format(name="one"), cells="domain,tokens\na,200000\nb,90000\n")
    folder = BuiltinMixtures([tmp_path], [], Stores([]))
    (one,) = folder.all().values()
    masked = replace(one, lock=amend(one.lock, 40, masks=[Mask(60, "a", 0, 500)]))
    view = compare_view(one, masked)
    labels = (f"one {one.lock.digest[:8]}", f"one {masked.lock.digest[:8]}")
    assert (view.one.label, view.other.label) == labels
    assert view.agreement == (
        f"They read the same sequences; from step 60 on {labels[1]} has 500 tokens taken down."
        " Checkpoints up to step 60 go on under both."
    )
    html = render("mixture_compare.html", FileLinks("mixtures/one/with-two.html"), view)
    assert view.agreement in html
    assert "may go on" not in html
    for label in labels:
        assert f"{label}</th>" in html
    phases = compare_view(one, one, phase="all")
    assert (phases.one.label, phases.other.label) == ("all", "the run")


SMALL = """\
mixture: {name}
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: all
    weights: {{a: 50%, b: 50%}}
"""


def test_an_unknown_phase_and_an_unknown_column_have_their_parameter(mixtures):
    for asked, pointer, hint in (
        ({"phase": "coldown"}, "/phase", "did you mean 'cooldown'?"),
        ({"other_phase": "pretrainin"}, "/with_phase", "did you mean 'pretraining'?"),
        ({"by": "clustr"}, "/by", "did you mean 'cluster'?"),
    ):
        with pytest.raises(Problem) as caught:
            seen(mixtures["marin-535b-a23b"], mixtures["marin-announced-80-20"], **asked)
        assert (caught.value.errors[0]["pointer"], caught.value.hint) == (pointer, hint)


def test_two_mixtures_are_a_page_of_files_too(mixtures):
    view = seen(mixtures["demo"], mixtures["olmo-3-7b"])
    html = render("mixture_compare.html", FileLinks("mixtures/demo/with-olmo-3-7b.html"), view)
    assert 'href="../olmo-3-7b/index.html"' in html
    assert "<form" not in html


def test_mixtures_are_compared_from_the_page_of_one(page, service, look):
    page.goto(f"{service}/mixtures/marin-535b-a23b")
    page.get_by_label("Compare with").fill("marin-announced-80-20")
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(f"{service}/mixtures/marin-535b-a23b?with=marin-announced-80-20")
    expect(page.locator(".lead")).to_contain_text("21.0% of the tokens would have to be exchanged")
    expect(page.get_by_text("They differ from the first step on, in the weights.")).to_be_visible()
    look("mixture-compare")
    page.get_by_role("combobox", name="By").select_option("quality")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="By quality")).to_be_visible()
    page.get_by_role("combobox", name="By").select_option("cluster")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("region", name="Distances of all phases").get_by_role("link", name="0.3312").click()
    expect(page.locator(".lead")).to_contain_text("Cooldown of marin-535b-a23b")
    expect(page.locator(".lead")).to_contain_text("midtraining of marin-announced-80-20")
    page.get_by_role("region", name="By cluster").get_by_role("button", name="Weight, marin-535b-a23b").click()
    expect(page.locator("#group-table tbody tr").first).to_contain_text("c28")


@pytest.mark.parametrize("name", ["mixture-compare-dark", "mixture-compare-narrow"])
def test_two_mixtures_can_be_read_in_the_dark_and_on_a_phone(page, service, look, name):
    if name == "mixture-compare-dark":
        page.emulate_media(color_scheme="dark")
    else:
        page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service}/mixtures/marin-535b-a23b?with=marin-announced-80-20")
    expect(page.locator(".lead")).to_contain_text("would have to be exchanged")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    look(name)
