"""Amending a lock without a spec: weights, text left out, text taken down."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from lock_of_run import lock_of_run
from schedule.making import make_run, to_fields

from mixture.errors import AmendError, Place
from mixture.lock import Lock, Mask, lock_text, parse_lock
from mixture.planning.amend import amend
from mixture.schedule import Rows

DOMAINS = {"a": 6_400, "b": 3_200, "c": 12_800}


def two_phases() -> Lock:
    data = make_run(DOMAINS, [(60, 16, [5, 3, 2]), (40, 16, [1, 1, 8])], [(0, 8)])
    return lock_of_run(data, ("main", 0), ("cooldown", 60))


def rows(lock: Lock, first: int, last: int) -> Rows:
    schedule = lock.schedule()
    begin = schedule.positions_before(first)
    return schedule.rows(begin, schedule.positions_before(last) - begin)


def read(lock: Lock, first: int, last: int) -> list[tuple[int, ...]]:
    found = rows(lock, first, last)
    return list(zip(found.domain.tolist(), found.draw.tolist(), found.first_token.tolist(), strict=True))


def test_weights_hold_from_the_step_to_the_end_of_its_phase() -> None:
    lock = two_phases()
    new = amend(lock, 30, {"a": "0.2", "b": Decimal("0.3"), "c": Fraction(1, 2)}, reason="fit of step 30")
    assert read(new, 0, 30) == read(lock, 0, 30)
    assert np.bincount(rows(new, 30, 60).domain).tolist() == [48, 72, 120]
    assert np.bincount(rows(new, 60, 100).domain).tolist() == np.bincount(rows(lock, 60, 100).domain).tolist()
    assert [(one.name, one.first_step, one.steps) for one in new.phases] == [
        ("main", 0, 30), ("main@30", 30, 30), ("cooldown", 60, 40),
    ]  # fmt: skip
    assert parse_lock(lock_text(new).encode(), place=Place()) == new


def test_the_whole_of_a_phase_keeps_its_name_and_a_second_amendment_its_first_one() -> None:
    lock = two_phases()
    assert [one.name for one in amend(lock, 60, {"a": 1}).phases] == ["main", "cooldown"]
    twice = amend(amend(lock, 30, {"a": 1}), 40, {"b": 1})
    assert [one.name for one in twice.phases] == ["main", "main@30", "main@40", "cooldown"]
    assert twice.amends is not None
    assert [one.step for one in (*twice.lineage, twice.amends)] == [30, 40]


def test_the_same_weights_change_nothing_that_is_read() -> None:
    lock = two_phases()
    new = amend(lock, 30, {"a": 0.5, "b": 0.3, "c": 0.2})
    assert new.data == lock.data
    assert new.phases == lock.phases


def test_a_float_counts_as_the_shortest_decimal_that_reads_back_to_it() -> None:
    lock = two_phases()
    expected = amend(lock, 30, {"a": "0.1", "b": "0.7", "c": "0.2"}).data
    assert amend(lock, 30, {"a": 0.1, "b": 0.7, "c": 0.2}).data == expected
    single = {"a": np.float32(0.1), "b": np.float32(0.7), "c": np.float32(0.2)}
    assert amend(lock, 30, single).data == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "code"),
    [
        ({"a": 0.5, "b": 0.4}, "weights-sum"),
        ({"a": 0.5, "bb": 0.5}, "unknown-domain"),
        ({"a": float("nan"), "b": 1.0}, "weight-invalid"),
        ({"a": float("inf")}, "weight-invalid"),
        ({"a": -0.1, "b": 1.1}, "weight-invalid"),
        ({"a": True}, "weight-invalid"),
        ({"a": "half"}, "weight-invalid"),
        ({"a": "1/0"}, "weight-invalid"),
        ({"a": None}, "weight-invalid"),
        ({}, "weights-sum"),
    ],
)
def test_weights_that_are_none_are_refused(weights: dict[str, float], code: str) -> None:
    with pytest.raises(AmendError) as error:
        amend(two_phases(), 30, weights)
    assert error.value.code == code


def test_a_domain_without_a_whole_sequence_can_not_be_weighed() -> None:
    lock = lock_of_run(make_run({"a": 640, "small": 10}, [(10, 16, [1, 0])]))
    with pytest.raises(AmendError, match="small") as error:
        amend(lock, 5, {"small": 1})
    assert error.value.code == "domain-too-small"


def test_text_is_left_out_at_a_step_and_all_that_comes_moves_up() -> None:
    lock = two_phases()
    new = amend(lock, 30, skip_steps=5)
    assert [(one.first_step, one.skip) for one in new.data.segments] == [(0, 0), (30, 40), (60, 0)]
    assert read(new, 0, 30) == read(lock, 0, 30)
    # What the run would have read five steps later, in the order of its draws.
    assert sorted(read(new, 30, 55)) == sorted(read(lock, 35, 60))
    assert sum(new.schedule().handoffs()[1].tokens_skipped) == 40 * 16
    assert new.phases == lock.phases


def test_text_can_only_be_left_out_where_weights_and_length_go_on() -> None:
    lock = two_phases()
    for step, following in ((60, 61), (0, 1)):
        with pytest.raises(AmendError, match=f"the next step at which it can be is {following}") as error:
            amend(lock, step, skip_steps=2)
        assert (error.value.code, error.value.facts["next_step"]) == ("skip-not-here", following)
        amend(lock, following, skip_steps=2)
    last = lock_of_run(make_run(DOMAINS, [(60, 16, [5, 3, 2]), (1, 16, [1, 1, 8])]), ("main", 0), ("cooldown", 60))
    with pytest.raises(AmendError, match="amend first, and skip at a later step") as error:
        amend(last, 60, skip_steps=2)
    assert error.value.facts["next_step"] is None
    with pytest.raises(AmendError) as error:
        amend(two_phases(), 30, {"a": 1}, skip_steps=2)
    assert (error.value.code, error.value.facts["next_step"]) == ("skip-not-here", 61)


def test_a_skip_to_come_falls_away_where_weights_no_longer_go_on_and_stays_where_they_do() -> None:
    lock = amend(two_phases(), 40, skip_steps=2)
    assert [one.skip for one in amend(lock, 20, {"a": 1}).data.segments] == [0, 0, 16, 0]  # inside of what is new
    moved = lock_of_run(
        make_run(DOMAINS, [(40, 16, [5, 3, 2]), (20, 16, [5, 3, 2], 16), (40, 16, [1, 1, 8])]),
        ("first", 0), ("main", 40), ("cooldown", 60),
    )  # fmt: skip
    assert [one.skip for one in amend(moved, 20, {"a": 1}).data.segments] == [0, 0, 0, 0]


def test_text_taken_down_at_the_step_of_a_skip_leaves_the_skip_as_it_is() -> None:
    lock = amend(two_phases(), 30, skip_steps=5)
    assert amend(lock, 30, masks=[Mask(30, "a", 0, 100)]).data == lock.data
    assert amend(lock, 30, {"a": 0.5, "b": 0.3, "c": 0.2}).data == lock.data
    assert [one.skip for one in amend(lock, 30, skip_steps=2).data.segments] == [0, 16, 0]
    assert [one.skip for one in amend(lock, 30, {"a": 1}).data.segments] == [0, 0, 0]


def test_masks_stay_through_amendments_and_none_comes_before_its_step() -> None:
    lock = two_phases()
    first = amend(lock, 30, masks=[Mask(30, "a", 100, 50)])
    assert first.data == lock.data
    second = amend(first, 40, {"a": 1}, masks=[Mask(40, "b", 0, 10), Mask(50, "a", 0, 20)])
    assert second.masks == (Mask(30, "a", 100, 50), Mask(40, "b", 0, 10), Mask(50, "a", 0, 20))
    assert parse_lock(lock_text(second).encode(), place=Place()) == second
    for wrong in (Mask(29, "a", 0, 1), Mask(30, "zzz", 0, 1), Mask(30, "a", 6_399, 2)):
        with pytest.raises(AmendError) as error:
            amend(lock, 30, masks=[wrong])
        assert error.value.code == "mask-invalid"
    with pytest.raises(AmendError, match="overlap"):
        amend(first, 40, masks=[Mask(40, "a", 149, 5)])


def test_nothing_comes_behind_the_end_and_no_amendment_before_what_was_consumed() -> None:
    lock = two_phases()
    with pytest.raises(AmendError, match="nothing is to come") as error:
        amend(lock, 100, {"a": 1})
    assert error.value.code == "amend-outside-run"
    with pytest.raises(AmendError) as error:
        amend(lock, 30, {"a": 1}, consumed_step=31)
    assert error.value.code == "amend-consumed"


@pytest.mark.long
def test_two_hundred_small_changes_starve_no_domain() -> None:
    rng = np.random.default_rng(5)
    names = [f"d{i:03}" for i in range(200)]
    base = rng.pareto(1.2, 200) + 0.05
    base /= base.sum()
    lock = lock_of_run(
        make_run(dict.fromkeys(names, 1 << 22), [(200, 16, [str(x) for x in base])], [(0, 1_024)], block=1 << 12)
    )
    ideal = base * 1_024
    weights = base
    for step in range(1, 200):
        weights = weights * (1 + 0.001 * rng.choice([-1, 1], 200))
        weights /= weights.sum()
        exact = [Fraction(str(x)) for x in weights]
        whole = sum(exact)
        lock = amend(lock, step, {name: x / whole for name, x in zip(names, exact, strict=True)})
        ideal = ideal + weights * 1_024
    drawn = lock.schedule().counts(200)
    assert (drawn[ideal >= 3] > 0).all()
    # Each segment begins its own tree, in which small shares come up a part of a sequence late: 1.74% here.
    assert np.abs(drawn - ideal).sum() / 2 < 0.02 * drawn.sum()


@pytest.mark.long
def test_a_thousand_amendments_in_a_row_are_one_run_and_a_small_lock(oracle: ModuleType) -> None:
    names = [f"d{i}" for i in range(12)]
    lock = lock_of_run(make_run(dict.fromkeys(names, 50_000), [(1_100, 16, [1] * 12)], [(0, 24)]))
    histories = {}
    for step in range(50, 1_050):
        shares = [1 + (step * (i + 3)) % 7 for i in range(12)]
        before = lock
        lock = amend(lock, step, {name: Fraction(n, sum(shares)) for name, n in zip(names, shares, strict=True)})
        histories[step] = lock.schedule().history(step)
        assert before.schedule().history(step) == histories[step]
        assert lock.amends is not None
        assert lock.amends.lock == before.digest
    schedule = lock.schedule()
    assert [schedule.history(step) for step in histories] == list(histories.values())
    assert len(lock.lineage) == 999
    text = lock_text(lock)
    assert len(text) < 800_000
    again = parse_lock(text.encode(), place=Place())
    assert again == lock
    fields = to_fields(lock.data)
    theirs = oracle.Schedule(fields)
    assert schedule.counts(1_100).tolist() == theirs.counts(1_100)
    positions = list(range(0, schedule.num_sequences, 1_009))
    ours = schedule.at(positions)
    assert ours.first_token.tolist() == [theirs.at(position)["first_token"] for position in positions]
    # What was taken over from one lock to the next is what a fresh start works out.
    fresh = again.schedule().rows(0, schedule.num_sequences)
    taken = schedule.rows(0, schedule.num_sequences)
    assert all(np.array_equal(getattr(fresh, name), getattr(taken, name)) for name in ("domain", "draw", "sequence"))
