"""A run that a spec amends: what was read stays, and what is to come is what the spec says."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from mixture.errors import AmendError, LockError, Place, PlanError
from mixture.lock import Amendment, Lock, Mask, lock_text, parse_lock
from mixture.planning.amend import amend, amended_domains
from mixture.planning.plan import check_lock, make_lock, make_plan
from mixture.planning.spec import Spec

WriteSpec = Callable[..., Spec]
CATALOG = "domain,tokens\ncode,40000\nmath,30000\nweb,90000\n"
TWO = (
    "{phase: main, until: step 60, weights: {web: 70%, code: 30%}}",
    "{phase: cooldown, weights: {web: 20%, code: 50%, math: 30%}}",
)


def amended(lock: Lock, spec: Spec, step: int, **more: object) -> Lock:
    return make_lock(make_plan(spec, amends=Amendment(lock, step, **more)))  # type: ignore[arg-type]


def rows(lock: Lock, first: int, last: int) -> list[tuple[int, ...]]:
    schedule = lock.schedule()
    first, last = schedule.positions_before(first), schedule.positions_before(last)
    found = schedule.rows(first, last - first)
    return list(zip(found.domain.tolist(), found.draw.tolist(), found.first_token.tolist(), strict=True))


@pytest.fixture
def lock(write_spec: WriteSpec) -> Lock:
    return make_lock(make_plan(write_spec(*TWO, catalog=CATALOG)))


def test_a_budget_cut_moved_boundaries_and_other_weights_are_one_amendment(lock: Lock, write_spec: WriteSpec) -> None:
    spec = write_spec(
        "{phase: main, until: step 40, weights: {web: 60%, code: 40%}}",
        "{phase: cooldown, weights: {web: 10%, code: 40%, math: 50%}}",
        catalog=CATALOG,
        budget="70 steps",
    )
    new = amended(lock, spec, 25, reason="budget cut")
    assert new.schedule().steps == 70
    assert rows(new, 0, 25) == rows(lock, 0, 25)
    assert new.schedule().history(25) == lock.schedule().history(25)
    assert [(one.name, one.first_step, one.steps) for one in new.phases] == [
        ("main", 0, 25), ("main@25", 25, 15), ("cooldown", 40, 30),
    ]  # fmt: skip
    assert new.amends is not None
    assert (new.amends.lock, new.amends.step, new.amends.steps) == (lock.digest, 25, 100)
    assert (new.amends.reason, new.lineage) == ("budget cut", ())
    assert parse_lock(lock_text(new).encode(), place=Place()) == new
    check_lock(new, spec)


def test_a_longer_run_reads_the_same_to_the_end_of_the_shorter_one(lock: Lock, write_spec: WriteSpec) -> None:
    spec = write_spec(*TWO, catalog=CATALOG, budget="200 steps")
    new = amended(lock, spec, 100)
    assert rows(new, 0, 100) == rows(lock, 0, 100)
    assert new.schedule().steps == 200
    # It is the run that the longer spec gives: nothing of it was another one.
    assert new.data == make_plan(spec).data
    assert [one.name for one in new.phases] == ["main", "cooldown"]


def test_a_run_may_end_where_it_is_amended_and_not_before(lock: Lock, write_spec: WriteSpec) -> None:
    short = write_spec("{phase: main, weights: {web: 70%, code: 30%}}", catalog=CATALOG, budget="50 steps")
    new = amended(lock, short, 50)
    assert new.schedule().steps == 50
    assert rows(new, 0, 50) == rows(lock, 0, 50)
    with pytest.raises(AmendError, match="ends at step 50, before the amendment at step 51"):
        amended(lock, short, 51)


def test_what_does_not_change_at_the_step_stays_one_phase_and_one_segment(lock: Lock, write_spec: WriteSpec) -> None:
    moved = write_spec(TWO[0].replace("step 60", "step 80"), TWO[1], catalog=CATALOG)
    new = amended(lock, moved, 30)
    assert [(one.name, one.first_step) for one in new.phases] == [("main", 0), ("cooldown", 80)]
    assert new.data == make_plan(moved).data


def test_domains_go_on_exactly_where_they_were(write_spec: WriteSpec) -> None:
    one = {"catalog": "domain,tokens\na,100000\nb,100000\n", "batch": "10 sequences", "budget": "20 steps"}
    lock = make_lock(make_plan(write_spec("{phase: all, weights: {a: 50%, b: 50%}}", **one)))
    assert lock.schedule().counts(10).tolist() == [50, 50]
    thirds = write_spec("{phase: all, weights: {table: w.csv, column: share}}", **one)
    (thirds.path.parent / "w.csv").write_text("domain,share\na,2\nb,1\n")
    new = amended(lock, thirds, 10)
    for d in (0, 1):
        draws = [draw for domain, draw, _ in rows(new, 0, 20) if domain == d]
        assert sorted(draws) == list(range(len(draws)))
    assert new.schedule().counts(10).tolist() == [50, 50]
    assert abs(new.schedule().counts(20)[0] - 50 - 67) <= 1


def test_a_boundary_between_equal_phases_may_move_and_nothing_of_the_text_does(write_spec: WriteSpec) -> None:
    def halves(share: str) -> Spec:
        phases = [f"{{phase: {name}, {extent}weights: {{code: 30%, web: 70%}}}}" for name, extent in
                  (("one", f"share: {share}, "), ("two", ""))]  # fmt: skip
        return write_spec(*phases, catalog=CATALOG)

    lock = make_lock(make_plan(halves("80%")))
    new = amended(lock, halves("90%"), 40)
    assert new.data == lock.data
    assert [(one.name, one.first_step) for one in new.phases] == [("one", 0), ("two", 90)]


def test_a_boundary_inside_a_step_is_rounded_and_said_and_one_that_vanishes_is_refused(
    lock: Lock, write_spec: WriteSpec
) -> None:
    spec = write_spec(TWO[0].replace("until: step 60", "until: 66.66%"), TWO[1], catalog=CATALOG)
    plan = make_plan(spec, amends=Amendment(lock, 30))
    rounded = [finding.message for finding in plan.findings if finding.code == "boundary-rounded"]
    assert rounded == ["phase 'main' ends at step 67, asked was 66.66"]
    thin = "{phase: thin, until: 60.2%, weights: {web: 1}}"
    vanished = make_plan(write_spec(TWO[0], thin, TWO[1], catalog=CATALOG), amends=Amendment(lock, 30))
    assert [finding.facts["phase"] for finding in vanished.refusals] == ["thin"]


def test_a_replayed_phase_adds_up_and_its_domains_go_on(lock: Lock, write_spec: WriteSpec) -> None:
    spec = write_spec(
        TWO[0],
        "{phase: cooldown, weights: [{replay: main, share: 70%},"
        " {where: \"domain in ('math', 'web')\", share: 30%, within: uniform}]}",
        catalog=CATALOG,
    )
    new = amended(lock, spec, 70)
    assert new.phases[-1].name == "cooldown@70"
    shares = dict(zip(new.schedule().names, new.data.segments[-1].weights, strict=True))
    assert shares == {"code": 21 * 10**13, "math": 15 * 10**13, "web": 64 * 10**13}
    for d in range(3):
        draws = sorted(draw for domain, draw, _ in rows(new, 0, 100) if domain == d)
        assert draws == list(range(len(draws)))


def test_a_batch_changed_at_a_step_begins_there(write_spec: WriteSpec) -> None:
    one = "{phase: all, weights: {web: 70%, code: 30%}}"
    lock = make_lock(make_plan(write_spec(one, catalog=CATALOG, budget="200 steps")))
    spec = write_spec(
        "{phase: all, until: step 150, weights: {web: 70%, code: 30%}}",
        "{phase: end, weights: {web: 10%, code: 90%}}",
        catalog=CATALOG, budget="200 steps", batch="16 sequences",
    )  # fmt: skip
    new = amended(lock, spec, 100).schedule()
    assert new.positions_before(150) == 1_600
    assert new.positions_before(100) == 800


def test_a_new_domain_is_appended_and_no_other_domains_order_changes(lock: Lock, write_spec: WriteSpec) -> None:
    spec = write_spec(
        TWO[0],
        "{phase: cooldown, weights: {web: 20%, code: 50%, books: 30%}}",
        catalog=CATALOG + "books,50000\n",
    )
    new = amended(lock, spec, 30)
    assert new.schedule().names == ("code", "math", "web", "books")
    assert rows(new, 0, 60) == rows(lock, 0, 60)  # from step 30 to 60 both say the same
    alone = make_plan(spec).schedule
    # Its draws are those that it has in a run that had it from the start.
    for name in ("web", "books"):
        d, there = new.schedule().domain_index(name), alone.domain_index(name)
        own = {draw: first for domain, draw, first in rows(new, 0, 100) if domain == d}
        found = alone.rows(0, alone.num_sequences)
        for domain, draw, first in zip(found.domain, found.draw, found.first_token, strict=True):
            if domain == there and int(draw) in own:
                assert own[int(draw)] == first


def test_a_domain_that_was_drawn_keeps_its_tokens_and_one_that_was_not_may_grow(
    lock: Lock, write_spec: WriteSpec
) -> None:
    grown = write_spec(*TWO, catalog=CATALOG.replace("web,90000", "web,90001"))
    with pytest.raises(AmendError) as error:
        amended(lock, grown, 30)
    assert (error.value.code, error.value.facts["domain"]) == ("domain-changed", "web")
    assert "web@2" in str(error.value.hint)
    both = write_spec(
        "{phase: main, until: step 60, weights: [{where: \"domain in ('web', 'web@2')\", share: 70%,"
        " within: proportional}, {where: \"domain = 'code'\", share: 30%, within: uniform}]}",
        TWO[1],
        catalog=CATALOG + "web@2,10000\n",
    )
    assert amended(lock, both, 30).schedule().names == ("code", "math", "web", "web@2")
    unread = write_spec(*TWO, catalog=CATALOG.replace("math,30000", "math,60000"))
    assert amended(lock, unread, 30).data.domains[1].tokens == 60_000


def test_a_domain_that_left_the_catalog_stays_in_the_lock_and_is_read_no_more(
    lock: Lock, write_spec: WriteSpec
) -> None:
    spec = write_spec("{phase: main, weights: {web: 100%}}", catalog="domain,tokens\nweb,90000\n")
    new = amended(lock, spec, 30)
    assert new.schedule().names == ("code", "math", "web")
    assert {domain for domain, _, _ in rows(new, 30, 100)} == {2}
    assert rows(new, 0, 30) == rows(lock, 0, 30)
    check_lock(new, spec)


def test_epochs_of_the_whole_run_are_what_a_limit_is_for(lock: Lock, write_spec: WriteSpec) -> None:
    # math holds 30,000 tokens; 40 steps of 128 sequences-tokens at 30% draw 1,536, 40% of the limit.
    spec = write_spec(*TWO, catalog=CATALOG, max_epochs="0.06")
    plan = make_plan(spec, amends=Amendment(lock, 30))
    over = [finding for finding in plan.findings if finding.code == "over-epochs"]
    assert [finding.facts["domain"] for finding in over] == ["code", "web"]
    drawn = plan.schedule.tokens(100).tolist()
    assert [domain.tokens_drawn for domain in plan.domains] == drawn
    with pytest.raises(PlanError):
        make_lock(plan)


def test_a_token_budget_counts_what_the_run_has_read_and_not_what_the_spec_says_of_it(
    lock: Lock, write_spec: WriteSpec
) -> None:
    doubled = {"catalog": CATALOG, "batch": "16 sequences", "budget": "25600 tokens"}
    spec = write_spec("{phase: main, weights: {web: 70%, code: 30%}}", **doubled)
    plan = make_plan(spec, amends=Amendment(lock, 50))
    found = [finding for finding in plan.findings if finding.code == "budget-mismatch"]
    assert [finding.facts["tokens_planned"] for finding in found] == [50 * 8 * 16 + 50 * 16 * 16]
    assert found[0].refuses


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"seed": "7"}, "amend-changes-order"),
        ({"shuffle": "{block: 131072 tokens}"}, "amend-changes-order"),
        ({"shuffle": "{window: 7 blocks}"}, "amend-changes-order"),
        ({"catalog": CATALOG.replace("code,40000", "code,39999")}, "domain-changed"),
        ({"sequence_length": "48"}, "block-not-multiple"),
    ],
)
def test_what_would_change_the_order_of_what_was_read_is_refused(
    lock: Lock, write_spec: WriteSpec, keys: dict[str, str], code: str
) -> None:
    with pytest.raises(AmendError) as error:
        amended(lock, write_spec(*TWO, **({"catalog": CATALOG} | keys)), 30)
    assert error.value.code == code
    assert error.value.place is not None


def test_a_length_that_the_block_can_not_hold_is_refused_by_the_longest_that_it_can(write_spec: WriteSpec) -> None:
    large = "domain,tokens\ncode,1000000\nweb,1000000\n"
    lock = make_lock(make_plan(write_spec(TWO[0].replace("until: step 60, ", ""), catalog=large)))
    spec = write_spec(
        "{phase: main, until: step 60, weights: {web: 70%, code: 30%}}",
        "{phase: long, sequence_length: 131072, weights: {web: 70%, code: 30%}}",
        catalog=large,
    )
    with pytest.raises(AmendError, match="131,072") as error:
        amended(lock, spec, 30)
    assert (error.value.code, error.value.facts["block_tokens"]) == ("block-not-multiple", 65_536)


def test_a_tokenizer_is_that_of_the_run(write_spec: WriteSpec) -> None:
    lock = make_lock(make_plan(write_spec(*TWO, catalog=CATALOG, tokenizer="one")))
    with pytest.raises(AmendError) as error:
        amended(lock, write_spec(*TWO, catalog=CATALOG, tokenizer="other"), 30)
    assert error.value.code == "tokenizer-differs"
    assert amended(lock, write_spec(*TWO, catalog=CATALOG), 30).tokenizer == "one"


def test_no_amendment_comes_before_what_was_consumed_or_outside_the_run(lock: Lock, write_spec: WriteSpec) -> None:
    with pytest.raises(AmendError, match="consumed everything before step 31") as error:
        Amendment(lock, 30, consumed_step=31)
    assert error.value.code == "amend-consumed"
    Amendment(lock, 31, consumed_step=31)
    for step in (-1, 101):
        with pytest.raises(AmendError, match="not in the lock's run") as outside:
            Amendment(lock, step)
        assert outside.value.code == "amend-outside-run"


def test_a_changed_spec_no_longer_gives_the_lock(lock: Lock, write_spec: WriteSpec) -> None:
    new = amended(lock, write_spec(TWO[0].replace("70", "71").replace("30%", "29%"), TWO[1], catalog=CATALOG), 30)
    with pytest.raises(LockError, match="the weight of 'code' in phase 'main@30' is 29% in the lock, and now 28%"):
        check_lock(new, write_spec(TWO[0].replace("70", "72").replace("30%", "28%"), TWO[1], catalog=CATALOG))


def test_a_phase_that_comes_back_has_the_step_in_its_name(lock: Lock, write_spec: WriteSpec) -> None:
    spec = write_spec("{phase: main, until: step 90, weights: {web: 70%, code: 30%}}", TWO[1], catalog=CATALOG)
    new = amended(lock, spec, 70)
    assert [one.name for one in new.phases] == ["main", "cooldown", "main@70", "cooldown@90"]
    again = amended(new, spec, 70)
    assert [one.name for one in again.phases] == [one.name for one in new.phases]
    assert again.data == new.data


def test_a_phase_whose_own_name_ends_in_its_step_stays_one_phase(write_spec: WriteSpec) -> None:
    spec = write_spec(TWO[0], TWO[1].replace("cooldown", "main@60"), catalog=CATALOG)
    new = amended(make_lock(make_plan(spec)), spec, 80)
    assert [one.name for one in new.phases] == ["main", "main@60"]
    check_lock(new, spec)


def test_a_lock_amended_without_a_spec_is_still_what_its_spec_gives(write_spec: WriteSpec) -> None:
    """A phase that vanished and what was accepted of phases that are over are not there again."""
    spec = write_spec(
        "{phase: main, until: 30%, weights: {web: 70%, code: 30%}}",
        "{phase: gone, until: 30.2%, weights: {web: 70%, code: 30%}}",
        "{phase: cooldown, weights: {web: 20%, code: 50%, math: 30%}}",
        catalog=CATALOG,
        accept="[phase-vanished, domain-missing-in-phase]",
    )
    lock = make_lock(make_plan(spec))
    assert [one.name for one in lock.phases] == ["main", "gone", "cooldown"]
    for step in (20, 30, 50):
        taken = amend(lock, step, masks=[Mask(step, "web", 0, 10)])
        check_lock(taken, spec)
        if step != 30:  # where weights change, nothing can be left out
            check_lock(amend(taken, step, skip_steps=2), spec)


def test_findings_of_phases_to_come_stand_where_the_spec_says_them(write_spec: WriteSpec) -> None:
    spec = write_spec(
        TWO[0],
        "{phase: mid, until: step 80, weights: {web: 50%, code: 50%}}",
        "{phase: cooldown, weights: {web: 20%, math: 80%}}",
        catalog=CATALOG,
    )
    lock = make_lock(make_plan(spec))
    found = {
        one.facts["phase"]: one.place
        for one in make_plan(spec, amends=Amendment(lock, 70)).findings
        if one.facts.get("phase")
    }
    assert found == {"mid": spec.place("phases[1].weights"), "cooldown": spec.place("phases[2].weights")}


def test_text_of_a_domain_that_grew_before_it_was_drawn_is_no_longer_fixed(lock: Lock, write_spec: WriteSpec) -> None:
    fixed = make_lock(make_plan(write_spec(*TWO, catalog=CATALOG)), content={"math": "m", "web": "w"})
    grown = write_spec(*TWO, catalog=CATALOG.replace("math,30000", "math,60000"))
    assert amended(fixed, grown, 30).content == {"web": "w"}
    known = make_lock(make_plan(grown, amends=Amendment(fixed, 30)), content={"math": "n", "web": "w"})
    assert known.content == {"math": "n", "web": "w"}


def test_figures_by_domain_are_those_of_the_rows(lock: Lock, write_spec: WriteSpec) -> None:
    spec = write_spec(
        "{phase: main, weights: {web: 10%, code: 60%, math: 30%}}",
        catalog=CATALOG, sequence_length="64", batch="4 sequences", budget="500 steps",
    )  # fmt: skip
    new = amended(lock, spec, 40)
    schedule = new.schedule()
    found = schedule.rows(0, schedule.num_sequences)
    steps, _ = schedule.steps_and_slots(found.position)
    for d, domain in enumerate(amended_domains(lock, new, 40)):
        own = found.domain == d
        assert domain.drawn == found.tokens[own & (steps < 40)].sum()
        assert domain.to_come == found.tokens[own & (steps >= 40)].sum()
        assert domain.repeated == found.tokens[own & (steps >= 40) & (found.epoch > 0)].sum()
        assert domain.epochs == Fraction(domain.drawn + domain.to_come, domain.tokens)
        assert domain.skipped == schedule.handoffs()[-1].tokens_skipped[d]
    assert any(domain.repeated for domain in amended_domains(lock, new, 40))


def test_a_longer_context_in_the_same_number_of_sequences_is_said_to_be_larger_steps(
    lock: Lock, write_spec: WriteSpec
) -> None:
    kept = write_spec(*TWO, catalog=CATALOG, sequence_length="64", batch="128 tokens")
    assert "step-tokens-changed" not in {one.code for one in make_plan(kept, amends=Amendment(lock, 30)).findings}
    plan = make_plan(write_spec(*TWO, catalog=CATALOG, sequence_length="64"), amends=Amendment(lock, 30))
    found = next(one for one in plan.findings if one.code == "step-tokens-changed")
    assert (found.facts["tokens_before"], found.facts["tokens"]) == (128, 512)
    assert "`batch: 128 tokens`" in str(found.hint)


def test_text_stays_taken_down_and_left_out_through_a_run_that_is_cut_and_made_longer_again(
    lock: Lock, write_spec: WriteSpec
) -> None:
    skipped = amended(lock, write_spec(*TWO, catalog=CATALOG), 30, skip_steps=2, masks=(Mask(70, "web", 5, 9),))
    one = "{phase: main, weights: {web: 70%, code: 30%}}"
    short = amended(skipped, write_spec(one, catalog=CATALOG, budget="50 steps"), 30)
    again = amended(short, write_spec(*TWO, catalog=CATALOG), 50)
    assert again.masks == (Mask(70, "web", 5, 9),)
    assert [segment.skip for segment in again.data.segments] == [0, 16, 0]
    assert parse_lock(lock_text(again).encode(), place=Place()) == again
