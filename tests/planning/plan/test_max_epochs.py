"""Limits on epochs: by domain in the spec, by the catalog, and for all others."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.errors import SpecError
from mixture.lock import Amendment
from mixture.planning.ladder import make_ladder, parse_rung
from mixture.planning.plan import check_lock, make_lock, make_plan
from mixture.planning.spec import FindingCode

PHASE = "{phase: p, weights: uniform}"
CELLS = "domain,tokens,max_epochs\nbooks,2000,2\ncode,1000000,\nwiki,3000,5\n"


def limits(plan):
    return {domain.name: domain.max_epochs for domain in plan.domains}


def over(plan):
    return [finding.facts["domain"] for finding in plan.findings if finding.code is FindingCode.OVER_EPOCHS]


def test_the_specs_limit_of_a_domain_goes_over_the_catalogs_and_that_over_the_default(write_spec):
    by_domain = write_spec(PHASE, catalog=CELLS, max_epochs="{default: 8, domains: {wiki: 1.5 epochs}}")
    assert limits(make_plan(by_domain)) == {"books": 2, "code": 8, "wiki": Fraction(3, 2)}
    assert limits(make_plan(write_spec(PHASE, catalog=CELLS, max_epochs="8"))) == {"books": 2, "code": 8, "wiki": 5}


def test_either_may_be_left_out_and_both_forms_mean_the_same(write_spec):
    domains = make_plan(write_spec(PHASE, catalog=CELLS, max_epochs="{domains: {wiki: 4}}"))
    assert limits(domains) == {"books": 2, "code": None, "wiki": 4}
    short, long = (make_plan(write_spec(PHASE, catalog=CELLS, max_epochs=one)) for one in ("8", "{default: 8}"))
    assert limits(short) == limits(long)
    assert short.spec_digest == long.spec_digest != domains.spec_digest


def test_what_is_drawn_is_held_against_it(write_spec):
    # A third of 12,800 tokens is two epochs of books, and less than two of wiki.
    assert over(make_plan(write_spec(PHASE, catalog=CELLS, max_epochs="{domains: {books: 4}}"))) == []
    plan = make_plan(write_spec(PHASE, catalog=CELLS, max_epochs="{domains: {books: 4, wiki: 1}}"))
    assert over(plan) == ["wiki"]
    assert over(make_plan(write_spec(PHASE, catalog=CELLS, max_epochs="{domains: {books: 1}}"))) == ["books"]


@pytest.mark.parametrize(
    ("said", "code", "path", "hint"),
    [
        ("{domains: {wikki: 4}}", "unknown-domain", "max_epochs.domains.wikki", "did you mean 'wiki'?"),
        ("{domains: {zzz: 4}}", "unknown-domain", "max_epochs.domains.zzz", "the catalog does not have it"),
        ("{domains: {wiki: 0}}", "out-of-range", "max_epochs.domains.wiki", "above 0"),
        ("{domains: {wiki: 4 steps}}", "wrong-unit", "max_epochs.domains.wiki", "epochs"),
        ("{domains: {wiki: 4, wiki: 5}}", "duplicate-key", "max_epochs.domains.wiki", None),
        ("{domains: 4}", "not-a-mapping", "max_epochs.domains", "{wiki: 16}"),
        ("{domain: {wiki: 4}}", "unknown-key", "max_epochs.domain", "domains"),
        ("{}", "missing-key", "max_epochs", "default"),
        ("[4]", "not-a-value", "max_epochs", None),
    ],
)
def test_a_wrong_limit_is_refused_at_its_place(write_spec, said, code, path, hint):
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(PHASE, catalog=CELLS, max_epochs=said))
    error = getattr(caught.value, "errors", [caught.value])[0]
    assert (error.code, error.place.path, error.place.line) == (code, path, 6)
    assert hint is None or hint in (error.hint or "")


def test_a_held_out_domain_has_no_limit(write_spec):
    catalog = CELLS + "wiki@validation,500,\n"
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(PHASE, catalog=catalog, max_epochs="{domains: {wiki@validation: 4}}"))
    assert caught.value.place.line == 6


def test_a_lock_sees_another_limit_and_says_that_no_step_changes(write_spec):
    spec = write_spec(PHASE, catalog=CELLS, max_epochs="{domains: {books: 4}}")
    lock = make_lock(make_plan(spec))
    check_lock(lock, spec)
    with pytest.raises(Exception, match="changes no step and no weight, such as `max_epochs`") as caught:
        check_lock(lock, write_spec(PHASE, catalog=CELLS, max_epochs="{domains: {books: 5}}"))
    assert caught.value.code == "spec-changed"


def test_a_changed_catalog_is_told_with_the_specs_limit(write_spec):
    said = "{domains: {books: 4}}"
    lock = make_lock(make_plan(write_spec(PHASE, catalog=CELLS, max_epochs=said)))
    with pytest.raises(Exception, match=r"'books': 2,000 → 900 tokens, .* over max_epochs 4") as caught:
        check_lock(lock, write_spec(PHASE, catalog=CELLS.replace("books,2000", "books,900"), max_epochs=said))
    assert caught.value.code == "catalog-changed"


def test_an_amendment_and_a_ladder_hold_to_it(write_spec):
    said = "{default: 9, domains: {books: 4}}"
    spec = write_spec(PHASE, catalog=CELLS, max_epochs=said)
    plan = make_plan(spec)
    longer = write_spec(PHASE, catalog=CELLS, max_epochs=said, budget="300 steps")
    amended = make_plan(longer, amends=Amendment(make_lock(plan), 50))
    assert over(amended) == ["books"]
    assert limits(amended) == limits(plan)
    (rung,) = make_ladder(spec, [parse_rung(f"{plan.tokens // 2}:8")], simulate_epochs=True)
    assert limits(rung.plan) == limits(plan)


def test_an_amended_run_may_still_name_a_domain_that_left_the_catalog(write_spec):
    said = "{domains: {books: 4}}"
    lock = make_lock(make_plan(write_spec(PHASE, catalog=CELLS, max_epochs=said)))
    left = CELLS.replace("books,2000,2\n", "")
    amended = make_plan(write_spec(PHASE, catalog=left, max_epochs=said), amends=Amendment(lock, 50))
    assert limits(amended)["books"] == 4
    with pytest.raises(SpecError, match="unknown domain 'books'"):
        make_plan(write_spec(PHASE, catalog=left, max_epochs=said))
