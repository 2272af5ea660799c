"""Two runs compared: what moved, by domain, by group and by phase, and how far apart they are."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from mixture.errors import CatalogError
from mixture.lock import Mask, parting_step
from mixture.planning.amend import amend
from mixture.planning.catalog import read_catalog
from mixture.planning.compare import Parting, Resized, diff, diff_json, side_of
from mixture.planning.compare.first_difference import TakenDown
from mixture.planning.compare.words import remarks
from mixture.planning.plan import make_lock, make_plan
from mixture.schedule import Schedule

CATALOG = "domain,tokens,cluster\nbooks,300000,prose\ncode,100000,code\nnews,50000,prose\nweb,1000000,\n"
BEFORE = (
    "{phase: early, share: 60%, weights: {books: 10%, code: 30%, news: 10%, web: 50%}}",
    "{phase: late, weights: {books: 50%, code: 50%}}",
)
AFTER = (
    "{phase: early, share: 60%, weights: {books: 10%, code: 30%, news: 10%, web: 50%}}",
    "{phase: late, weights: {books: 25%, code: 50%, web: 25%}}",
)


@pytest.fixture
def plan(write_spec):
    """Makes a plan of phases, a catalog and other keys."""

    def make(*phases, catalog=CATALOG, **keys):
        return make_plan(
            write_spec(*phases, catalog=catalog, **{"batch": "40 sequences", "accept": "[over-epochs]"} | keys)
        )

    return make


def by_name(found):
    return {move.name: move for move in found.moves}


def test_a_run_does_not_differ_from_itself_nor_a_plan_from_its_lock(plan):
    one = plan(*BEFORE)
    for other in (one, make_lock(one)):
        found = diff(one, other)
        assert found.is_same
        assert found.agreement.is_whole
        assert found.agreement.to_end
        assert found.agreement.steps == 100
        assert found.agreement.parts_by == ()
        assert {pair.distance.half_l1 for pair in found.phases} == {found.distance.half_l1} == {0}
        assert {pair.distance.hellinger for pair in found.phases} == {found.distance.hellinger} == {0}
        assert not any(move.is_change for move in found.moves)
        assert [move.name for move in found.moves] == ["books", "code", "news", "web"]


@pytest.mark.parametrize("by", [None, "cluster"])
def test_tokens_by_domain_or_group_sum_to_the_runs(plan, by):
    a, b = plan(*BEFORE), plan(*AFTER, budget="150 steps")
    found = diff(a, b, by=by)
    assert sum(move.a.tokens for move in found.moves) == a.tokens
    assert sum(move.b.tokens for move in found.moves) == b.tokens
    assert sum(move.a.weight for move in found.moves) == sum(move.b.weight for move in found.moves) == 1
    assert sorted(name for move in found.moves for name in move.domains) == ["books", "code", "news", "web"]


def test_figures_of_a_domain_are_those_of_the_plans(plan):
    a, b = plan(*BEFORE), plan(*AFTER)
    moves = by_name(diff(a, b))
    for one, other in zip(a.domains, b.domains, strict=True):
        move = moves[one.name]
        assert (move.a.tokens, move.a.epochs, move.a.size) == (one.tokens_drawn, one.epochs, one.tokens)
        assert (move.b.tokens, move.b.epochs) == (other.tokens_drawn, other.epochs)
        assert move.tokens_change == other.tokens_drawn - one.tokens_drawn
        assert move.epochs_change == other.epochs - one.epochs
        assert move.weight_change == Fraction(other.tokens_drawn, b.tokens) - Fraction(one.tokens_drawn, a.tokens)


def test_what_moved_most_comes_first(plan):
    found = diff(plan(*BEFORE), plan(*AFTER))
    assert [move.name for move in found.moves] == ["books", "web", "code", "news"]
    assert [round(float(move.weight_change), 2) for move in found.moves] == [-0.1, 0.1, 0, 0]
    sizes = [abs(move.weight_change) for move in found.moves]
    assert sizes == sorted(sizes, reverse=True)


def test_distances_are_those_of_the_formulas(plan):
    found = diff(plan(*BEFORE), plan(*AFTER))
    early, late = found.phases
    assert (early.name, early.distance.half_l1, early.distance.hellinger) == ("early", 0, 0)
    assert (late.name, late.distance.half_l1) == ("late", Fraction(1, 4))
    alike = math.sqrt(0.5 * 0.25) + math.sqrt(0.5 * 0.5)
    assert float(late.distance.hellinger) == pytest.approx(math.sqrt(1 - alike), rel=1e-12)
    assert found.distance.half_l1 == sum(abs(move.weight_change) for move in found.moves) / 2


def test_the_same_weights_are_at_no_distance_whatever_the_length_of_the_phase(plan):
    a, b = plan(*BEFORE), plan(*BEFORE, budget="137 steps", batch="24 sequences")
    by_name = {pair.name: pair for pair in diff(a, b).phases}
    assert by_name["early"].distance.half_l1 == 0
    assert by_name["late → early"].distance.half_l1 == Fraction(6, 10)
    a, b = plan(*BEFORE), plan(*BEFORE, budget="1000 steps")
    (late,) = (pair for pair in diff(a, b).phases if pair.name == "late" and pair.a)
    assert (late.a.first_step, late.b.first_step, late.distance.half_l1) == (60, 600, 0), "which share no step"


def test_phases_are_compared_by_the_steps_that_they_share(plan):
    renamed = plan(BEFORE[0].replace("early", "first").replace("60%", "80%"), BEFORE[1], budget="120 steps")
    found = diff(plan(*BEFORE), renamed)
    shown = [(pair.name, pair.first_step, (pair.a or pair.b).steps, pair.distance) for pair in found.phases]
    assert [one[:3] for one in shown] == [
        ("early → first", 0, 60),
        ("late → first", 60, 36),
        ("late", 96, 4),
        ("late", 100, 20),
    ]
    assert [one[3] and one[3].half_l1 for one in shown] == [0, Fraction(6, 10), 0, None]
    for side, stretches in ((found.a, [p.a for p in found.phases]), (found.b, [p.b for p in found.phases])):
        assert sum(sum(one.tokens.values()) for one in stretches if one) == side.run.whole
    assert not found.is_same
    assert diff(plan(*BEFORE), plan(BEFORE[0].replace("early", "first"), BEFORE[1])).agreement.is_whole


def test_a_domain_of_one_side_alone_counts_as_nothing_on_the_other(plan):
    fewer = CATALOG.replace("news,50000,prose\n", "")
    found = diff(plan(*BEFORE), plan("{phase: late, weights: {books: 50%, code: 50%}}", catalog=fewer))
    assert (found.only_a, found.only_b) == (("news",), ())
    news = by_name(found)["news"]
    assert news.b is None
    assert news.epochs_change is None
    assert (news.weight_change, news.tokens_change) == (-news.a.weight, -news.a.tokens)


def test_domains_of_other_sizes_are_named_with_both(plan):
    found = diff(plan(*BEFORE), plan(*BEFORE, catalog=CATALOG.replace("50000", "60000")))
    assert [(one.name, one.a, one.b) for one in found.resized] == [("news", 50000, 60000)]


def test_groups_have_the_sums_of_their_domains_and_those_without_a_value_are_one(plan):
    a, b = plan(*BEFORE), plan(*AFTER)
    groups, domains = by_name(diff(a, b, by="cluster")), by_name(diff(a, b))
    assert set(groups) == {"prose", "code", None}
    assert groups["prose"].domains == ("books", "news")
    assert groups["prose"].a.tokens == domains["books"].a.tokens + domains["news"].a.tokens
    assert groups["prose"].a.epochs == Fraction(groups["prose"].a.tokens, 350000)
    assert groups[None].b == domains["web"].b


def test_a_domain_in_another_group_counts_where_the_second_has_it_and_is_named(plan):
    a, b = plan(*BEFORE), plan(*BEFORE, catalog=CATALOG.replace("news,50000,prose", "news,50000,web"))
    found = diff(a, b, by="cluster")
    assert found.regrouped == ("news",)
    assert not any(move.is_change for move in found.moves)
    assert by_name(found)["web"].domains == ("news",)


def test_an_unknown_column_is_refused_with_the_nearest(plan):
    one = plan(*BEFORE)
    with pytest.raises(CatalogError, match=r"has no column 'clustr' \(did you mean 'cluster'\?\)") as caught:
        diff(one, one, by="clustr")
    assert caught.value.code == "unknown-column"


def test_a_lock_has_no_columns_until_it_is_given_a_table(plan, tmp_path):
    one = plan(*BEFORE)
    lock = make_lock(one)
    with pytest.raises(CatalogError, match="--catalog TABLE, catalog= in Python") as caught:
        diff(one, lock, by="cluster")
    assert caught.value.code == "no-catalog"
    given = side_of(lock, catalog=read_catalog(tmp_path / "catalog.csv"))
    assert len(diff(one, given, by="cluster").moves) == 3
    (tmp_path / "other.csv").write_text("domain,tokens,cluster\ncod,1,x\n")
    with pytest.raises(CatalogError) as caught:
        diff(one, side_of(lock, catalog=read_catalog(tmp_path / "other.csv")), by="cluster")
    assert caught.value.code == "unknown-domain"


def test_locks_that_fix_other_text_or_hide_other_text_are_not_the_same(plan):
    one = plan(*BEFORE)
    lock = make_lock(one, content={"news": "a" * 64, "web": "b" * 64})
    other = make_lock(one, content={"news": "a" * 64, "web": "c" * 64})
    assert diff(lock, other).retexted == ("web",)
    assert diff(lock, make_lock(one)).retexted == ()
    masked = replace(lock, masks=(Mask(10, "web", 0, 64),))
    for found in (diff(lock, other), diff(lock, masked)):
        assert found.agreement.is_whole
        assert not found.is_same
    assert diff(lock, other).agreement.resume_step == 0, "web was read from the first step on"
    found = diff(lock, masked).agreement
    assert (found.taken_down, found.resume_step) == (TakenDown(10, 0, 64), 10)
    assert (found.steps, parting_step(lock, masked)) == (100, 10)
    said = diff_json(diff(masked, lock))
    assert (said["masks_differ"], said["resume_step"], said["agreed_steps"]) == (True, 10, 100)
    assert said["taken_down"] == {"first_step": 10, "a_tokens": 64, "b_tokens": 0}


def test_text_that_is_first_read_later_hinders_no_checkpoint_of_before(plan):
    one = plan(BEFORE[1].replace("late", "start, steps: 30"), BEFORE[0].replace("share: 60%, ", ""))
    locks = [make_lock(one, content={"web": digit * 64}) for digit in "ab"]
    found = diff(*locks)
    assert found.retexted == ("web",)
    assert found.agreement.resume_step == 30


def test_pools_that_differ_are_no_tokens_that_differ(plan):
    lock = make_lock(plan(*BEFORE))
    domains = tuple(
        replace(one, pool_tokens=one.tokens // 2) if one.name == "web" else one for one in lock.data.domains
    )
    data = replace(lock.data, domains=domains)
    pooled = replace(lock, data=data, _schedule=Schedule(data))
    found = diff(lock, pooled)
    assert (found.resized, found.repooled) == ((), (Resized("web", None, 500000),))
    assert found.agreement.parts_by == (Parting.POOLS,)
    assert diff_json(found)["repooled"] == [{"domain": "web", "a": None, "b": 500000}]
    assert list(remarks(found, repr)) == ["Other pools of 1 domain: 'web' whole → 500,000."]


def test_what_rounding_moves_is_told_from_what_a_change_moves(plan):
    big = {"catalog": "domain,tokens\na,900000000\nb,900000000\nc,900000000\n", "batch": "100000 sequences"}
    one = plan("{phase: all, weights: {a: 30%, b: 30%, c: 40%}}", **big)
    found = diff(one, plan("{phase: all, weights: {a: 30.00002%, b: 30%, c: 39.99998%}}", **big))
    assert ([move.name for move in found.moved], {move.name for move in found.rounded}) == ([], {"a", "c"})
    assert {one["domain"] for one in diff_json(found)["moves"] if one["rounding"]} == {"a", "c"}
    found = diff(one, plan("{phase: all, weights: {a: 30.0002%, b: 30%, c: 39.9998%}}", **big))
    assert ({move.name for move in found.moved}, found.rounded) == ({"a", "c"}, ())
    longer = diff(one, plan("{phase: all, weights: {a: 30%, b: 30%, c: 40%}}", budget="101 steps", **big))
    assert len(longer.moved) == 3, "more tokens are no rounding"


def test_a_domain_that_moves_in_phases_and_not_in_the_run_has_moved(plan):
    halves = (
        "{phase: one, share: 50%, weights: {books: 20%, code: 80%}}",
        "{phase: two, weights: {books: 60%, code: 40%}}",
    )
    swapped = (halves[1].replace("two,", "one, share: 50%,"), halves[0].replace("one, share: 50%,", "two,"))
    found = diff(plan(*halves), plan(*swapped))
    assert {move.name for move in found.moved} == {"books", "code"}
    assert [pair.distance.half_l1 for pair in found.phases] == [Fraction(4, 10)] * 2


def test_amendments_of_one_side_alone_are_said_with_their_reasons(plan):
    lock = make_lock(plan(*BEFORE))
    first = amend(lock, 70, skip_steps=1, reason="a spike")
    second = amend(first, 80, skip_steps=1)
    assert "Amendments of B alone: at step 70, 'a spike'; at step 80." in list(remarks(diff(lock, second), repr))
    assert "Amendments of A alone: at step 80." in list(remarks(diff(second, first), repr))
    assert diff_json(diff(lock, second))["b"]["amendments"] == [
        {"step": 70, "lock": lock.digest, "reason": "a spike"},
        {"step": 80, "lock": first.digest, "reason": None},
    ]


def test_a_spec_that_can_not_be_locked_is_compared_and_said_to_be_so(plan):
    refused = plan(*AFTER, accept="[]", max_epochs="0.1")
    found = diff(plan(*BEFORE), refused)
    assert "over-epochs" in diff_json(found)["b"]["refusals"]
    assert by_name(found)["books"].b.tokens == refused.domains[0].tokens_drawn


def test_a_phase_of_several_segments_has_their_mean_by_tokens(plan):
    lock = make_lock(plan(*BEFORE))
    early, late = lock.phases
    whole = replace(lock, phases=(replace(early, name="all", steps=early.steps + late.steps),))
    found = diff(whole, whole)
    (pair,) = found.phases
    assert pair.a.weight(["books"]) == Fraction(6, 10) * Fraction(1, 10) + Fraction(4, 10) * Fraction(1, 2)
    assert sum(pair.a.tokens.values()) == found.a.run.whole


def test_the_object_for_programs_has_exact_figures(plan):
    said = diff_json(diff(plan(*BEFORE), plan(*AFTER, sequence_length="32")))
    assert said["a"]["lengths"] == [{"first_step": 0, "sequence_length": 16}]
    assert said["b"]["lengths"] == [{"first_step": 0, "sequence_length": 32}]
    assert (said["agreed_steps"], said["parts_by"], said["same"]) == (0, ["length"], False)
    assert sum(move["b"]["tokens_drawn"] for move in said["moves"]) == said["b"]["tokens"] == 100 * 40 * 32
    books = next(move for move in said["moves"] if move["domain"] == "books")
    assert Fraction(books["weight_change"]["ratio"]) == Fraction(books["b"]["weight"]["ratio"]) - Fraction(
        books["a"]["weight"]["ratio"]
    )
    assert books["phases"][1] == {
        "phase": "late",
        "first_step": 60,
        "a": {"decimal": "0.5", "ratio": "1/2"},
        "b": {"decimal": "0.25", "ratio": "1/4"},
    }
    assert said["phases"][1]["half_l1"] == {"decimal": "0.25", "ratio": "1/4"}
    assert said["phases"][1]["hellinger"]["ratio"] is None


def test_an_amended_phase_is_compared_with_what_it_was(plan):
    lock = make_lock(plan(*BEFORE))
    amended = amend(lock, 70, {"books": Fraction(1, 4), "code": Fraction(3, 4)})
    found = diff(lock, amended)
    assert (found.agreement.steps, found.agreement.to_end) == (70, False)
    early, late, rest = found.phases
    assert (early.distance.half_l1, late.distance.half_l1) == (0, 0)
    assert (rest.name, rest.a.first_step, rest.b.first_step, rest.a.steps) == ("late → late@70", 70, 70, 30)
    assert rest.distance.half_l1 == Fraction(1, 4)
    assert (rest.a.weight(["books"]), rest.b.weight(["books"])) == (Fraction(1, 2), Fraction(1, 4))
    assert sum(late.a.tokens.values()) + sum(rest.a.tokens.values()) == 40 * 40 * 16
    assert by_name(found)["code"].weight_change > 0


def test_lengths_and_batches_are_said_from_their_first_steps_on(plan):
    longer = plan(BEFORE[0], BEFORE[1].replace("late,", "late, sequence_length: 32, batch: 20 sequences,"))
    said = diff_json(diff(plan(*BEFORE), longer))["b"]
    lengths = [(one["first_step"], one["sequence_length"]) for one in said["lengths"]]
    assert lengths == [(0, 16), (60, 32)]
    assert [(one["first_step"], one["sequences"]) for one in said["batches"]] == [(0, 40), (60, 20)]
