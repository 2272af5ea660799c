"""Reads of a range of tokens, their number, and what has been read of a domain, against every row of the run."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from schedule.making import make_run
from schedule.random_runs import runs
from search_lengths import examples

from mixture.errors import ScheduleError
from mixture.schedule import Domain, Schedule, ScheduleData


def rows_that_hold(schedule: Schedule, domain: int, first: int, tokens: int, first_step: int) -> list[tuple[int, ...]]:
    """(position, draw, epoch, sequence) of all rows that hold any of these tokens, from the whole run."""
    rows = schedule.rows(0, schedule.num_sequences)
    held = (rows.domain == domain) & (rows.first_token < first + tokens) & (rows.first_token + rows.tokens > first)
    held &= rows.position >= schedule.positions_before(first_step)
    columns = (rows.position, rows.draw, rows.epoch, rows.sequence)
    return list(zip(*(column[held].tolist() for column in columns), strict=True))


def check_reads(schedule: Schedule, domain: int, first: int, tokens: int, first_step: int) -> None:
    name = schedule.names[domain]
    found = [
        (schedule.positions_before(read.step) + read.slot, read.draw, read.epoch, read.sequence)
        for read in schedule.reads(name, first, tokens, first_step=first_step)
    ]
    assert found == rows_that_hold(schedule, domain, first, tokens, first_step)
    assert schedule.count_reads(name, first, tokens, first_step=first_step) == len(found)


@settings(max_examples=examples(120))
@given(data=runs())
def test_ranges_of_tokens_of_a_random_run_are_read_where_its_rows_hold_them(data: ScheduleData):
    rng = random.Random(data.seed)
    schedule = Schedule(data)
    rows = schedule.rows(0, schedule.num_sequences)
    for _ in range(4):
        row = rng.randrange(len(rows))
        length = int(rows.tokens[row])
        tokens = min(rng.choice([1, length, 3 * length]), data.domains[rows.domain[row]].tokens)
        first = min(int(rows.first_token[row]) + rng.randrange(length), data.domains[rows.domain[row]].tokens - tokens)
        check_reads(schedule, int(rows.domain[row]), first, tokens, rng.choice([0, rng.randrange(schedule.steps + 1)]))


MANY = make_run({"a": 40_000, "b": 997}, [(30, 4, [3, 1]), (40, 16, [1, 1]), (30, 4, [1, 2])], ((0, 400),))


@pytest.mark.parametrize("first_step", [0, 45, 99])
def test_more_sequences_than_are_looked_up_one_by_one_are_found_in_order(first_step: int):
    check_reads(Schedule(MANY), 0, 100, 39_000, first_step)


def test_a_domain_of_one_sequence_is_counted_a_billion_times_and_read_when_asked():
    schedule = Schedule(make_run({"a": 64, "b": 64_000}, [(10**9, 64, [1, 7])]))
    assert schedule.count_reads("a", 3, 9) == int(schedule.counts(schedule.steps)[0])
    later = schedule.reads("a", 3, 9, first_step=10**9 - 5)
    assert next(later).step == 10**9 - 5


def test_tokens_outside_of_a_domain_are_refused():
    schedule = Schedule(MANY)
    for first, tokens in ((0, 998), (997, 1), (-1, 2), (5, 0)):
        with pytest.raises(ScheduleError, match="'b' of 997") as raised:
            schedule.reads("b", first, tokens)
        assert raised.value.code == "token-out-of-range"


def check_coverage(schedule: Schedule, step: int) -> None:
    rows = schedule.rows(0, schedule.positions_before(step))
    for d, domain in enumerate(schedule.data.domains):
        times = np.zeros(domain.tokens, np.int64)
        of = rows.domain == d
        for first, length in zip(rows.first_token[of].tolist(), rows.tokens[of].tolist(), strict=True):
            times[first : first + length] += 1
        read, in_all = schedule.coverage(d, step).before(np.arange(domain.tokens + 1))
        assert in_all.tolist() == [0, *np.cumsum(times).tolist()]
        assert read.tolist() == [0, *np.cumsum(times > 0).tolist()]


@settings(max_examples=examples(150))
@given(data=runs(), choice=st.randoms(use_true_random=False))
def test_what_a_random_run_has_read_of_each_token_is_what_its_rows_say(data: ScheduleData, choice: random.Random):
    assume(max(domain.tokens for domain in data.domains) <= 1 << 20)
    schedule = Schedule(data)
    for step in {0, schedule.steps, choice.randrange(schedule.steps), choice.randrange(schedule.steps)}:
        check_coverage(schedule, step)


POOLS = (Domain("pool", 1_600, 768), Domain("little", 60, 33), Domain("whole", 4_021), Domain("idle", 500))


@pytest.mark.parametrize("window", [1, 3, 64])
@pytest.mark.parametrize("step", [0, 1, 17, 40, 41, 77, 90, 91, 150, 229, 230])
def test_what_was_read_is_right_with_pools_lengths_skips_and_several_epochs(step: int, window: int):
    segments = [
        (40, 4, [5, 1, 9, 0]), (50, 16, [5, 1, 9, 0]), (60, 16, [5, 1, 9, 0], 37), (80, 8, [1, 1, 9, 0])
    ]  # fmt: skip
    batches = ((0, 7), (77, 16))
    check_coverage(Schedule(make_run(POOLS, segments, batches, block=16, window=window)), step)


def test_a_run_of_a_thousand_short_stretches_reads_what_its_rows_say():
    segments = [(1, 8, [i % 7 + 1, 3]) for i in range(1_000)]
    schedule = Schedule(make_run({"a": 9_001, "b": 40_000}, segments, ((0, 11),)))
    check_coverage(schedule, 750)
    check_reads(schedule, 0, 4_000, 30, 0)
