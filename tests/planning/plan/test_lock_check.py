"""A lock is checked against spec and catalog: what they say counts, not how it is written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.errors import LockError, PlanError, SpecError
from mixture.planning.plan import check_lock, make_lock, make_plan

CATALOG = "domain,tokens,cluster\ncode,2000,c\nmath,3000,m\nweb,10000,w\n"
PHASES = (
    "{phase: one, share: 80%, weights: {code: 0.3, math: 0.2, web: 0.5}}",
    "{phase: two, weights: {code: 0.5, math: 0.5, web: 0}}",
)


def changed(lock, spec, **given):
    with pytest.raises(LockError) as caught:
        check_lock(lock, spec, **given)
    return caught.value


@pytest.fixture
def lock(write_spec):
    return make_lock(make_plan(write_spec(*PHASES, catalog=CATALOG, max_epochs="2.5")))


def test_a_lock_is_what_its_spec_and_catalog_give(write_spec, lock):
    plan = check_lock(lock, write_spec(*PHASES, catalog=CATALOG, max_epochs="2.5"))
    assert make_lock(plan) == lock


def test_order_and_spelling_in_spec_and_catalog_do_not_matter(write_spec, lock):
    spec = write_spec(
        "{weights: {web: 50%, math: 20%, code: 30%}, share: 80.0%, phase: one}  # as before",
        "{weights: {web: 0.0, math: 5e-1, code: 0.50}, phase: two}",
        catalog="cluster,tokens,domain\nw,10000,web\nc,2000,code\nm,3000,math\n",
        max_epochs="2.50 epochs",
        budget="0.1K steps",
        seed="0",
    )
    assert make_lock(check_lock(lock, spec)).digest == lock.digest


def test_a_table_counts_as_the_weights_in_it(write_spec, tmp_path):
    (tmp_path / "mix.csv").write_text("domain,share\nweb,0.5\ncode,0.5\n")
    before = make_lock(make_plan(write_spec("{phase: p, weights: {table: mix.csv, column: share}}")))
    (tmp_path / "other.csv").write_text("mix,domain\n0.50,code\n0.50,web\n")
    after = make_lock(make_plan(write_spec("{phase: p, weights: {table: other.csv, column: mix}}")))
    assert before.digest == after.digest
    (tmp_path / "mix.csv").write_text("domain,share\nweb,0.6\ncode,0.4\n")
    error = changed(before, write_spec("{phase: p, weights: {table: mix.csv, column: share}}"))
    assert (error.code, error.facts["field"]) == ("spec-changed", "phases[0].weights")
    assert "the weight of 'code' in phase 'p' is 50% in the lock, and now 40%" in error.message


def test_a_smaller_catalog_is_refused_with_old_and_new_epochs_and_those_over_the_limit_flagged(write_spec, lock):
    epochs = {d.name: d.epochs for d in make_plan(write_spec(*PHASES, catalog=CATALOG, max_epochs="2.5")).domains}
    smaller = CATALOG.replace("code,2000", "code,1602").replace("web,10000", "web,9999")
    error = changed(lock, write_spec(*PHASES, catalog=smaller, max_epochs="2.5"))
    assert error.code == "catalog-changed"
    code, web = error.facts["changes"]
    assert (code.name, code.tokens_locked, code.tokens_now) == ("code", 2_000, 1_602)
    assert code.epochs_locked == epochs["code"]
    assert code.epochs_now == epochs["code"] * Fraction(2_000, 1_602)
    assert code.epochs_locked <= Fraction(5, 2) < code.epochs_now
    assert (code.is_over, web.is_over) == (True, False)
    assert "'code': 2,000 → 1,602 tokens" in error.message
    assert "over max_epochs 2.5" in error.message


def test_a_domain_that_came_or_went_is_named(write_spec, lock):
    error = changed(lock, write_spec(*PHASES, catalog=CATALOG + "new,500,n\n", max_epochs="2.5"))
    (change,) = error.facts["changes"]
    assert (change.name, change.tokens_locked, change.tokens_now) == ("new", None, 500)
    error = changed(lock, write_spec(*PHASES, catalog=CATALOG.replace("math,3000,m\n", ""), max_epochs="2.5"))
    assert error.code == "catalog-changed"
    assert [change.name for change in error.facts["changes"]] == ["math"]


def test_another_attribute_is_another_catalog(write_spec, lock):
    error = changed(lock, write_spec(*PHASES, catalog=CATALOG.replace(",w", ",v"), max_epochs="2.5"))
    assert (error.code, error.facts["changes"]) == ("catalog-changed", ())


@pytest.mark.parametrize(
    ("keys", "field", "locked", "now"),
    [
        ({"seed": "7"}, "seed", 0, 7),
        ({"mixture": "other"}, "mixture", "test", "other"),
        ({"tokenizer": "bytes"}, "tokenizer", None, "bytes"),
        ({"shuffle": "{window: 5 blocks}"}, "shuffle", 64, 5),
    ],
)
def test_a_changed_key_is_refused_with_both_values(write_spec, lock, keys, field, locked, now):
    error = changed(lock, write_spec(*PHASES, catalog=CATALOG, max_epochs="2.5", **keys))
    assert error.code == "spec-changed"
    assert (error.facts["field"], error.facts["locked"], error.facts["now"]) == (field, locked, now)


def test_changes_that_leave_the_order_alone_are_changes_of_the_spec(write_spec, lock):
    assert changed(lock, write_spec(*PHASES, catalog=CATALOG, max_epochs="4")).facts["field"] == "spec"
    spec = write_spec(*(p.replace("one", "first") for p in PHASES), catalog=CATALOG, max_epochs="2.5")
    assert changed(lock, spec).facts["field"] == "phases[0]"


def test_a_lock_with_a_phase_that_has_no_step_is_still_what_its_spec_gives(write_spec):
    spec = write_spec(
        "{phase: a, until: 49.6%, weights: uniform}",
        "{phase: b, until: 50.4%, batch: 16 sequences, sequence_length: 32, weights: {code: 1}}",
        "{phase: c, weights: uniform}",
        budget="50 steps",
        accept="[phase-vanished]",
    )
    lock = make_lock(make_plan(spec))
    assert [phase.steps for phase in lock.phases] == [25, 0, 25]
    assert make_lock(check_lock(lock, spec)) == lock


def test_the_number_of_ranks_that_was_asked_about_is_no_part_of_a_lock(write_spec):
    spec = write_spec(*PHASES, catalog=CATALOG, accept="[batch-not-divisible]")
    asked = make_plan(spec, world_size=5)
    assert [finding.code for finding in asked.findings if finding.accepted] == ["batch-not-divisible"]
    assert make_lock(asked) == make_lock(make_plan(spec))
    check_lock(make_lock(asked), spec)


def test_a_longer_run_is_another_lock(write_spec, lock):
    error = changed(lock, write_spec(*PHASES, catalog=CATALOG, max_epochs="2.5", budget="105 steps"))
    assert error.code == "spec-changed"
    assert error.facts["field"] == "phases[0]"
    assert "the end of phase 'one', in steps, is 80 in the lock, and now 84" in error.message


def test_a_mistake_in_the_spec_is_said_as_such(write_spec, lock):
    with pytest.raises(SpecError) as caught:
        check_lock(lock, write_spec("{phase: one, weights: {cod: 1}}", catalog=CATALOG))
    assert caught.value.code == "unknown-domain"


def test_the_text_of_a_store_counts(write_spec):
    spec = write_spec(*PHASES, catalog=CATALOG)
    lock = make_lock(make_plan(spec), content={"code": "a" * 64, "web": "b" * 64})
    assert check_lock(lock, spec, content={"code": "a" * 64, "web": "b" * 64})
    error = changed(lock, spec, content={"code": "a" * 64, "web": "c" * 64})
    assert (error.code, error.facts["domain"]) == ("catalog-changed", "web")


def test_a_store_in_place_of_a_table_with_its_figures_is_another_lock_and_the_reverse(write_spec):
    spec, content = write_spec(*PHASES, catalog=CATALOG), {"code": "a" * 64, "math": "b" * 64, "web": "c" * 64}
    of_table, of_store = make_lock(make_plan(spec)), make_lock(make_plan(spec), content=content)
    assert of_table.digest != of_store.digest
    error = changed(of_table, spec, content=content)
    assert (error.code, error.facts["locked"], error.facts["now"]) == ("catalog-changed", None, "a" * 64)
    assert "does not fix the text of domain 'code'" in error.message
    error = changed(of_store, spec, content={name: held for name, held in content.items() if name != "math"})
    assert (error.facts["domain"], error.facts["locked"], error.facts["now"]) == ("math", "b" * 64, None)


def test_a_lock_made_with_a_store_is_what_its_tables_give_where_no_store_is_at_hand(write_spec):
    spec, content = write_spec(*PHASES, catalog=CATALOG), {"code": "a" * 64, "math": "b" * 64, "web": "c" * 64}
    lock = make_lock(make_plan(spec), content=content)
    assert make_lock(check_lock(lock, spec), content=content) == lock


def test_text_of_domains_that_no_run_draws_from_is_no_part_of_the_check(write_spec):
    spec = write_spec(*PHASES, catalog=CATALOG + "web@validation,50,w\n")
    content = {"code": "a" * 64, "math": "b" * 64, "web": "c" * 64}
    lock = make_lock(make_plan(spec), content=content | {"web@validation": "d" * 64})
    check_lock(lock, spec, content=content | {"web@validation": "e" * 64, "elsewhere": "f" * 64})


def test_a_new_domain_changes_no_other_domains_order(write_spec):
    before = make_plan(
        write_spec("{phase: p, weights: {code: 0.3, web: 0.7}}", catalog="domain,tokens\ncode,9K\nweb,9K\n")
    )
    catalog = "domain,tokens\nbooks,5K\ncode,9K\nweb,9K\n"
    after = make_plan(write_spec("{phase: p, weights: {code: 0.3, web: 0.7, books: 0}}", catalog=catalog))
    a, b = before.schedule.rows(0, 800), after.schedule.rows(0, 800)
    assert a.sequence.tolist() == b.sequence.tolist()
    assert [before.schedule.names[d] for d in a.domain] == [after.schedule.names[d] for d in b.domain]


def test_no_lock_is_made_of_a_plan_with_an_error(write_spec):
    plan = make_plan(write_spec(*PHASES, catalog=CATALOG, max_epochs="0.5", budget="{steps: 100, tokens: 1B}"))
    with pytest.raises(PlanError) as caught:
        make_lock(plan)
    assert caught.value.code == "budget-mismatch"
    assert len(caught.value.facts["findings"]) == len(plan.refusals) > 1
