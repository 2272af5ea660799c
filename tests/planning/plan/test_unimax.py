"""UniMax: as even as can be, with no domain above so many epochs; whole tokens that sum exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.errors import SpecError
from mixture.planning.plan import check_lock, make_lock, make_plan
from mixture.planning.plan.weights.unimax import capped
from mixture.planning.spec import FindingCode

CELLS = "domain,cluster,tokens\nbooks,b,1000\ncode,a,2000\nnews,b,3000\nweb,a,100000\n"


def shares(plan, phase=0):
    return {d.name: s for d, s in zip(plan.domains, plan.phases[phase].shares, strict=True)}


def brute_force(total, caps):
    """Of all whole allocations within the caps the most even one: the least sum of squares, then the earliest more."""
    able = [one for one in product(*(range(cap + 1) for cap in caps)) if sum(one) == total]
    least = min(sum(x * x for x in one) for one in able)
    return max(one for one in able if sum(x * x for x in one) == least)


@given(st.data())
def test_it_is_what_trying_all_whole_allocations_finds(data):
    caps = data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    total = data.draw(st.integers(0, sum(caps)))
    assert tuple(capped(total, caps)) == brute_force(total, caps)


def filled(total, caps):
    """The level of water that fills vessels of these sizes with so much, exact: each has the level, or is full."""
    left, remaining = Fraction(total), sorted(caps)
    while remaining:
        level = left / len(remaining)
        if remaining[0] >= level:
            return level
        left -= remaining.pop(0)
    return Fraction(max(caps, default=0))


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=40), st.data())
def test_it_is_water_filling_to_less_than_a_token(caps, data):
    total = data.draw(st.integers(0, sum(caps)))
    level, got = filled(total, caps), capped(total, caps)
    assert sum(got) == total
    for n, cap in zip(got, caps, strict=True):
        assert n <= cap
        assert abs(n - min(Fraction(cap), level)) < 1
    free = [n for n, cap in zip(got, caps, strict=True) if n < cap]
    assert free == sorted(free, reverse=True)  # of those without their cap, the earlier have the one more


def test_small_domains_have_their_cap_and_the_others_the_same(write_spec):
    # 100 steps of 8 sequences of 16 tokens: 12,800. Two epochs of books and code are 2,000 and 4,000.
    plan = make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 2}}}", catalog=CELLS))
    part = {"books": 2000, "code": 3600, "news": 3600, "web": 3600}
    assert shares(plan) == {name: Fraction(n, 12800) for name, n in part.items()}


def test_epochs_need_not_be_whole(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 0.5005}}}", catalog=CELLS))
    assert shares(plan)["books"] == Fraction(500, 12800)
    assert shares(plan)["code"] == Fraction(1001, 12800)
    assert shares(plan)["news"] == Fraction(1501, 12800)


def test_what_does_not_divide_goes_to_the_earlier(write_spec):
    plan = make_plan(
        write_spec("{phase: p, weights: {unimax: {max_epochs: 1}}}", catalog="domain,tokens\na,9999\nb,9999\nc,9999\n")
    )
    assert [share * 12800 for share in shares(plan).values()] == [4267, 4267, 4266]


def test_it_is_of_the_phase_alone(write_spec):
    plan = make_plan(
        write_spec(
            "{phase: p, until: 50%, weights: {unimax: {max_epochs: 1}}}",
            "{phase: q, weights: {unimax: {max_epochs: 1}}}",
            catalog=CELLS,
        )
    )
    assert shares(plan, 0) == shares(plan, 1)
    assert shares(plan)["books"] == Fraction(1000, 6400)
    assert shares(plan)["code"] == Fraction(1800, 6400)


def test_a_group_divides_its_own_part_of_the_phase(write_spec):
    groups = (
        "[{where: \"cluster = 'b'\", share: 25%, within: {unimax: {max_epochs: 1}}},"
        " {where: \"cluster = 'a'\", share: 75%, within: uniform}]"
    )
    plan = make_plan(write_spec(f"{{phase: p, weights: {groups}}}", catalog=CELLS))
    assert shares(plan)["books"] == Fraction(1, 4) * Fraction(1000, 3200)
    assert shares(plan)["news"] == Fraction(1, 4) * Fraction(2200, 3200)


def test_more_tokens_than_all_caps_hold_is_refused_with_both_figures_and_what_would_do(write_spec):
    catalog = "domain,tokens\na,1000\nb,3000\n"
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 3}}}", catalog=catalog))
    error = caught.value
    assert (error.code, error.place.path) == ("unimax-exhausted", "phases[0].weights.unimax.max_epochs")
    assert (error.place.line, error.place.column) == (7, 35)
    assert (error.facts["tokens"], error.facts["most"]) == (12800, 12000)
    assert "12,800" in str(error)
    assert "12,000" in str(error)
    assert error.hint == "max_epochs of 3.2, or fewer tokens"
    make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 3.2}}}", catalog=catalog))


def test_the_epochs_that_the_error_names_are_enough(write_spec):
    catalog = "domain,tokens\na,1000\nb,3001\nc,777\n"
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 1}}}", catalog=catalog))
    least = caught.value.hint.split()[2].rstrip(",")
    make_plan(write_spec(f"{{phase: p, weights: {{unimax: {{max_epochs: {least}}}}}}}", catalog=catalog))


def test_domains_without_tokens_have_none(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 2}}}", catalog=CELLS + "zero,a,0\n"))
    assert shares(plan)["zero"] == 0
    assert not plan.refusals
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 2}}}", catalog="domain,tokens\na,0\n"))
    assert caught.value.code == "unimax-exhausted"


def test_where_whole_sequences_alone_go_over_a_cap_of_the_run_it_is_a_note(write_spec):
    odd = CELLS.replace("1000\n", "1013\n")  # two epochs are 126.6 sequences
    rule = "{phase: p, weights: {unimax: {max_epochs: 2}}}"
    plans = [make_plan(write_spec(rule, catalog=odd, max_epochs="2", seed=str(seed))) for seed in range(8)]
    assert not any(plan.refusals for plan in plans)
    over = [one for plan in plans for one in plan.findings if one.code is FindingCode.EPOCHS_ROUNDED]
    assert over
    assert all(tokens < 4 * 16 for finding in over for tokens in finding.facts["domains"].values())
    room = make_plan(write_spec(rule.replace("2", "1.9"), catalog=odd, max_epochs="2"))
    assert FindingCode.EPOCHS_ROUNDED not in [finding.code for finding in room.findings]
    uneven = make_plan(write_spec("{phase: p, weights: uniform}", catalog=odd, max_epochs="2"))
    (finding,) = [finding for finding in uneven.findings if finding.code is FindingCode.OVER_EPOCHS]
    assert finding.hint == "lower its weight, raise `max_epochs`, or find more of it"


def test_the_order_of_rows_does_not_matter(write_spec):
    rows = CELLS.strip().splitlines()
    turned = "\n".join([rows[0], *reversed(rows[1:])]) + "\n"
    spec = "{phase: p, weights: {unimax: {max_epochs: 2}}}"
    plans = [make_plan(write_spec(spec, catalog=one)) for one in (CELLS, turned)]
    assert plans[0].data == plans[1].data


def test_a_replay_has_the_same_shares_and_another_limit_is_another_lock(write_spec):
    spec = write_spec(
        "{phase: p, until: 75%, weights: {unimax: {max_epochs: 2}}}",
        "{phase: q, weights: [{replay: p, share: 100%}]}",
        catalog=CELLS,
    )
    plan = make_plan(spec)
    assert shares(plan, 0) == shares(plan, 1)
    lock = make_lock(plan)
    check_lock(lock, spec)
    with pytest.raises(Exception, match="the weight of 'books' in phase 'p'") as caught:
        check_lock(
            lock,
            write_spec(
                "{phase: p, until: 75%, weights: {unimax: {max_epochs: 1}}}",
                "{phase: q, weights: [{replay: p, share: 100%}]}",
                catalog=CELLS,
            ),
        )
    assert caught.value.code == "spec-changed"


def divided(plan):
    (note,) = [finding for finding in plan.findings if finding.code is FindingCode.UNIMAX_DIVIDED]
    return note


def test_a_note_says_which_domains_have_their_epochs_and_what_the_others_have(write_spec):
    note = divided(make_plan(write_spec("{phase: p, weights: {unimax: {max_epochs: 2}}}", catalog=CELLS)))
    assert (note.level.value, note.place.path) == ("note", "phases[0].weights")
    assert note.message == (
        "unimax in phase 'p' divides 12,800 tokens: 2 epochs of 'books', 3,600 tokens of each of 3 others"
    )
    assert note.facts["divided"] == [
        {"tokens": 12800, "max_epochs": 2, "full": ["books"], "others": 3, "tokens_each": 3600}
    ]


def test_the_note_has_each_group_that_is_divided(write_spec):
    groups = (
        "[{where: \"cluster = 'b'\", share: 25%, within: {unimax: {max_epochs: 1}}},"
        " {where: \"cluster = 'a'\", share: 75%, within: {unimax: {max_epochs: 9}}}]"
    )
    note = divided(make_plan(write_spec(f"{{phase: p, weights: {groups}}}", catalog=CELLS)))
    words = "3,200 tokens: 1 epoch of 'books', 2,200 tokens of each of 1 other; 9,600 tokens: 4,800 tokens of each of"
    assert words in note.message
