"""Weights that a rule fits to the tokens of a phase, where an amendment changes these: moved, or kept."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from mixture.errors import LockError, Place, SpecError
from mixture.lock import Amendment, Lock, Mask, lock_text, parse_lock, read_lock
from mixture.planning.amend import amend
from mixture.planning.explain import explain, explanation_json
from mixture.planning.plan import Finding, Plan, check_lock, make_lock, make_plan, plan_json
from mixture.planning.plan.weights.curve import fitted
from mixture.planning.spec import FindingCode, Groups, Spec, read_spec
from mixture.schedule import WHOLE

WriteSpec = Callable[..., Spec]
OLMO = Path(__file__).parents[3] / "mixtures" / "olmo-3-topics"

# A step reads 128 tokens. Two epochs are 2,000 of a, 4,000 of b and 18,000 of c.
CATALOG = "domain,tokens,quality\na,1000,1\nb,2000,2\nc,9000,3\n"
UNIMAX = "{phase: main, weights: {unimax: {max_epochs: 2}}}"


def locked(spec: Spec) -> Lock:
    return make_lock(make_plan(spec))


def amended(lock: Lock, spec: Spec, step: int, *, keeps: bool = False) -> Plan:
    return make_plan(spec, amends=Amendment(lock, step, keep_weights=keeps))


def about_weights(plan: Plan) -> list[Finding]:
    return [one for one in plan.findings if one.code in (FindingCode.WEIGHTS_MOVED, FindingCode.WEIGHTS_KEPT)]


def test_a_shorter_budget_moves_what_unimax_divides_and_the_finding_has_the_figures(write_spec: WriteSpec) -> None:
    # 12,800 tokens are 2,000, 4,000 and the rest, 6,800. Of 8,960 a has its 2,000, and the others half of the rest.
    lock = locked(write_spec(UNIMAX, catalog=CATALOG))
    assert lock.data.segments[0].weights == (WHOLE * 5 // 32, WHOLE * 5 // 16, WHOLE * 17 // 32)
    spec = write_spec(UNIMAX, catalog=CATALOG, budget="70 steps")
    plan = amended(lock, spec, 40)
    (finding,) = about_weights(plan)
    assert (finding.code, finding.level, finding.place) == ("weights-moved", "warning", spec.place("phases[0].weights"))
    assert finding.message == (
        "the weights of phase 'main' (unimax) are fitted again and move: total variation distance (TV) 0.1429, the"
        " share of tokens that would have to move; 'c' 53.13% → 38.84%, 'b' 31.25% → 38.84% and 'a' 15.63% → 22.32%"
    )
    facts = finding.facts
    assert (facts["phase"], facts["rules"], facts["domains_moved"]) == ("main", ["unimax"], 3)
    assert abs(facts["total_variation"] - Fraction(1, 7)) < Fraction(1, WHOLE)
    after = [Fraction(3480, 8960), Fraction(3480, 8960), Fraction(2000, 8960)]
    for one, name, before, now in zip(facts["movers"], "cba", (17, 10, 5), after, strict=True):
        assert (one["domain"], one["before"]) == (name, Fraction(before, 32))
        assert abs(one["after"] - now) < Fraction(1, WHOLE)
    (said,) = (one for one in plan_json(plan)["findings"] if one["code"] == "weights-moved")
    assert said["facts"]["movers"][0]["before"] == {"decimal": "0.53125", "ratio": "17/32"}
    assert [one.weights[0] for one in plan.data.segments] == [WHOLE * 5 // 32, round(WHOLE * 2000 / 8960)]


def test_kept_weights_are_the_locks_to_the_integer_and_history_goes_on_to_the_end(write_spec: WriteSpec) -> None:
    lock = locked(write_spec(UNIMAX, catalog=CATALOG))
    spec = write_spec(UNIMAX, catalog=CATALOG, budget="70 steps")
    plan = amended(lock, spec, 40, keeps=True)
    (finding,) = about_weights(plan)
    assert (finding.code, finding.level) == ("weights-kept", "note")
    assert not [one for one in plan.findings if one.code == "unimax-divided"], "nothing was divided"
    new = make_lock(plan)
    assert [(one.first_step, one.steps, one.weights) for one in new.data.segments] == [
        (0, 70, lock.data.segments[0].weights)
    ]
    assert [one.name for one in new.phases] == ["main"]
    assert new.schedule().history(70) == lock.schedule().history(70)
    assert new.keeps_weights
    assert parse_lock(lock_text(new).encode(), place=Place()) == new


def test_two_buckets_of_a_curve_move_to_where_the_bound_lets_them(write_spec: WriteSpec) -> None:
    # The best bucket is read twice, as often as it may be: 200,000 tokens, of 250,000 and then of 220,000.
    rule = "{phase: main, weights: {curve: {by: quality, from: 0, max_factor: 2}}}"
    keys = {"catalog": "domain,tokens,quality\nbest,100000,2\nworst,100000,1\n", "batch": "625 sequences"}
    lock = locked(write_spec(rule, budget="25 steps", **keys))
    shorter = write_spec(rule, budget="22 steps", **keys)
    (finding,) = about_weights(amended(lock, shorter, 10))
    assert finding.facts["rules"] == ["curve"]
    close = Fraction(1, 10**9)
    assert abs(finding.facts["total_variation"] - (Fraction(20, 22) - Fraction(20, 25))) < close
    assert "'best' 80% → 90.91% and 'worst' 20% → 9.091%" in finding.message
    new = make_lock(amended(lock, shorter, 10, keeps=True))
    assert [one.weights for one in new.data.segments] == [lock.data.segments[0].weights]
    assert new.schedule().history(22) == lock.schedule().history(22)


def test_the_curves_of_a_real_mixture_are_kept_where_its_budget_is_cut(tmp_path: Path) -> None:
    lock, text = read_lock(OLMO / "mixture.lock.json"), (OLMO / "mixture.yaml").read_text(encoding="utf-8")
    text = text.replace("pools.csv", str(OLMO / "pools.csv")).replace("127939584000 tokens", "100B tokens")
    (tmp_path / "less.yaml").write_text(text)
    less = read_spec(tmp_path / "less.yaml")
    (finding,) = about_weights(amended(lock, less, 10_000))
    before = dict(zip(lock.schedule().names, lock.data.segments[0].weights, strict=True))
    after = _olmo_shares(less, 23_842 * 4_194_304)
    apart = {name: after[name] - Fraction(weight, WHOLE) for name, weight in before.items()}
    close = Fraction(len(apart), WHOLE)
    assert abs(finding.facts["total_variation"] - sum(map(abs, apart.values())) / 2) < close
    assert finding.message.startswith("the weights of phase 'common-crawl' (curve) are fitted again and move")
    most = sorted(apart, key=lambda name: -abs(apart[name]))[:5]
    assert [one["domain"] for one in finding.facts["movers"]] == most
    assert all(abs(one["after"] - after[one["domain"]]) < close for one in finding.facts["movers"])
    new = make_lock(amended(lock, less, 10_000, keeps=True))
    (segment,) = new.data.segments
    assert (segment.steps, segment.weights) == (23_842, lock.data.segments[0].weights)
    assert new.schedule().history(23_842) == lock.schedule().history(23_842)


def _olmo_shares(spec: Spec, tokens: int) -> dict[str, Fraction]:
    """The shares that curves fitted to so many tokens give."""
    weights = spec.phases[0].weights
    assert isinstance(weights, Groups)
    pools: dict[str, dict[int, tuple[str, int]]] = {}
    for line in (OLMO / "pools.csv").read_text(encoding="utf-8").splitlines()[1:]:
        name, topic, quality, held = line.split(",")
        pools.setdefault(topic, {})[int(quality)] = name, int(held)
    shares: dict[str, Fraction] = {}
    for group in weights.groups:
        own = [one for _, one in sorted(pools[group.where.split("'")[1]].items())]
        curve = fitted([held for _, held in own], group.share * tokens, start=Fraction(2, 5), max_factor=Fraction(7))
        shares |= {name: group.share * share for (name, _), share in zip(own, curve.shares, strict=True)}
    return shares


def test_explicit_weights_are_no_finding_and_nothing_keeps_them(write_spec: WriteSpec) -> None:
    lock = locked(write_spec("{phase: main, weights: {a: 10%, b: 20%, c: 70%}}", catalog=CATALOG))
    spec = write_spec("{phase: main, weights: {a: 10%, b: 30%, c: 60%}}", catalog=CATALOG, budget="70 steps")
    for keeps in (False, True):
        plan = amended(lock, spec, 40, keeps=keeps)
        assert not about_weights(plan)
        assert plan.data.segments[-1].weights == (WHOLE // 10, WHOLE * 3 // 10, WHOLE * 6 // 10)
    assert not make_lock(plan).keeps_weights
    rules = "{phase: main, weights: [{where: quality < 3, share: 40%, within: proportional},"
    rules += " {where: quality = 3, share: 60%, within: {temperature: 2}}]}"
    lock = locked(write_spec(rules, catalog=CATALOG))
    assert not about_weights(amended(lock, write_spec(rules, catalog=CATALOG, budget="70 steps"), 40))


TWO = (
    "{phase: main, until: 60%, weights: {unimax: {max_epochs: 2}}}",
    "{phase: late, weights: [{replay: main, share: 50%}, {where: quality > 0, share: 50%, within: uniform}]}",
)


def test_a_boundary_moves_the_phases_around_it_and_those_that_replay_them(write_spec: WriteSpec) -> None:
    lock = locked(write_spec(*TWO, catalog=CATALOG))
    moved = write_spec(TWO[0].replace("60%", "40%"), TWO[1], catalog=CATALOG)
    found = about_weights(amended(lock, moved, 20))
    assert [(one.code, one.facts["phase"], one.facts["rules"]) for one in found] == [
        ("weights-moved", "main", ["unimax"]), ("weights-moved", "late", ["replay"]),
    ]  # fmt: skip
    # a has its 2,000 of 7,680 tokens, and then 1,707 of 5,120. The replay moves half of that.
    expected = Fraction(1707, 5120) - Fraction(2000, 7680)
    for one, distance in zip(found, (expected, expected / 2), strict=True):
        assert abs(one.facts["total_variation"] - distance) < Fraction(2, WHOLE)
    (late,) = about_weights(amended(lock, moved, 50))
    assert late.facts["phase"] == "late", "main is over"
    plan = amended(lock, moved, 20, keeps=True)
    assert {one.code for one in about_weights(plan)} == {"weights-kept"}
    assert [(one.first_step, one.weights) for one in plan.data.segments] == [
        (0, lock.data.segments[0].weights), (40, lock.data.segments[1].weights),
    ]  # fmt: skip


STAIRS = (
    "{phase: first, until: 50%, weights: {unimax: {max_epochs: 1}}}",
    "{phase: second, weights: {a: 33.33%, b: 33.33%, c: 33.34%}, transition: {steps: 20, parts: 6}}",
)


@pytest.mark.parametrize("step", [20, 50, 57, 63])
def test_stairs_from_a_phase_that_is_fitted_are_kept_to_the_integer(write_spec: WriteSpec, step: int) -> None:
    # Sevenths, which no lock has exactly: between rounded weights stairs lie elsewhere by a part of 10^15.
    keys = {"catalog": CATALOG.replace("000,", "013,"), "batch": "7 sequences"}
    lock = locked(write_spec(*STAIRS, **keys))
    first = STAIRS[0].replace("50%", "step 50")
    shorter = write_spec(first, STAIRS[1], budget="90 steps", **keys)
    other = write_spec(first.replace("1}", "2}"), STAIRS[1], **keys)
    (moved,) = about_weights(amended(lock, other, step))
    assert (moved.code, moved.facts["phase"]) == ("weights-moved", "first"), "also where only stairs lead away from it"
    for spec in (shorter, other):
        plan = amended(lock, spec, step, keeps=True)
        assert [one.code for one in about_weights(plan)] == ["weights-kept"]
        assert [(one.first_step, one.weights) for one in plan.data.segments] == [
            (one.first_step, one.weights) for one in lock.data.segments
        ]
        assert plan.schedule.history(plan.steps) == lock.schedule().history(plan.steps)
        check_lock(make_lock(plan), spec)


def test_a_phase_that_the_lock_has_not_or_whose_domains_are_others_cannot_be_kept(write_spec: WriteSpec) -> None:
    groups = "{phase: main, weights: [{where: quality < 4, share: 100%, within: {unimax: {max_epochs: 2}}}]}"
    lock = locked(write_spec(groups, catalog=CATALOG))

    def found(phase: str, catalog: str = CATALOG) -> Finding:
        plan = amended(lock, write_spec(phase, catalog=catalog, budget="70 steps"), 40, keeps=True)
        (finding,) = about_weights(plan)
        assert finding.code == "weights-moved"
        assert finding.hint is None, "it was asked for already"
        assert make_lock(plan).keeps_weights  # so that a check asks for it again
        return finding

    new = found(groups, CATALOG + "d,5000,3\n")
    assert new.message.startswith(
        "the weights of phase 'main' (unimax) cannot be kept, since the lock does not weigh 'd' there: they are fitted"
    )
    assert [one["before"] for one in new.facts["movers"] if one["domain"] == "d"] == [0]
    assert "since it no longer weighs 'a':" in found(groups.replace("< 4", "between 2 and 3")).message
    assert "since it no longer weighs 'a':" in found(groups, CATALOG.replace("a,1000,1\n", "")).message
    named = found(groups.replace("main", "other"))
    assert (
        named.message
        == "the weights of phase 'other' (unimax) cannot be kept, and are fitted: the lock has no such phase"
    )
    assert "total_variation" not in named.facts
    other = write_spec(groups.replace("main", "other"), catalog=CATALOG, budget="70 steps")
    assert not about_weights(amended(lock, other, 40)), "nothing of the lock is compared with it"


def test_a_domain_that_the_rule_gives_nothing_is_no_weight_to_keep(write_spec: WriteSpec) -> None:
    rule = "{phase: main, weights: {unimax: {max_epochs: 0.9}}}"  # of a single token that is none
    keys = {"catalog": CATALOG + "tiny,1,1\n", "accept": "[never-read]"}
    lock = locked(write_spec(rule, budget="80 steps", **keys))
    (finding,) = about_weights(amended(lock, write_spec(rule, budget="70 steps", **keys), 40, keeps=True))
    assert (
        "cannot be kept, since the lock has no share of a domain that is too small: they are fitted" in finding.message
    )
    assert finding.hint is None


def test_weights_after_a_transition_that_fills_its_phase_are_not_in_the_lock(write_spec: WriteSpec) -> None:
    first = "{phase: first, until: step 80, weights: uniform}"
    filled = "{phase: second, weights: {unimax: {max_epochs: 2}}, transition: {steps: 20, parts: 2}}"
    lock = locked(write_spec(first, filled, catalog=CATALOG))
    longer = write_spec(first, filled, catalog=CATALOG, budget="120 steps")
    (finding,) = about_weights(amended(lock, longer, 70, keeps=True))
    assert "since the lock has no weights after its transition: they are fitted" in finding.message


def test_what_could_not_be_fitted_again_is_kept_all_the_same(write_spec: WriteSpec) -> None:
    lock = locked(write_spec(UNIMAX, catalog=CATALOG))
    longer = write_spec(UNIMAX, catalog=CATALOG, budget="200 steps")  # two epochs of all are 187.5 steps
    with pytest.raises(SpecError) as caught:
        amended(lock, longer, 40)
    assert caught.value.code == "unimax-exhausted"
    new = make_lock(amended(lock, longer, 40, keeps=True))
    assert [(one.steps, one.weights) for one in new.data.segments] == [(200, lock.data.segments[0].weights)]


def test_a_lock_with_kept_weights_is_what_its_spec_gives_and_so_are_those_amended_from_it(
    write_spec: WriteSpec,
) -> None:
    lock = locked(write_spec(UNIMAX, catalog=CATALOG))
    spec = write_spec(UNIMAX, catalog=CATALOG, budget="70 steps")
    kept = make_lock(amended(lock, spec, 40, keeps=True))
    masked = amend(kept, 50, masks=[Mask(50, "c", 0, 10)])
    skipped = amend(masked, 60, skip_steps=1)
    for one in (kept, masked, skipped):
        check_lock(parse_lock(lock_text(one).encode(), place=Place()), spec)
    with pytest.raises(LockError, match="it says something else") as caught:
        check_lock(kept, write_spec(UNIMAX.replace("2}", "3}"), catalog=CATALOG, budget="70 steps"))
    assert caught.value.code == "spec-changed"
    (said,) = explain(kept).amendments
    assert said.keep_weights
    assert explanation_json(explain(kept))["amendments"][0]["keep_weights"] is True
    # Amended by a spec without being told to, it is fitted again, and that is said.
    (finding,) = about_weights(amended(skipped, spec, 65))
    assert finding.code == "weights-moved"
    again = make_lock(amended(skipped, spec, 65, keeps=True))
    assert again.data == skipped.data
    assert [one.name for one in again.phases] == ["main"]


def test_a_phase_amended_before_keeps_what_it_was_given_then(write_spec: WriteSpec) -> None:
    lock = locked(write_spec(UNIMAX, catalog=CATALOG))
    spec = write_spec(UNIMAX, catalog=CATALOG, budget="70 steps")
    moved = make_lock(amended(lock, spec, 40))
    assert [one.name for one in moved.phases] == ["main", "main@40"]
    plan = amended(moved, write_spec(UNIMAX, catalog=CATALOG, budget="60 steps"), 50, keeps=True)
    assert [one.weights for one in plan.data.segments] == [one.weights for one in moved.data.segments]
    assert [one.name for one in plan.phases] == ["main", "main@40"]
    # A phase may be called as an amended one would be.
    spec = write_spec(UNIMAX.replace("main", "main, until: 50%"), UNIMAX.replace("main", "main@50"), catalog=CATALOG)
    lock = locked(spec)
    shorter = [UNIMAX.replace("main", "main, until: step 40"), UNIMAX.replace("main", "main@50")]
    plan = amended(lock, write_spec(*shorter, catalog=CATALOG), 20, keeps=True)
    assert [one.weights for one in plan.data.segments] == [one.weights for one in lock.data.segments]


def test_a_lock_whose_new_phase_replays_kept_weights_is_checked(write_spec: WriteSpec) -> None:
    fitted_phase = "{phase: main, share: 40%, weights: {unimax: {max_epochs: 2}}}"
    lock = locked(write_spec(fitted_phase, "{phase: rest, weights: proportional}", catalog=CATALOG, budget="60 steps"))
    replays = "[{replay: main, share: 50%}, {where: tokens > 0, share: 50%, within: proportional}]"
    spec = write_spec(fitted_phase, f"{{phase: new, weights: {replays}}}", catalog=CATALOG, budget="90 steps")
    plan = amended(lock, spec, 50, keeps=True)
    check_lock(make_lock(plan), spec)


def test_a_lock_that_leaves_out_text_is_checked_under_another_batch(write_spec: WriteSpec) -> None:
    phase = "{phase: main, weights: {a: 50%, b: 25%, c: 25%}}"
    options = {"catalog": CATALOG, "budget": "20 steps", "max_epochs": "99"}
    lock = amend(locked(write_spec(phase, **options)), 10, skip_steps=1)
    spec = write_spec(phase, batch="3 sequences", **options)
    changed = make_lock(amended(lock, spec, 10))
    assert changed.data.segments[1].skip == 8
    check_lock(changed, spec)
