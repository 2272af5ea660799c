"""What a run is too short for: domains that it never reads, shares that it misses, and epochs that it just fills."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.errors import PlanError
from mixture.lock import Amendment, lock_text
from mixture.planning.ladder import make_ladder, parse_rung
from mixture.planning.plan import Level, Plan, check_lock, make_lock, make_plan, plan_json
from mixture.planning.plan.findings.domains import OFF_PART, _is_off
from mixture.planning.plan.planned import VISIBLE
from mixture.planning.spec import FindingCode

THIRTY = "domain,tokens\n" + "".join(f"d{i:02},{1_000_000}\n" for i in range(30))


def found(plan: Plan, code: FindingCode):
    return [finding for finding in plan.findings if finding.code is code]


# ---- never read -------------------------------------------------------------------------------------------------


def test_a_domain_that_the_run_never_reads_is_refused_with_the_steps_that_are_enough(write_spec):
    phase = "{phase: p, weights: {code: 0.9999, web: 0.0001}}"
    plan = make_plan(write_spec(phase))
    (error,) = plan.refusals
    assert error.code is FindingCode.NEVER_READ
    assert error.facts["domains"] == ["web"]
    assert error.facts["sequences_asked"] == {"web": Fraction(8, 100)}
    assert error.place.path == "phases[0].weights.web"
    assert not found(plan, FindingCode.DRAWS_NOTHING)
    with pytest.raises(PlanError, match="never reads 1 domain"):
        make_lock(plan)

    steps = error.facts["steps_needed"]
    assert f"{steps:,} steps of phase 'p', which has 100" in error.hint
    for seed in range(5):
        longer = make_plan(write_spec(phase, budget=f"{steps} steps", seed=str(seed)))
        assert not longer.refusals
        assert longer.domains[1].tokens_drawn


def test_many_domains_that_are_never_read_are_one_message_the_smallest_first(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=THIRTY, batch="1 sequence", budget="10 steps"))
    (error,) = plan.refusals
    assert len(error.facts["domains"]) == 20
    assert set(error.facts["domains"]) == {domain.name for domain in plan.domains if not domain.tokens_drawn}
    assert error.message.count("'d") == 5
    assert error.message.endswith("and 15 more")

    few = "{phase: p, weights: {code: 0.998, web: 0.0015, math: 0.0005}}"
    catalog = "domain,tokens\ncode,1000\nmath,1000\nweb,1000\n"
    (error,) = make_plan(write_spec(few, catalog=catalog, batch="1 sequence")).refusals
    assert error.facts["domains"] == ["math", "web"]


def test_one_phase_that_draws_nothing_of_what_another_reads_is_a_warning(write_spec):
    small, large = "{code: 0.9999, web: 0.0001}", "{code: 0.5, web: 0.5}"
    plan = make_plan(write_spec(f"{{phase: a, share: 50%, weights: {small}}}", f"{{phase: b, weights: {large}}}"))
    (warning,) = found(plan, FindingCode.DRAWS_NOTHING)
    assert warning.facts == {"phase": "a", "domains": ["web"]}
    assert warning.place.path == "phases[0].weights.web"
    assert not plan.refusals


def test_accepted_it_locks_and_stays_in_the_lock(write_spec):
    spec = write_spec("{phase: p, weights: {code: 0.9999, web: 0.0001}}", accept="[never-read]")
    lock = make_lock(make_plan(spec))
    assert [one.code for one in lock.accepted] == ["never-read"]
    assert lock.accepted[0].facts["sequences_asked"] == {"web": {"decimal": "0.08", "ratio": "2/25"}}
    check_lock(lock, spec)
    assert "never-read" in lock_text(lock)


def test_no_run_is_long_enough_for_a_share_below_what_weights_can_say(write_spec):
    shares = "{code: 0.9999999999999999, web: 0.0000000000000001}"
    (error,) = make_plan(write_spec(f"{{phase: p, weights: {shares}}}")).refusals
    assert error.code is FindingCode.NEVER_READ
    assert error.hint.startswith("no run is long enough")


def test_what_can_not_be_drawn_and_what_has_weight_0_is_not_said_to_be_never_read(write_spec):
    catalog = "domain,tokens\ncode,1000000\nshort,15\nweb,1000000\n"
    plan = make_plan(write_spec("{phase: p, weights: {code: 0.99999, short: 0.00001, web: 0}}", catalog=catalog))
    assert [finding.code for finding in plan.refusals] == ["domain-too-small"]


def test_what_was_read_before_an_amendment_is_read(write_spec):
    lock = make_lock(make_plan(write_spec("{phase: p, weights: {code: 0.5, web: 0.5}}")))
    small = write_spec("{phase: p, weights: {code: 0.9999, web: 0.0001}}")
    amended = make_plan(small, amends=Amendment(lock, 50))
    assert not amended.refusals
    assert [finding.facts["phase"] for finding in found(amended, FindingCode.DRAWS_NOTHING)] == ["p"]
    catalog = "domain,tokens\ncode,1000000\nnew,1000000\nweb,1000000\n"
    with_new = write_spec("{phase: p, weights: {code: 0.5, web: 0.4999, new: 0.0001}}", catalog=catalog)
    (error,) = make_plan(with_new, amends=Amendment(lock, 50)).refusals
    assert (error.code, error.facts["domains"]) == ("never-read", ["new"])


def test_a_rung_accepts_it_of_domains_that_the_full_run_reads_and_of_no_others(write_spec):
    catalog = "domain,tokens\ncode,10000000\nweb,10000000\n"
    rungs = [parse_rung("640_000"), parse_rung("640")]
    phase = "{phase: p, weights: {code: 0.9998, web: 0.0002}}"
    large, small = make_ladder(write_spec(phase, catalog=catalog, budget="10000 steps"), rungs)
    assert not found(large.plan, FindingCode.NEVER_READ)
    assert [one.code for one in small.lock().accepted] == ["never-read"]
    never = "{phase: p, weights: {code: 0.9999999, web: 0.0000001}}"
    for rung in make_ladder(write_spec(never, catalog=catalog, budget="10000 steps"), rungs):
        with pytest.raises(PlanError, match="never reads 1 domain"):
            rung.lock()


# ---- other shares -----------------------------------------------------------------------------------------------


def test_a_phase_that_is_too_short_for_shares_is_one_warning_with_the_farthest_first(write_spec):
    phases = "{phase: short, steps: 10, weights: uniform}", "{phase: long, weights: uniform}"
    plan = make_plan(write_spec(*phases, catalog=THIRTY, batch="1 sequence", budget="10000 steps"))
    (warning,) = found(plan, FindingCode.SHARE_DIFFERS)
    assert warning.level is Level.WARNING
    assert (warning.facts["phase"], warning.facts["sequences"]) == ("short", 10)
    read = {d.name: n for d, n in zip(plan.domains, plan.phases[0].sequences, strict=True) if n}
    assert set(warning.facts["domains"]) == set(read)
    assert warning.facts["weights_read"] == {name: Fraction(n, 10) for name, n in read.items()}
    assert warning.message.count("in place of 3.33%") == 5
    assert "has 10% in place of 3.33%" in warning.message


def test_it_is_found_from_a_tenth_of_the_weight_and_a_thousandth_of_the_phase_on(write_spec):
    def off(share: str, steps: int) -> bool:
        weights = f"{{code: {1 - float(share):.3f}, web: {share}}}"
        plan = make_plan(write_spec(f"{{phase: p, weights: {weights}}}", batch="1 sequence", budget=f"{steps} steps"))
        asked = Fraction(share)
        expected = abs(Fraction(plan.phases[0].sequences[1], steps) - asked)
        is_off = expected > asked / 10 and expected >= Fraction(1, 1000) and plan.phases[0].sequences[1] > 0
        names = [name for one in found(plan, FindingCode.SHARE_DIFFERS) for name in one.facts["domains"]]
        assert ("web" in names) is is_off
        return is_off

    results = [off(share, steps) for share in ("0.3", "0.14", "0.05", "0.003") for steps in (3, 10, 33, 390, 5000)]
    assert any(results)
    assert not all(results)


def test_the_share_that_is_read_is_in_the_plan_for_programs_and_shown_where_it_differs(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {code: 0.7, web: 0.3}}", batch="1 sequence", budget="3 steps"))
    own = plan.phases[0]
    assert sum(own.share_read(d) for d in range(2)) == 1
    rows = plan_json(plan)["phases"][0]["domains"]
    assert [row["weight_read"]["ratio"] for row in rows] == ["2/3", "1/3"]
    assert [own.differs(d) for d in range(2)] == [True, True]
    long = make_plan(write_spec("{phase: p, weights: {code: 0.7, web: 0.3}}", budget="1000 steps")).phases[0]
    assert [long.differs(d) for d in range(2)] == [False, False]


def test_a_phase_without_a_step_reads_no_other_share(write_spec):
    plan = make_plan(write_spec("{phase: gone, share: 0.1%, weights: uniform}", "{phase: rest, weights: proportional}"))
    assert [row["weight_read"]["ratio"] for row in plan_json(plan)["phases"][0]["domains"]] == ["1/2", "1/2"]
    assert not found(plan, FindingCode.SHARE_DIFFERS)


# ---- epochs -----------------------------------------------------------------------------------------------------

HALVES = "domain,tokens\na,327680\nb,327680\n"
ONE_EPOCH = {"sequence_length": "1024", "batch": "64 sequences", "budget": "10 steps", "max_epochs": "1"}


@pytest.mark.parametrize("seed", ["0", "1", "2"])
@pytest.mark.parametrize("weights", ["{a: 50%, b: 50%}", "proportional", "{a: 0.5000000001, b: 0.4999999999}"])
def test_exactly_one_epoch_locks(write_spec, weights, seed):
    plan = make_plan(write_spec(f"{{phase: p, weights: {weights}}}", catalog=HALVES, seed=seed, **ONE_EPOCH))
    assert not plan.refusals
    make_lock(plan)


def uneven(count: int) -> tuple[str, int]:
    sizes = {f"d{i:03}": 200_000 + 7_919 * (i * i % 211) for i in range(count)}
    return "domain,tokens\n" + "".join(f"{name},{n}\n" for name, n in sizes.items()), sum(sizes.values())


@pytest.mark.parametrize(("count", "epochs"), [(20, 4), (200, 1), (200, 4)])
def test_a_budget_that_is_all_of_the_corpus_locks_and_says_what_is_read_once_more(write_spec, count, epochs):
    catalog, whole = uneven(count)
    keys = ONE_EPOCH | {"budget": f"{epochs * whole} tokens", "max_epochs": str(epochs), "batch": "8 sequences"}
    plan = make_plan(write_spec("{phase: p, weights: proportional}", catalog=catalog, **keys))
    assert not plan.refusals
    over = {d.name: d.tokens_drawn - epochs * d.tokens for d in plan.domains if d.tokens_drawn > epochs * d.tokens}
    assert over
    (note,) = found(plan, FindingCode.EPOCHS_ROUNDED)
    assert note.level is Level.NOTE
    assert note.facts == {"tokens": sum(over.values()), "domains": over}
    assert list(note.facts["domains"].values()) == sorted(over.values(), reverse=True)
    assert f"{sum(over.values()):,} tokens of {len(over):,} domain" in note.message
    assert max(over.values()) <= 5 * 1024
    make_lock(plan)


def test_a_budget_in_tokens_that_is_rounded_up_locks_where_that_is_less_than_a_hundredth(write_spec):
    catalog = "domain,tokens\na,327680000\nb,327680000\n"
    large = ONE_EPOCH | {"budget": f"{2 * 327_680_000} tokens", "batch": "41000 sequences"}
    plan = make_plan(write_spec("{phase: p, weights: proportional}", catalog=catalog, **large))
    assert plan.phases[0].laid.asked_end < plan.steps
    assert [finding.code for finding in plan.refusals] == ["over-epochs"] * 2
    small = large | {"batch": "60 sequences"}
    plan = make_plan(write_spec("{phase: p, weights: proportional}", catalog=catalog, **small))
    assert plan.phases[0].laid.asked_end < plan.steps
    assert not plan.refusals
    (note,) = found(plan, FindingCode.EPOCHS_ROUNDED)
    assert sum(note.facts["domains"].values()) == plan.tokens - 2 * 327_680_000


def test_whole_steps_that_read_a_visible_part_once_more_are_refused_with_what_ends_it(write_spec):
    keys = ONE_EPOCH | {"budget": f"{21 * 32_768} tokens"}
    catalog = "domain,tokens\na,344064\nb,344064\n"
    plan = make_plan(write_spec("{phase: p, weights: proportional}", catalog=catalog, **keys))
    assert (plan.phases[0].laid.asked_end, plan.steps) == (Fraction(21, 2), 11)
    assert [finding.code for finding in plan.refusals] == ["over-epochs"] * 2
    assert "make the budget a step smaller" in plan.refusals[0].hint
    assert not make_plan(
        write_spec("{phase: p, weights: proportional}", catalog=catalog, **(keys | {"budget": "10 steps"}))
    ).refusals


@pytest.mark.parametrize(("steps", "tokens"), [(11, 327_680), (10, 326_655), (10, 20 * 1024)])
def test_a_spec_that_asks_for_more_is_refused(write_spec, steps, tokens):
    catalog = f"domain,tokens\na,{tokens}\nb,327680\n"
    keys = ONE_EPOCH | {"budget": f"{steps} steps"}
    refusals = make_plan(write_spec("{phase: p, weights: {a: 0.5, b: 0.5}}", catalog=catalog, **keys)).refusals
    assert "a" in [finding.facts["domain"] for finding in refusals if finding.code is FindingCode.OVER_EPOCHS]


def test_one_sequence_too_many_is_refused_in_a_domain_of_few(write_spec):
    catalog = "domain,tokens\na,10240\nb,327680\n"
    keys = ONE_EPOCH | {"batch": "1 sequence", "budget": "200 steps"}
    ten, eleven = (
        make_plan(write_spec(f"{{phase: p, weights: {{a: {share}%, b: {100 - share}%}}}}", catalog=catalog, **keys))
        for share in (5, 5.5)
    )
    assert not ten.refusals
    assert [finding.facts["domain"] for finding in eleven.refusals] == ["a"]


def test_a_run_of_one_epoch_that_is_amended_is_still_one_epoch(write_spec):
    catalog, whole = uneven(40)
    keys = ONE_EPOCH | {"budget": f"{whole} tokens", "batch": "8 sequences"}
    first = write_spec("{phase: p, weights: proportional}", catalog=catalog, **keys)
    lock = make_lock(make_plan(first))
    phases = "{phase: p, share: 60%, weights: proportional}", "{phase: q, weights: proportional}"
    amended = make_plan(write_spec(*phases, catalog=catalog, **keys), amends=Amendment(lock, lock.data.steps // 2))
    assert not amended.refusals


def test_in_integers_a_share_is_off_exactly_where_it_visibly_differs_by_more_than_a_tenth():
    for sequences in (7, 100, 1000):
        for read in range(1, sequences + 1, max(1, sequences // 50)):
            for share in (Fraction(i, 1000) for i in (1, 2, 10, 99, 100, 110, 111, 500, 999, 1000)):
                by = abs(Fraction(read, sequences) - share)
                assert _is_off(read, sequences, share) is (by >= VISIBLE and by > OFF_PART * share)
