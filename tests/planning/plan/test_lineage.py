"""A lock explained: its run, what each amendment changed, whose checkpoints may go on; a void one is said to be."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from mixture.errors import LockError, Place
from mixture.json_text import digest
from mixture.lock import Amendment, Mask, parse_lock, parting_step
from mixture.lock.lock import document, with_digest
from mixture.planning.amend import amend
from mixture.planning.explain import explain, explanation_json
from mixture.planning.explain.words import amendment_words, lineage_words, phase_words, resumable_words, run_words
from mixture.planning.plan import make_lock, make_plan
from mixture.schedule import Schedule, agreed_steps

PHASES = (
    "{phase: early, share: 60%, weights: {code: 50%, web: 50%}}",
    "{phase: late, weights: {code: 80%, web: 20%}}",
)
LATER = "What comes later, new or as it was in the amended lock, which is not at hand:"
LARGER = "domain,tokens\ncode,1000000\nnews,400000\nweb,1000000\n"


@pytest.fixture
def lock(write_spec):
    return make_lock(make_plan(write_spec(*PHASES)))


@pytest.fixture
def longer(write_spec, lock):
    """The same run, amended at step 40: longer sequences, a smaller batch, another domain, 150 steps."""
    spec = write_spec(
        "{phase: early, share: 60%, weights: {code: 25%, news: 25%, web: 50%}}",
        "{phase: late, weights: {code: 80%, news: 10%, web: 10%}}",
        catalog=LARGER,
        sequence_length="64",
        batch="4 sequences",
        budget="150 steps",
    )
    return make_lock(make_plan(spec, amends=Amendment(lock, 40, reason="a longer context")))


def words(found, number):
    return list(amendment_words(found.amendments[number - 1], repr))


def test_a_lock_that_amends_nothing_is_explained_by_its_phases(lock):
    found = explain(lock)
    assert found.amendments == ()
    assert [(one.lock, one.up_to_step, one.is_own) for one in found.resumable] == [(lock.digest, 100, True)]
    assert [(one.name, one.first_step, one.steps, one.batch_sequences) for one in found.phases] == [
        ("early", 0, 60, 8),
        ("late", 60, 40, 8),
    ]
    assert sum(one.tokens for one in found.phases) == found.tokens == 100 * 8 * 16
    assert run_words(found) == "The run: 100 steps, 800 sequences, 12,800 tokens, 2 domains."
    assert phase_words(found.phases[1], repr) == (
        "Phase 'late', steps 60 to 99: 8 sequences of 16 tokens a step, 5,120 tokens."
    )
    assert lineage_words(found) == "It amends no other lock."


def test_an_amendment_says_all_that_changes_at_its_step(lock, longer):
    found = explain(longer)
    (one,) = found.amendments
    assert (one.step, one.amended, one.made, one.reason) == (40, lock.digest, longer.digest, "a longer context")
    assert one.history == lock.schedule().history(40) == longer.schedule().history(40)
    assert (one.steps_before, one.steps, one.domains_added) == (100, 150, ("news",))
    change = one.change
    assert change.sequence_length == (16, 64)
    assert change.batch_sequences == (8, 4)
    # The weights as the lock has them: integers of 10^15, so these shares are exact.
    assert {move.domain: (move.before, move.after) for move in change.movers} == {
        "code": (Fraction(1, 2), Fraction(1, 4)),
        "news": (0, Fraction(1, 4)),
    }
    assert change.half_l1 == Fraction(1, 4)
    assert change.moved == 2
    handoff = next(one for one in longer.schedule().handoffs() if one.first_step == 40)
    assert change.tokens_skipped == sum(handoff.tokens_skipped) > 0
    assert words(found, 1) == [
        "Why: 'a longer context'.",
        "The run has 150 steps and no longer 100.",
        "Appended: 1 domain, 'news'.",
        "A sequence has 64 tokens and no longer 16.",
        "A step has 4 sequences and no longer 8.",
        "Weights: half-L1 distance 0.25, 2 domains moved: 'code' 50% → 25% and 'news' 0% → 25%."
        " They hold up to step 90.",
        f"Left out at the hand-off: {change.tokens_skipped:,} tokens.",
        LATER,
        "From step 90, phase 'late': weights half-L1 0.55, 'code' 25% → 80%, 'web' 50% → 10% and 1 more.",
    ]


def test_a_skip_and_masks_are_counted(lock):
    skipped = amend(lock, 30, skip_steps=2, masks=[Mask(30, "web", 100, 50), Mask(30, "code", 0, 7)])
    change = explain(skipped).amendments[0].change
    assert (change.skip_sequences, change.tokens_skipped) == (16, 2 * 8 * 16)
    assert (change.masked_tokens, change.masked_domains, change.moved) == (57, 2, 0)
    assert words(explain(skipped), 1) == [
        "Left out: 16 sequences, 256 tokens.",
        "Taken down from there on: 57 tokens of 2 domains.",
        LATER,
        "From step 60, phase 'late': weights half-L1 0.3, 'code' 50% → 80% and 'web' 50% → 20%.",
    ]
    assert words(explain(skipped, ancestors=[lock]), 1) == [
        "Left out: 16 sequences, 256 tokens.",
        "Taken down from there on: 57 tokens of 2 domains.",
        "This lock reads what that lock reads up to step 30.",
    ], "what comes later is as it was"
    assert run_words(explain(skipped)).endswith(" Taken down from some step on: 57 tokens.")


def test_what_an_amendment_changes_behind_its_step_is_said_step_by_step(write_spec, lock):
    spec = write_spec(
        "{phase: early, share: 40%, weights: {code: 50%, web: 50%}}",
        "{phase: late, share: 40%, weights: {code: 80%, web: 20%}}",
        "{phase: long, sequence_length: 64, batch: 4 sequences, weights: {code: 80%, web: 20%}}",
    )
    made = make_lock(make_plan(spec, amends=Amendment(lock, 10)))
    masked = amend(made, 20, masks=[Mask(70, "web", 0, 5)])
    handoff = next(one for one in made.schedule().handoffs() if one.first_step == 80)
    first, second = explain(masked, ancestors=[lock, made]).amendments
    assert first.later == (), "up to the second amendment nothing else comes"
    assert [(at.step, at.change.masked_tokens) for at in second.later] == [(70, 5)]
    assert words(explain(masked, ancestors=[made]), 2)[:2] == [
        "At the step itself nothing changes.",
        "From step 70: 5 tokens taken down.",
    ]
    (one,) = explain(made, ancestors=[lock]).amendments
    assert [(at.step, at.phase, at.began) for at in one.later] == [(40, "late", 60), (80, "long", None)]
    said = words(explain(made, ancestors=[lock]), 1)
    assert said[1:3] == [
        "From step 40 and no longer from 60, phase 'late': weights unchanged.",
        "From step 80, phase 'long': a sequence has 64 tokens, a step 4 sequences;"
        f" {sum(handoff.tokens_skipped):,} tokens left out.",
    ]
    assert words(explain(made), 1)[1:3] == [
        LATER,
        "From step 40, phase 'late': weights half-L1 0.3, 'code' 50% → 80% and 'web' 50% → 20%.",
    ]
    back = make_lock(make_plan(write_spec(PHASES[0].replace("share: 60%, ", "")), amends=Amendment(made, 20)))
    assert "No longer there: 'late' (from step 40) and 'long' (from step 80)." in words(
        explain(back, ancestors=[made]), 2
    )


def test_later_phases_and_a_step_at_a_boundary_are_beside_the_amended_lock_and_not_the_phase_before(write_spec):
    def phases(weights: str, late: str = "{code: 80%, web: 20%}", batch: str = "") -> list[str]:
        return [
            f"{{phase: early, share: 40%, weights: {weights}}}",
            f"{{phase: late, share: 20%, {batch}weights: {late}}}",
            "{phase: last, weights: [{replay: early, share: 50%},"
            " {where: \"domain = 'code'\", share: 50%, within: uniform}]}",
        ]

    half = "{code: 50%, web: 50%}"
    old = make_lock(make_plan(write_spec(*phases(half))))
    other = write_spec(*phases("{code: 30%, web: 70%}"))
    changed = make_lock(make_plan(other, amends=Amendment(old, 10)))
    assert words(explain(changed, ancestors=[old]), 1)[1:3] == [
        "From step 40, phase 'late': weights unchanged.",
        "From step 60, phase 'last': weights half-L1 0.1 from those before the amendment,"
        " 'code' 75% → 65% and 'web' 25% → 35%.",
    ]
    smaller = make_lock(make_plan(write_spec(*phases(half, batch="batch: 4 sequences, ")), amends=Amendment(old, 40)))
    said = words(explain(smaller, ancestors=[old]), 1)
    assert said[0] == "A step has 4 sequences and no longer 8."
    assert not any("half-L1" in one for one in said), "weights are what they were"
    assert explain(smaller).amendments[0].change.moved == 2, "without the amended lock: beside the step before"
    late = make_lock(make_plan(write_spec(*phases(half, late="{code: 70%, web: 30%}")), amends=Amendment(old, 40)))
    (change,) = (one.change for one in explain(late, ancestors=[old]).amendments)
    assert [(one.domain, one.before, one.after) for one in change.movers] == [
        ("code", Fraction(4, 5), Fraction(7, 10)),
        ("web", Fraction(1, 5), Fraction(3, 10)),
    ]


def test_of_very_many_later_steps_the_first_are_said_and_all_are_in_json(lock):
    masks = [Mask(step, "web", 10 * step, 3) for step in range(20, 90)]
    found = explain(amend(lock, 10, masks=masks), ancestors=[lock])
    said = words(found, 1)
    assert len(said) == 1 + 10 + 1 + 1
    assert said[11] == "… and 60 more."
    assert len(explanation_json(found)["amendments"][0]["later"]) == 70


def test_an_amendment_that_was_replaced_at_its_step_has_no_figures_of_the_one_that_did(lock):
    first = amend(lock, 70, skip_steps=80)
    second = amend(first, 70, skip_steps=2)
    alone = explain(second)
    assert (alone.amendments[0].change, alone.amendments[0].replaced_by, alone.amendments[0].is_void) == (None, 2, True)
    replaced = "Replaced by amendment 2, at the same step: what changes there is said with it."
    assert words(alone, 1) == [replaced]
    assert alone.amendments[1].change.skip_sequences == second.data.segments[-1].skip
    known = explain(second, ancestors=[first])
    assert known.amendments[0].change.skip_sequences == 640
    assert words(known, 1)[-2:] == [words(explain(first), 1)[-1], replaced]
    assert "Left out: 640 sequences" in words(known, 1)[-2]


def test_weights_of_an_amendment_hold_to_the_end_of_their_phase(lock):
    change = explain(amend(lock, 20, {"code": "1/4", "web": "3/4"})).amendments[0].change
    assert change.weights_until == 60
    assert explain(amend(lock, 70, {"code": "1/4", "web": "3/4"})).amendments[0].change.weights_until == 100


def test_domains_that_are_kept_to_pools_are_counted(lock):
    domains = tuple(replace(one, pool_tokens=250_000) for one in lock.data.domains)
    data = replace(lock.data, domains=domains)
    found = explain(with_digest(replace(lock, data=data, _schedule=Schedule(data))))
    assert run_words(found).endswith(" 2 domains are kept to pools, of 500K tokens together; whole, 2M.")
    assert explanation_json(found)["pools"] == {"domains": 2, "pool_tokens": 500_000, "tokens": 2_000_000}
    assert explanation_json(explain(lock))["pools"] is None


def test_checkpoints_of_every_ancestor_go_on_up_to_the_earliest_amendment_behind_them(lock):
    locks = [lock]
    for step, share in ((50, 60), (20, 70), (80, 90)):
        locks.append(amend(locks[-1], step, {"code": f"{share}/100", "web": f"{100 - share}/100"}))
    found = explain(locks[-1])
    assert [(one.lock, one.up_to_step) for one in found.resumable] == [
        (locks[0].digest, 20),
        (locks[1].digest, 20),
        (locks[2].digest, 80),
        (locks[3].digest, 100),
    ]
    for one, ancestor in zip(found.resumable, locks, strict=True):
        # What is said holds: up to there both have one history, and streams compare just that.
        step = one.up_to_step
        assert ancestor.schedule().history(step) == locks[-1].schedule().history(step)
    assert resumable_words(found.resumable[0]) == f"of lock {lock.digest[:12]}: up to step 20"
    assert resumable_words(found.resumable[3]).endswith(": at any step")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda value: value["lineage"][0].update(step=101), "lineage[0]"),
        (lambda value: value["lineage"][0].update(domains=3), "lineage[0]"),
        (lambda value: value["amends"].update(steps=19), "amends"),
        (lambda value: value["amends"].update(domains=3), "amends"),
        (lambda value: value["amends"].update(history="0" * 64), "amends"),
    ],
)
def test_a_lineage_that_can_not_be_is_refused(lock, change, key):
    value = document(amend(amend(lock, 50, {"web": 1}), 20, {"code": 1}))
    change(value)
    with pytest.raises(LockError) as refused:
        parse_lock(json.dumps(value | {"digest": digest(value)}).encode(), place=Place(file="run.lock.json"))
    assert (refused.value.code, refused.value.place.path) == ("lock-not-canonical", key)


def test_an_amendment_that_a_later_one_came_before_is_void(write_spec, lock):
    first = amend(lock, 50, {"code": "1/4", "web": "3/4"})
    again = write_spec("{phase: early, share: 60%, weights: {code: 10%, web: 90%}}", PHASES[1])
    found = explain(make_lock(make_plan(again, amends=Amendment(first, 20))))
    assert found.amendments[0].superseded_by == 2
    assert found.amendments[0].is_void
    assert found.amendments[1].superseded_by is None
    assert not found.amendments[1].is_void
    assert words(found, 1) == ["Amendment 2 took over at this step or before it: what it did is void."]
    kept = explain(amend(first, 20, masks=[Mask(20, "web", 0, 5)]))
    assert kept.amendments[0].superseded_by == 2
    assert not kept.amendments[0].is_void, "its weights are still there"
    assert words(kept, 1)[-1] == "Amendment 2 took over at this step or before it: what stands here is what it left."


def test_a_run_cut_short_or_begun_anew_says_so(write_spec, lock):
    shorter = make_lock(make_plan(write_spec(*PHASES, budget="50 steps"), amends=Amendment(lock, 50)))
    (one,) = explain(shorter).amendments
    assert one.change is None
    assert (one.steps_before, one.steps) == (100, 50)
    assert words(explain(shorter), 1) == [
        "The run has 50 steps and no longer 100.",
        "The run goes no further than this step.",
    ]
    anew = amend(lock, 0, {"code": "1/10", "web": "9/10"})
    assert words(explain(anew), 1)[0] == "The whole run is another one from there on."
    assert words(explain(anew), 1)[1:] == [
        LATER,
        "From step 60, phase 'late': weights half-L1 0.7, 'code' 10% → 80% and 'web' 90% → 20%.",
    ]


def test_ancestors_that_are_at_hand_say_where_the_runs_really_part(lock, longer):
    later = amend(lock, 30, masks=[Mask(70, "web", 0, 5)])
    (one,) = explain(later, ancestors=[lock]).amendments
    assert one.parts_at == parting_step(lock, later) == 70, "text is hidden from there on, and no step is another"
    assert agreed_steps(lock.data, later.data) == 100
    assert explain(later, ancestors=[lock]).resumable[0].up_to_step == 70
    assert explain(later).amendments[0].parts_at is None
    with pytest.raises(LockError) as refused:
        explain(lock, ancestors=[longer])
    assert refused.value.code == "not-an-ancestor"


def test_the_explanation_as_json_has_every_figure(lock, longer):
    found = explanation_json(explain(longer, ancestors=[lock]))
    (one,) = found["amendments"]
    assert one["change"]["half_l1"] == {"decimal": "0.25", "ratio": "1/4"}
    assert one["change"]["sequence_length"] == {"before": 16, "after": 64}
    assert (one["void"], one["superseded_by"], one["parts_at"], one["domains_added"]) == (False, None, 40, ["news"])
    assert found["resumable"][0] == {"lock": lock.digest, "up_to_step": 40, "own": False}
    assert [phase["phase"] for phase in found["phases"]] == ["early", "early@40", "late"]
