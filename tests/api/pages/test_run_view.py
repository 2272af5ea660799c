"""What a run's page shows, made of what the repository gives and of a loaded mixture."""

import math
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from api_helpers import MIXTURES

from mixture.api.database import ProgressEntry, RunRecord
from mixture.api.middleware.problems import Problem
from mixture.api.pages.links import ServedLinks
from mixture.api.pages.render import render
from mixture.api.pages.run.losses import loss_lines, mean_loss
from mixture.api.pages.run.page import run_view
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.stores import Stores

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def demo():
    return BuiltinMixtures([MIXTURES], [], Stores([])).all()["demo"]


def report(seq, step, **loss):
    return ProgressEntry(seq, step, loss or None, None, AT, "trainer")


@pytest.fixture
def run(demo):
    return RunRecord(
        number=1, id="0" * 16, name="ablation 7", mixture=f"demo@sha256:{demo.digest}", digest=demo.digest,
        steps=19_073, last_seq=3,
        registered=AT, by="trainer", last=report(3, 15_300),
    )  # fmt: skip


def test_what_was_read_is_what_the_schedule_reads_in_the_steps_that_are_done(demo, run):
    view = run_view(run, demo, by="domain")
    read = dict(zip(demo.lock.schedule().names, demo.lock.schedule().tokens(15_300).tolist(), strict=True))
    assert {one.key: one.tokens for one in view.groups} == {name: tokens for name, tokens in read.items() if tokens}
    assert all(one.tokens == one.planned_tokens_so_far for one in view.groups)
    assert sum(one.tokens for one in view.groups) == view.standing.tokens
    assert view.standing.phase == "midtraining"


def test_domains_nearest_to_their_caps_come_first(demo, run):
    view = run_view(run, demo)
    reached = [one.epochs / one.max_epochs for one in view.capped]
    assert reached == sorted(reached, reverse=True)
    assert view.by == "kind"
    assert all(one.max_epochs is None for one in view.groups)


def test_before_the_first_report_nothing_is_read(demo, run):
    view = run_view(replace(run, last=None), demo)
    assert (view.step, view.seq, view.reported) == (0, 0, None)
    assert {one.tokens for one in view.groups} == {0}
    assert view.table()["tokens"].to_pylist() == [0] * len(view.groups)


def test_without_its_mixture_a_run_still_has_its_log(run):
    view = run_view(run, None, [report(1, 5, web=2.0), report(2, 6, web=1.5), report(3, 15_300)])
    assert (view.standing, view.groups) == (None, ())
    assert [one.seq for one in view.log] == [3, 2, 1]
    assert view.losses[0].losses == (2.0, 1.5)
    assert view.table().num_rows == 0


def test_a_column_that_the_catalog_has_not_is_refused(demo, run):
    with pytest.raises(Problem) as caught:
        run_view(run, demo, by="kin")
    assert (caught.value.code, caught.value.hint) == ("unknown-column", "did you mean 'kind'?")


def test_a_report_has_the_mean_of_the_losses_that_are_numbers(demo, run):
    view = run_view(run, demo, [report(1, 5, web=2.0, code=1.5, books=None), report(2, 6, web=None), report(3, 7)])
    assert [(one.losses, one.mean_loss) for one in view.log] == [(0, None), (0, None), (2, 1.75)]


def test_of_very_many_losses_those_of_which_most_is_planned_have_a_chart(demo, run):
    losses = {f"other{i}": 2.0 for i in range(100)} | dict.fromkeys(demo.lock.schedule().names, 1.0)
    view = run_view(run, demo, [report(1, 5, **losses)])
    assert len(view.losses) == len(losses)
    assert len(view.drawn) == 60
    drawn = [one.domain for one in view.drawn]
    planned = demo.lock.schedule().tokens(demo.lock.data.steps)
    assert set(drawn) >= {name for name, tokens in zip(demo.lock.schedule().names, planned, strict=True) if tokens}
    assert drawn == sorted(drawn)


def test_of_very_many_groups_the_page_lists_those_of_which_most_is_planned(demo, run):
    view = run_view(run, demo)
    line = view.groups[0]
    many = view.model_copy(update={"groups": tuple(line.model_copy(update={"key": f"k{i}"}) for i in range(1000))})
    page = render("run.html", ServedLinks("http://a.example", "", "/runs/0"), many)
    assert 100 <= page.count("<tr>") < 150
    assert "The 100 of 1,000 of which most is planned" in page
    assert many.table().num_rows == 1000


def test_heads_of_columns_are_different_words(demo, run):
    page = render("run.html", ServedLinks("http://a.example", "", "/runs/0"), run_view(run, demo))
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page[: page.index("</thead>")])
    assert len(heads) == len(set(heads)) == 9


def test_losses_that_a_return_to_an_earlier_step_took_back_are_left_out():
    lines = loss_lines([report(1, 10, web=3.0), report(2, 20, web=9.0, code=8.0), report(3, 15, web=2.5)])
    assert [(one.domain, one.steps, one.losses) for one in lines] == [("web", (10, 15), (3.0, 2.5))]


def test_a_domain_without_a_number_has_no_point():
    lines = loss_lines([report(1, 1, web=None, code=1.0), report(2, 2, web=2.0)])
    assert [(one.domain, one.steps) for one in lines] == [("code", (1,)), ("web", (2,))]


def test_a_loss_that_diverged_is_a_gap_in_the_chart_and_the_last_is_said():
    reports = [report(i, i, web=loss) for i, loss in enumerate([3.0, 2.0, "NaN", 2.5, "Infinity", "-Infinity"], 1)]
    (line,) = loss_lines(reports)
    assert [len(points.split()) for points in line.lines()] == [2, 1]
    assert (line.last, line.changes) == (-math.inf, False)
    (only,) = loss_lines([report(1, 1, web="NaN")])
    assert only.lines() == []
    assert [str(mean_loss(one)) for one in ({"a": "NaN", "b": 1.0}, {"a": "Infinity", "b": "-Infinity"})] == ["nan"] * 2
    assert mean_loss({"a": "Infinity", "b": 1.0, "c": None}) == math.inf
    assert (mean_loss({"a": None}), mean_loss({})) == (None, None)


def test_the_largest_losses_have_a_mean_and_a_chart():
    most = sys.float_info.max
    assert mean_loss({"a": most, "b": most}) == most
    assert mean_loss({"a": most, "b": -most, "c": 3.0}) == 1.0
    for high, low in ((most, -most), (5e-324, 0.0)):
        (line,) = loss_lines([report(1, 1, web=high), report(2, 2, web=low)])
        assert "nan" not in "".join(line.lines())


def test_a_long_log_keeps_its_newest_loss_and_fits_the_chart():
    (line,) = loss_lines([report(i, i, web=float(i)) for i in range(1, 1001)])
    assert line.last == 1000.0
    (drawn,) = line.lines()
    points = [tuple(map(float, point.split(","))) for point in drawn.split()]
    assert len(points) <= 120
    assert all(0 <= x <= 160 and 0 <= y <= 36 for x, y in points)
    assert [x for x, _ in points] == sorted(x for x, _ in points)
