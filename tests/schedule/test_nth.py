"""The nth sequence that a run reads of a domain, against the oracle, wherever it lies."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from schedule.asking import answers
from schedule.making import make_run, to_fields
from schedule.random_runs import runs
from search_lengths import examples

from mixture.errors import ScheduleError
from mixture.schedule import Schedule


@settings(max_examples=examples(80))
@given(data=runs())
def test_the_nth_sequence_of_a_domain_is_the_oracles(oracle, data):
    theirs, ours = oracle.Schedule(to_fields(data)), Schedule(data)
    rng = random.Random(data.seed)
    rows = [theirs.at(position) for position in range(min(400, theirs.before(theirs.steps)))]
    by_domain: dict[str, list[dict]] = {}
    for row in sorted(rows, key=lambda row: (row["step"], row["draw"])):
        by_domain.setdefault(row["domain"], []).append(row)
    whole = {row["step"] for row in rows}
    if len(rows) < theirs.before(theirs.steps):
        whole.discard(rows[-1]["step"])  # of its rows not all were asked for
    wanted = [(n, row) for held in by_domain.values() for n, row in enumerate(held) if row["step"] in whole]
    rng.shuffle(wanted)
    domain = np.array([ours.domain_index(row["domain"]) for _, row in wanted], dtype=np.int64)
    number = np.array([n for n, _ in wanted], dtype=np.int64)
    assert answers(ours, ours.nth(domain, number)) == [row for _, row in wanted]


def test_all_of_a_run_is_found_once_and_a_single_one_as_among_many():
    domains = {"a": 5_000, "b": 700_000, "c": 90_000}
    schedule = Schedule(
        make_run(domains, [(40, 16, [1, 6, 3]), (50, 32, [2, 1, 0]), (9, 16, [1, 1, 8])], [(0, 64), (20, 24)])
    )
    counts = schedule.counts(schedule.steps)
    domain = np.repeat(np.arange(3), counts)
    number = np.concatenate([np.arange(count) for count in counts])
    order = np.random.default_rng(5).permutation(number.size)
    rows = schedule.nth(domain[order], number[order])
    assert sorted(rows.position.tolist()) == list(range(schedule.num_sequences))
    every = schedule.rows(0, schedule.num_sequences)
    for name in ("domain", "draw", "epoch", "sequence", "tokens"):
        assert np.array_equal(getattr(rows, name), getattr(every, name)[rows.position])
    for i in order[:200]:
        (alone,) = schedule.nth(domain[i : i + 1], number[i : i + 1]).position.tolist()
        assert alone == rows.position[np.flatnonzero(order == i)[0]]


@pytest.mark.parametrize("number", [-1, 40])
def test_a_number_that_the_run_does_not_reach_is_refused(number):
    schedule = Schedule(make_run({"a": 5_000}, [(5, 16, [1])]))
    with pytest.raises(ScheduleError, match="40 sequences of domain 'a'") as refused:
        schedule.nth(np.array([0]), np.array([number]))
    assert refused.value.code == "draw-out-of-range"
    assert len(schedule.nth(np.empty(0, np.int64), np.empty(0, np.int64))) == 0
