"""The lineage on a mixture's page, made of a lock and of what a service knows of its ancestors."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mixture.api.database import Move
from mixture.api.dependencies.lineages import KnownLineage
from mixture.api.pages.links import FileLinks, ServedLinks
from mixture.api.pages.mixture.chart import marks_of
from mixture.api.pages.mixture.lineage import MOST_AMENDMENTS
from mixture.api.pages.mixture.page import mixture_view
from mixture.api.pages.render import render
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.stores import Stores
from mixture.lock import write_lock
from mixture.planning.amend import amend
from mixture.planning.explain import explain
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: only
    weights: {a: 40%, b: 60%}
"""


@pytest.fixture
def load(tmp_path: Path):
    """load(lock): the mixture of the folder under this lock; without one, that of its spec."""
    (tmp_path / "cells.csv").write_text("domain,tokens\na,160000\nb,90000\n")
    (tmp_path / "mixture.yaml").write_text(SPEC)

    def of(lock=None):
        lock = lock or make_lock(make_plan(read_spec(tmp_path / "mixture.yaml")))
        write_lock(lock, tmp_path / "mixture.lock.json")
        return next(iter(BuiltinMixtures([tmp_path], [], Stores([])).all().values()))

    return of


def links():
    return ServedLinks("http://here", "", "/mixtures/small")


def test_a_mixture_that_amends_nothing_has_no_lineage(load):
    view = mixture_view(load())
    assert view.lineage is None
    page = render("mixture.html", links(), view)
    assert "Lineage" not in page
    assert "/mixtures/small/what-if" in page


def test_each_amendment_is_said_in_words_the_newest_first(load):
    first = load()
    second = amend(first.lock, 30, skip_steps=2, reason="a <spike>")
    third = load(amend(second, 60, skip_steps=1))
    refs = {first.digest: f"small@sha256:{first.digest}"}
    at = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
    published = {second.digest: Move("small", 2, first.digest, second.digest, at, "ann <x>")}
    view = mixture_view(third, lineage=KnownLineage(explain(third.lock, ancestors=[first.lock]), refs, published))
    new, old = view.lineage.amendments
    assert (new.number, new.step, new.amended, new.ref) == (2, 60, second.digest, None)
    assert (old.number, old.step, old.amended, old.ref) == (1, 30, first.digest, refs[first.digest])
    assert old.words == (
        "Why: a <spike>.",
        "Left out: 16 sequences, 1,024 tokens.",
        "This lock reads what that lock reads up to step 30.",
    )
    assert [(one.digest, one.up_to_step, one.is_own) for one in view.lineage.resumable] == [
        (third.digest, 100, True),
        (second.digest, 60, False),
        (first.digest, 30, False),
    ]
    page = render("mixture.html", links(), view)
    assert "Why: a &lt;spike&gt;." in page
    assert f"/mixtures/small@sha256:{first.digest}" in page
    assert f"/mixtures/small@sha256:{first.digest}?with=small%40sha256%3A{third.digest}" in page, "from it to this one"
    assert (old.by, old.at, new.by, new.at) == ("ann <x>", at, None, None)
    assert ', by ann &lt;x&gt;, <time datetime="2026-03-01T12:05:00+00:00">2026-03-01 12:05</time>' in page
    assert f"/mixtures/small@sha256:{second.digest}" not in page, "which the service does not have"
    assert "What-if is not offered for an amended run" in page
    assert "/what-if" not in page, "which would be refused"


def test_what_the_spec_says_of_itself_is_not_said_of_an_amended_run(load):
    first = load()
    words = "As it was planned."
    assert mixture_view(replace(first, spec_text=f"# {words}\n{first.spec_text}")).description == words
    later = load(amend(first.lock, 30, skip_steps=2))
    assert mixture_view(replace(later, spec_text=f"# {words}\n{later.spec_text}")).description == ""


def test_names_of_amended_phases_do_not_touch_on_the_run_and_in_the_chart():
    marks = marks_of([("main", 0.0), ("cooldown", 768.0), ("cooldown@380000", 934.8)])
    assert [(mark.line, mark.is_right_of) for mark in marks] == [(0, True), (0, True), (1, False)]
    assert marks[2].text_y < marks[1].text_y - 12, "more than the height of a letter"


def test_a_site_of_files_says_the_lineage_without_a_service(load):
    first = load()
    view = mixture_view(load(amend(first.lock, 30, skip_steps=2)))
    page = render("mixture.html", FileLinks("mixtures/small/index.html"), view)
    assert "Left out: 16 sequences, 1,024 tokens." in page
    assert first.digest[:12] in page
    assert "/v1/" not in page


def test_of_many_amendments_the_last_are_listed(load):
    lock = load().lock
    for step in range(10, 10 + 3 * MOST_AMENDMENTS, 2):
        lock = amend(lock, step, skip_steps=1)
    view = mixture_view(load(lock))
    assert view.lineage.count == 3 * MOST_AMENDMENTS // 2
    assert len(view.lineage.amendments) == MOST_AMENDMENTS
    assert view.lineage.amendments[0].number == view.lineage.count
    assert f"The last {MOST_AMENDMENTS} are listed" in render("mixture.html", links(), view)
