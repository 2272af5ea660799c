"""Transitions: a phase's first steps in stairs from the weights of the phase before."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.errors import SpecError
from mixture.lock import Amendment, read_lock
from mixture.planning.amend import amend
from mixture.planning.compare import diff
from mixture.planning.explain import explain, explanation_json
from mixture.planning.explain.words import phase_words
from mixture.planning.ladder import make_ladder, parse_rung, write_rung
from mixture.planning.plan import check_lock, fraction_of, make_lock, make_plan, plan_json
from mixture.planning.spec import FindingCode, read_spec
from mixture.schedule import WHOLE, apportion

FIRST = "{phase: first, until: step 40, weights: {code: 0.9, web: 0.1}}"


def second(transition="transition: {steps: 10, parts: 3}", weights="{code: 0.1, web: 0.9}"):
    return f"{{phase: second, weights: {weights}, {transition}}}"


def stairs(plan):
    """The first step and the share of `code` of every segment."""
    return [(one.first_step, Fraction(one.weights[0], WHOLE)) for one in plan.data.segments]


def codes(plan):
    return [finding.code for finding in plan.findings]


def test_stairs_end_at_their_part_of_the_steps_rounded_half_up_and_go_evenly_to_the_new_weights(write_spec):
    plan = make_plan(write_spec(FIRST, second()))
    assert stairs(plan) == [
        (0, Fraction(9, 10)),
        (40, Fraction(7, 10)),  # 10/3 is 3, 20/3 is 7
        (43, Fraction(5, 10)),
        (47, Fraction(3, 10)),
        (50, Fraction(1, 10)),
    ]
    assert [(phase.name, phase.laid.first_step, phase.laid.steps) for phase in plan.phases] == [
        ("first", 0, 40),
        ("second", 40, 60),
    ]


def test_one_part_is_half_way_and_halves_of_steps_go_up(write_spec):
    plan = make_plan(write_spec(FIRST, second("transition: {steps: 5, parts: 2}")))
    assert [step for step, _ in stairs(plan)] == [0, 40, 43, 45]
    plan = make_plan(write_spec(FIRST, second("transition: {steps: 60, parts: 1}")))
    assert stairs(plan) == [(0, Fraction(9, 10)), (40, Fraction(1, 2))]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_stair_has_a_step_and_the_exact_weights_between(write_spec, data):
    steps = data.draw(st.integers(1, 60))
    parts = data.draw(st.integers(1, min(steps, 12)))
    a, b = (data.draw(st.integers(0, 100)) for _ in range(2))
    first = f"{{phase: first, until: step 40, weights: {{code: {a}%, web: {100 - a}%}}}}"
    plan = make_plan(
        write_spec(first, second(f"transition: {{steps: {steps}, parts: {parts}}}", f"{{code: {b}%, web: {100 - b}%}}"))
    )
    old, new = Fraction(a, 100), Fraction(b, 100)
    weights = [old] * 40
    for j in range(1, parts + 1):
        share = old + (new - old) * Fraction(j, parts + 1)
        end = (2 * j * steps + parts) // (2 * parts)
        assert end > len(weights) - 40
        weights += [share] * (40 + end - len(weights))
    weights += [new] * (100 - len(weights))
    drawn = [one.weights for one in plan.data.segments for _ in range(one.steps)]
    assert drawn == [tuple(apportion([share, 1 - share], WHOLE)) for share in weights]
    assert plan.phases[1].shares[0] == sum(weights[40:]) / 60


def test_figures_are_of_what_is_drawn(write_spec):
    plan = make_plan(write_spec(FIRST, second("transition: {steps: 30, parts: 2}")))
    phase, counts = plan.phases[1], plan.schedule.counts
    assert list(phase.sequences) == (counts(100) - counts(40)).tolist()
    mean = (15 * Fraction(19, 30) + 15 * Fraction(11, 30) + 30 * Fraction(1, 10)) / 60
    assert phase.shares == (mean, 1 - mean)
    assert phase.final == (Fraction(1, 10), Fraction(9, 10))
    assert phase.changes == (55, 70)
    # Each of the three sets of weights begins anew, and is within 1.7 sequences at both of its ends.
    assert abs(phase.sequences[0] - mean * 480) < 3 * 3.4


def test_what_the_new_weights_leave_out_fades_and_counts_as_drawn(write_spec):
    catalog = "domain,tokens\ncode,1000000\nold,600\nweb,1000000\n"
    first = "{phase: first, until: step 40, weights: {code: 50%, old: 10%, web: 40%}}"
    plan = make_plan(write_spec(first, second("transition: {steps: 30, parts: 2}"), catalog=catalog, max_epochs="1"))
    assert plan.phases[1].sequences[1] > 0
    over = next(finding for finding in plan.findings if finding.code is FindingCode.OVER_EPOCHS)
    assert over.facts["tokens_drawn"] == plan.domains[1].tokens_drawn == plan.schedule.tokens(100).tolist()[1]
    # It is missing in the second phase's list, and for all that not a domain without a weight there.
    assert FindingCode.DOMAIN_MISSING_IN_PHASE in codes(plan)
    assert FindingCode.ZERO_WEIGHT not in codes(plan)
    zero = second("transition: {steps: 30, parts: 2}", "{code: 0.1, web: 0.9, old: 0}")
    plan = make_plan(write_spec(first, zero, catalog=catalog))
    assert FindingCode.ZERO_WEIGHT not in codes(plan)
    assert FindingCode.DOMAIN_MISSING_IN_PHASE not in codes(plan)


def test_a_domain_too_small_for_the_new_length_is_refused_though_only_the_stairs_draw_it(write_spec):
    catalog = "domain,tokens\ncode,1000000\nold,20\nweb,1000000\n"
    first = "{phase: first, until: step 40, weights: {code: 50%, old: 10%, web: 40%}}"
    longer = second("transition: {steps: 30, parts: 2}, sequence_length: 32")
    found = {finding.code: finding for finding in make_plan(write_spec(first, longer, catalog=catalog)).findings}
    small = found[FindingCode.DOMAIN_TOO_SMALL]
    assert small.facts["phases"] == ["second"]
    assert small.place.path == "phases[1].transition"


def test_a_replay_has_the_weights_that_a_transition_leads_to(write_spec):
    last = "{phase: last, weights: [{replay: second, share: 100%}]}"
    middle = "{phase: second, until: step 70, weights: {code: 0.1, web: 0.9}, transition: {steps: 30, parts: 2}}"
    plan = make_plan(write_spec(FIRST, middle, last))
    assert plan.phases[2].shares == (Fraction(1, 10), Fraction(9, 10))


def test_a_transition_goes_from_the_weights_that_the_phase_before_leads_to(write_spec):
    middle = "{phase: second, until: step 70, weights: {code: 0.1, web: 0.9}, transition: {steps: 30, parts: 1}}"
    last = "{phase: last, weights: {code: 0.5, web: 0.5}, transition: {steps: 10, parts: 1}}"
    plan = make_plan(write_spec(FIRST, middle, last))
    assert stairs(plan) == [(0, Fraction(9, 10)), (40, Fraction(1, 2)), (70, Fraction(3, 10)), (80, Fraction(1, 2))]


@pytest.mark.parametrize(
    ("transition", "code", "path", "facts"),
    [
        ("transition: {steps: 61, parts: 2}", "transition-too-long", "phases[1].transition.steps", {"most": 60}),
        ("transition: {steps: 3, parts: 4}", "transition-parts", "phases[1].transition", {"steps": 3, "parts": 4}),
        ("transition: {steps: 3}", "missing-key", "phases[1].transition", {}),
        ("transition: {steps: 3, parts: 1001}", "out-of-range", "phases[1].transition.parts", {}),
        ("transition: {steps: 30%, parts: 2}", "wrong-unit", "phases[1].transition.steps", {}),
        ("transition: {steps: 0, parts: 1}", "out-of-range", "phases[1].transition.steps", {}),
        ("transition: 4", "not-a-mapping", "phases[1].transition", {}),
    ],
)
def test_a_transition_that_can_not_be_is_refused_at_its_place(write_spec, transition, code, path, facts):
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(FIRST, second(transition)))
    error = getattr(caught.value, "errors", [caught.value])[0]
    assert (error.code, error.place.path) == (code, path)
    assert error.place.line == 8
    assert facts.items() <= error.facts.items()


def test_the_first_phase_has_none(write_spec):
    with pytest.raises(SpecError, match="no phase before it") as caught:
        write_spec("{phase: first, until: 50%, weights: uniform, transition: {steps: 2, parts: 1}}", second())
    assert (caught.value.code, caught.value.place.path) == ("transition-first", "phases[0].transition")
    assert [error.code for error in caught.value.errors] == ["transition-first"]


def test_nor_has_one_after_phases_without_a_step(write_spec):
    tiny = "{phase: first, until: 0.1%, weights: uniform}"
    with pytest.raises(SpecError, match="no phase before it has a step") as caught:
        make_plan(write_spec(tiny, second()))
    assert caught.value.code == "transition-first"


def test_a_lock_of_it_is_checked_and_another_transition_is_seen(write_spec):
    spec = write_spec(FIRST, second())
    lock = make_lock(make_plan(spec))
    assert [(one.name, one.steps) for one in lock.phases] == [("first", 40), ("second", 60)]
    check_lock(lock, spec)
    for other, words in [
        (second("transition: {steps: 11, parts: 3}"), "the list of steps at which weights change in phase 'second'"),
        (second("transition: {steps: 10, parts: 2}"), "the list of steps at which weights change in phase 'second'"),
        (second(weights="{code: 0.2, web: 0.8}"), "the weight of 'code' in phase 'second' is 10%"),
    ]:
        with pytest.raises(Exception, match=words) as caught:
            check_lock(lock, write_spec(FIRST, other))
        assert caught.value.code == "spec-changed"
    with pytest.raises(Exception, match="the list of steps at which weights change in phase 'second' is 43, 47, 50"):
        check_lock(lock, write_spec(FIRST, "{phase: second, weights: {code: 0.1, web: 0.9}}"))


@pytest.mark.parametrize("step", [20, 40, 42, 43, 45, 50, 70])
def test_an_amendment_with_the_same_spec_reads_the_same_run(write_spec, step):
    spec = write_spec(FIRST, second())
    lock = make_lock(make_plan(spec))
    plan = make_plan(spec, amends=Amendment(lock, step))
    assert plan.data == lock.data
    amended = make_lock(plan)
    assert amended.phases == lock.phases
    assert plan.phases[1].changes == (43, 47, 50)
    whole = make_plan(spec)
    for phase, as_planned in zip(plan.phases, whole.phases, strict=True):
        assert phase.sequences == as_planned.sequences
        assert all(abs(a - b) < Fraction(1, 10**14) for a, b in zip(phase.shares, as_planned.shares, strict=True))
    check_lock(amended, spec)


def test_an_amendment_inside_goes_on_with_the_new_specs_stairs_and_history_holds(write_spec):
    lock = make_lock(make_plan(write_spec(FIRST, second())))
    spec = write_spec(FIRST, second(weights="{code: 0.5, web: 0.5}"))
    amended = make_lock(make_plan(spec, amends=Amendment(lock, 45)))
    shares = [(one.first_step, Fraction(one.weights[0], WHOLE)) for one in amended.data.segments]
    assert shares[:3] == [(0, Fraction(9, 10)), (40, Fraction(7, 10)), (43, Fraction(5, 10))]
    assert shares[3:] == [(45, Fraction(7, 10)), (47, Fraction(6, 10)), (50, Fraction(5, 10))]
    assert amended.schedule().history(45) == lock.schedule().history(45)
    assert [one.name for one in amended.phases] == ["first", "second", "second@45"]
    check_lock(amended, spec)


def test_an_amendment_by_weights_inside_ends_the_stairs(write_spec):
    lock = make_lock(make_plan(write_spec(FIRST, second())))
    amended = amend(lock, 44, {"code": "0.25", "web": "0.75"})
    assert [(one.first_step, one.weights[0] * 100 // WHOLE) for one in amended.data.segments][-2:] == [
        (43, 50),
        (44, 25),
    ]
    assert amended.data.steps == 100
    assert [one.name for one in amended.phases] == ["first", "second", "second@44"]


def test_a_ladder_scales_the_steps_of_a_transition_with_its_phase(write_spec, tmp_path):
    spec = write_spec(FIRST, second("transition: {steps: 30, parts: 3}"), budget="100 steps")
    whole = make_plan(spec)
    rungs = make_ladder(spec, [parse_rung(f"{whole.tokens // 2}:8"), parse_rung(f"{whole.tokens // 25}:8")])
    assert [one.first_step for one in rungs[0].plan.data.segments] == [0, 20, 25, 30, 35]
    # Two steps in all are half of a transition's three: as many stairs as there are steps.
    small = rungs[1].plan
    assert small.steps == 4
    assert small.spec.phases[1].transition.steps == 1
    assert small.spec.phases[1].transition.parts == 1


def test_a_rung_of_an_unimax_has_the_shares_of_the_full_run(write_spec, tmp_path):
    catalog = "domain,tokens\ncode,500\nmath,0\nweb,1000000\n"
    spec = write_spec(FIRST, second("transition: {steps: 30, parts: 3}", "{unimax: {max_epochs: 4}}"), catalog=catalog)
    whole = make_plan(spec)
    assert whole.phases[1].final == (Fraction(2000, 7680), 0, Fraction(5680, 7680))
    (rung,) = make_ladder(spec, [parse_rung(f"{whole.tokens // 2}:8")])
    # Its own 3,840 tokens would be divided evenly: no cap is reached.
    assert abs(rung.plan.phases[1].final[0] - Fraction(2000, 7680)) < Fraction(1, 10**15)
    spec_file, lock_file = write_rung(rung, tmp_path / "rungs")
    check_lock(read_lock(lock_file), read_spec(spec_file))
    assert [one.first_step for one in rung.plan.data.segments] == [0, 20, 25, 30, 35]


def test_a_diff_says_how_a_run_without_the_transition_differs(write_spec):
    plain = make_plan(write_spec(FIRST, "{phase: second, weights: {code: 0.1, web: 0.9}}"))
    with_stairs = make_plan(write_spec(FIRST, second("transition: {steps: 30, parts: 2}")))
    found = diff(plain, with_stairs)
    assert found.agreement.steps == 40
    assert found.b.stretches["second"].tokens["code"] == with_stairs.phases[1].tokens(0)
    assert [pair.name for pair in found.phases if pair.distance and pair.distance.half_l1] == ["second"]


def test_bounds_of_stairs_are_the_same_from_any_row_order(write_spec):
    rows = ["code,1000000", "web,1000000"]
    plans = [
        make_plan(write_spec(FIRST, second(), catalog="\n".join(["domain,tokens", *order]) + "\n"))
        for order in (rows, rows[::-1])
    ]
    assert plans[0].data == plans[1].data
    assert all(a.first_step < b.first_step for a, b in pairwise(plans[0].data.segments))


def test_the_plan_as_json_has_the_mean_and_the_weight_at_the_end(write_spec):
    plan = make_plan(write_spec(FIRST, second("transition: {steps: 30, parts: 2}")))
    before, after = plan_json(plan)["phases"]
    assert "weights_change" not in before
    assert after["weights_change"] == [55, 70]
    code = after["domains"][0]
    assert fraction_of(code["weight_at_end"]) == Fraction(1, 10)
    assert fraction_of(code["weight"]) == plan.phases[1].shares[0]


def test_an_explained_lock_says_where_weights_change_inside_of_a_phase(write_spec):
    found = explain(make_lock(make_plan(write_spec(FIRST, second()))))
    assert [phase.weights_change for phase in found.phases] == [(), (43, 47, 50)]
    assert phase_words(found.phases[1], repr).endswith("Its weights change at steps 43, 47 and 50.")
    assert explanation_json(found)["phases"][1]["weights_change"] == [43, 47, 50]
