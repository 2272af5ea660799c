"""Slots of a step: dealt so that every rank has nearly the step's shares, and the same for every number of ranks."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedule.making import ROOT, from_fields, make_run

from mixture.errors import ScheduleError
from mixture.schedule import Rows, Schedule
from mixture.schedule.step_slots import golden_stride

BATCH = 11_264
WORLDS = [r for r in range(1, 513) if BATCH % r == 0]


@pytest.fixture(scope="module")
def marin() -> Schedule:
    path = ROOT / "mixtures" / "marin-535b-a23b" / "mixture.lock.json"
    return Schedule(from_fields(json.loads(path.read_text(encoding="utf-8"))))


def slots_of(rank: int, world_size: int, batch: int) -> range:
    return range(rank * batch // world_size, (rank + 1) * batch // world_size)


def test_each_of_24_slots_is_read_once_by_8_ranks_then_6_then_1():
    schedule = Schedule(make_run({"a": 9_999, "b": 99_999, "c": 777}, [(300, 16, [5, 2, 1])], [(0, 24)]))
    whole = schedule.rows(0, 24 * 300)
    for world_size, first, end in ((8, 0, 100), (6, 100, 200), (1, 200, 300)):
        of_ranks = [
            Rows.join(list(Schedule(schedule.data).step_rows(first, end - first, slots_of(rank, world_size, 24))))
            for rank in range(world_size)
        ]
        assert all(len(rows) == 24 * 100 // world_size for rows in of_ranks)
        joined = Rows.join(of_ranks)
        order = np.argsort(joined.position)
        for field in fields(Rows):
            expected = getattr(whole, field.name)[24 * first : 24 * end]
            assert np.array_equal(getattr(joined, field.name)[order], expected), field.name


@given(
    batch=st.integers(1, 70), first=st.integers(0, 40), steps=st.integers(0, 60), data=st.data()
)  # fmt: skip
def test_any_run_of_slots_of_any_steps_is_cut_out_of_the_whole(batch, first, steps, data):
    domains = {"a": 9_999, "b": 99_999, "c": 777}
    schedule = Schedule(make_run(domains, [(55, 16, [5, 2, 1]), (45, 64, [1, 1, 0])], [(0, batch)]))
    start = data.draw(st.integers(0, batch))
    slots = range(start, data.draw(st.integers(start, batch)))
    rows = Rows.join(list(schedule.step_rows(first, steps, slots)))
    positions = [step * batch + slot for step in range(first, first + steps) for slot in slots]
    expected = schedule.at(positions)
    assert all(np.array_equal(getattr(rows, f.name), getattr(expected, f.name)) for f in fields(Rows))


@pytest.mark.parametrize("world_size", [3, 5, 7])
def test_ranks_that_do_not_divide_a_batch_still_read_each_slot_once(world_size):
    slots = [slot for rank in range(world_size) for slot in slots_of(rank, world_size, 64)]
    assert slots == list(range(64))


def test_slots_that_a_step_does_not_have_are_refused():
    schedule = Schedule(make_run({"a": 9_999}, [(20, 16, [1])], [(0, 24), (10, 8)]))
    list(schedule.step_rows(0, 10, range(16, 24)))
    for first, slots in ((0, range(20, 25)), (9, range(16, 24)), (0, range(-1, 3))):
        with pytest.raises(ScheduleError) as refused:
            list(schedule.step_rows(first, 5, slots))
        assert refused.value.code == "slot-out-of-range"


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 6, 8, 12, 30, 64, 210, 1_000, 11_264, 65_536, 30_030])
def test_every_place_of_a_step_is_dealt_to_one_slot(batch):
    stride = golden_stride(batch)
    assert sorted(i * stride % batch for i in range(batch)) == list(range(batch))
    assert batch < 30 or abs(stride / batch - 0.618) < 0.06


def test_every_rank_of_every_world_size_holds_each_domain_within_six_of_its_share(marin):
    num = len(marin.names)
    for step in (0, 1, 107_999, 108_000, 200_000, 312_191, 312_192, 350_123, 390_250):
        rows = marin.rows(marin.positions_before(step), BATCH)
        in_step = np.bincount(rows.domain, minlength=num)
        for world_size in WORLDS:
            rank = np.arange(BATCH) * world_size // BATCH
            held = np.bincount(rank * num + rows.domain, minlength=world_size * num).reshape(world_size, num)
            assert np.abs(held - in_step / world_size).max() < 6, (step, world_size)


def test_a_quarter_of_a_step_has_its_shares_far_better_than_a_shuffle_would_give(marin):
    num = len(marin.names)
    away = []
    for step in range(5_000, 5_030):
        rows = marin.rows(marin.positions_before(step), BATCH)
        shares = np.bincount(rows.domain, minlength=num) / BATCH
        for quarter in rows.domain.reshape(4, -1):
            away.append(np.abs(np.bincount(quarter, minlength=num) / quarter.size - shares).sum() / 2)
    assert np.mean(away) < 0.035  # shuffled: 0.076


def test_over_the_steps_every_rank_sees_every_domain(marin):
    num, steps = len(marin.names), 300
    rows = marin.rows(marin.positions_before(120_000), steps * BATCH)
    expected = np.array(marin.data.segments[1].weights) / 10**15 * BATCH * steps
    slot = (rows.position - marin.positions_before(120_000)) % BATCH
    for world_size in (8, 44, 512):
        rank = slot * world_size // BATCH
        seen = np.bincount(rank * num + rows.domain, minlength=world_size * num).reshape(world_size, num)
        often_enough = expected / world_size > 15
        assert often_enough.sum() > 100
        assert seen[:, often_enough].min() > 0
