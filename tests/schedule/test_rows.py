"""Ranges, single positions and finds are three ways to the same answer, at no cost that grows with the run."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule.making import make_run
from schedule.random_runs import runs
from search_lengths import examples

from mixture.schedule import Batch, Domain, Rows, Schedule, ScheduleData, Segment


def assert_same(a: Rows, b: Rows) -> None:
    for field in fields(Rows):
        assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


@settings(max_examples=examples(60))
@given(data=runs(), random=st.randoms(use_true_random=False))
def test_a_range_equals_its_single_positions_and_any_split_of_it(data, random):
    whole = Schedule(data)
    rows = whole.rows(0, whole.num_sequences)
    assert np.array_equal(rows.position, np.arange(whole.num_sequences))

    some = [random.randrange(whole.num_sequences) for _ in range(40)]
    assert_same(Schedule(data).at(some), Rows(*(getattr(rows, field.name)[some] for field in fields(Rows))))

    again = Schedule(data)
    cuts = sorted({0, whole.num_sequences, *(random.randrange(whole.num_sequences + 1) for _ in range(12))})
    spans = list(pairwise(cuts))
    random.shuffle(spans)  # what was asked before does not matter
    parts = sorted((again.rows(a, b - a) for a, b in spans), key=lambda part: part.position[0])
    assert_same(Rows.join(parts), rows)


@settings(max_examples=examples(60))
@given(data=runs(), random=st.randoms(use_true_random=False))
def test_steps_and_slots_of_positions_are_those_of_each_one(data, random):
    schedule = Schedule(data)
    positions = [random.randrange(schedule.num_sequences) for _ in range(20)] + [0, schedule.num_sequences - 1]
    steps, slots = schedule.steps_and_slots(np.array(positions))
    assert steps.tolist() == [schedule.step_of(position) for position in positions]
    assert [schedule.positions_before(step) for step in steps.tolist()] == (np.array(positions) - slots).tolist()


@settings(max_examples=examples(60))
@given(data=runs(), random=st.randoms(use_true_random=False))
def test_find_gives_all_positions_of_a_token_and_no_others(data, random):
    schedule = Schedule(data)
    rows = schedule.rows(0, schedule.num_sequences)
    ends = rows.first_token + rows.tokens
    for _ in range(8):
        i = random.randrange(schedule.num_sequences)
        token = int(rows.first_token[i]) + random.randrange(int(rows.tokens[i]))
        covers = (rows.domain == rows.domain[i]) & (rows.first_token <= token) & (token < ends)
        assert schedule.find(schedule.names[rows.domain[i]], token) == np.flatnonzero(covers).tolist()
    for d, domain in enumerate(data.domains):
        token = domain.tokens - 1 - random.randrange(min(domain.tokens, 50))
        covers = (rows.domain == d) & (rows.first_token <= token) & (token < ends)
        assert schedule.find(domain.name, token) == np.flatnonzero(covers).tolist()


@settings(max_examples=examples(60))
@given(data=runs())
def test_counts_before_a_step_are_what_the_rows_before_it_hold(data):
    schedule = Schedule(data)
    rows = schedule.rows(0, schedule.num_sequences)
    before = np.zeros(len(data.domains), dtype=np.int64)
    for step in range(0, schedule.steps + 1, max(1, schedule.steps // 12)):
        end = schedule.positions_before(step)
        counts = np.bincount(rows.domain[:end], minlength=len(data.domains))
        tokens = np.bincount(rows.domain[:end], weights=rows.tokens[:end], minlength=len(data.domains))
        assert np.array_equal(schedule.counts(step), counts)
        assert np.array_equal(schedule.tokens(step), tokens.astype(np.int64))
        assert counts.sum() == end
        assert (counts >= before).all()
        before = counts


@given(data=runs())
def test_steps_and_positions_lead_to_each_other(data):
    schedule = Schedule(data)
    for step in range(schedule.steps):
        first = schedule.positions_before(step)
        assert schedule.step_of(first) == step
        assert schedule.step_of(first + schedule.batch_of(step) - 1) == step
    assert schedule.positions_before(schedule.steps) == schedule.num_sequences


def test_rows_have_the_shapes_and_types_that_they_promise():
    schedule = Schedule(make_run({"a": 999, "b": 500}, [(10, 16, [2, 1])]))
    for rows in (schedule.rows(3, 20), schedule.at([5, 1, 5]), schedule.rows(0, 0), schedule.at([])):
        for field in fields(Rows):
            column = getattr(rows, field.name)
            assert column.dtype == (np.int32 if field.name == "domain" else np.int64)
            assert column.shape == (len(rows),)
        assert np.array_equal(rows.first_token, rows.sequence * rows.tokens)
    assert schedule.at([5, 1, 5]).position.tolist() == [5, 1, 5]
    assert len(schedule.rows(0, 0)) == 0 == len(schedule.at([]))


def test_the_far_end_of_the_longest_run_can_be_read_and_found():
    steps, batch = 2**49 // 4_096, 4_096
    data = ScheduleData(
        seed=2**63 - 1, block_tokens=65_536, window_blocks=64,
        domains=(Domain("small", 65_536 * 100), Domain("vast", 2**62)),
        segments=(Segment(0, steps, 4_096, (1, 10**15 - 1)),), batches=(Batch(0, batch),),
    )  # fmt: skip
    schedule = Schedule(data)
    assert schedule.num_sequences == 2**49
    assert schedule.counts(schedule.steps).sum() == 2**49
    last = schedule.rows(2**49 - 3 * batch, 3 * batch)
    vast = last.domain == 1
    assert np.unique(last.sequence[vast]).size == vast.sum()
    assert (last.first_token[vast] + 4_096 <= 2**62).all()
    for i in np.flatnonzero(vast)[::2_000].tolist():
        assert schedule.find("vast", int(last.first_token[i]))[-1] == last.position[i]


@pytest.mark.parametrize("batch", [512, 8])
def test_reading_on_and_on_takes_no_more_memory(batch):
    num, rows_each = 20, 1 << 18
    domains = [Domain(f"d{i:02}", 65_536 * (17_000 + i * 999) + i) for i in range(num)]
    data = make_run(domains, [(10**9 // batch, 4_096, [1] * num)], [(0, batch)], block=65_536)
    schedule = Schedule(data)
    at_rest = []
    tracemalloc.start()
    try:
        for part in range(6):
            for rows in schedule.iter_rows(part * rows_each * 37, rows_each):
                assert len(rows) > 0
            del rows
            at_rest.append(tracemalloc.get_traced_memory()[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(at_rest[2:]) < at_rest[1] + (4 << 20)
    assert peak < 200 << 20


def test_blocks_far_larger_than_memory_are_read_draw_by_draw():
    block = 1 << 40  # two billion sequences of 512 tokens
    domains = [Domain("a", 200 * block + 12_345), Domain("b", block // 3), Domain("c", 70 * block, 5 * block - 999)]
    schedule = Schedule(make_run(domains, [(10**6, 512, [5, 2, 3])], [(0, 1_000)], block=block))
    tracemalloc.start()
    try:
        rows = schedule.rows(123_456_789, 20_000)
        found = [schedule.find(schedule.names[rows.domain[i]], int(rows.first_token[i])) for i in range(50)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == [[position] for position in rows.position[:50].tolist()]
    assert_same(schedule.at(rows.position[:50].tolist()), Rows(*(getattr(rows, f.name)[:50] for f in fields(Rows))))
    assert np.unique(rows.domain * np.int64(2**60) + rows.sequence).size == len(rows)
    assert peak < 64 << 20


def test_tiny_batches_of_many_domains_take_no_more_memory_than_large_ones():
    data = make_run({f"d{i}": 10_000 for i in range(500)}, [(60_000, 16, [1] * 500)], [(0, 1)])
    schedule = Schedule(data)
    tracemalloc.start()
    try:
        rows = sum(len(part) for part in schedule.iter_rows(0, 60_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 60_000
    assert peak < 150 << 20  # counts by domain of all these steps at once would take 240 MB, three times over


def test_a_schedule_goes_to_another_process_and_reads_the_same_there():
    data = make_run({"a": 10_000, "b": 30_000}, [(100, 16, [1, 2])], [(0, 8)])
    schedule = Schedule(data)
    before = schedule.rows(0, 800)
    assert_same(pickle.loads(pickle.dumps(schedule)).rows(0, 800), before)
