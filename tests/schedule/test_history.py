"""The history before a step: the same while all before it is, and other as soon as anything before it is."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule.making import make_run, weights
from schedule.random_runs import runs
from search_lengths import examples

from mixture.errors import ScheduleError
from mixture.schedule import WHOLE, Batch, Domain, Rows, Schedule, ScheduleData, Segment, history

STEP = 120


def base() -> ScheduleData:
    """300 steps: other weights from 150, another batch from 200; `c` is first weighed from 150 on."""
    return make_run(
        [Domain("a", 64_037), Domain("b", 9_000, 2_000), Domain("c", 70_000), Domain("d", 5_000)],
        [(60, 16, [2, 1, 0, 1]), (90, 16, [1, 1, 0, 2]), (150, 64, [1, 0, 1, 1])],
        [(0, 8), (40, 12), (200, 16)],
        seed=11,
    )  # fmt: skip


def with_segment(data: ScheduleData, index: int, **changes: object) -> ScheduleData:
    segments = list(data.segments)
    segments[index] = replace(segments[index], **changes)
    return replace(data, segments=tuple(segments))


def with_domain(data: ScheduleData, index: int, **changes: object) -> ScheduleData:
    domains = list(data.domains)
    domains[index] = replace(domains[index], **changes)
    return replace(data, domains=tuple(domains))


def with_new_domain(data: ScheduleData) -> ScheduleData:
    segments = [replace(segment, weights=(*segment.weights, 0)) for segment in data.segments]
    segments[-1] = replace(segments[-1], weights=weights([1, 0, 1, 1, 5]))
    return replace(data, domains=(*data.domains, Domain("new", 10**6)), segments=tuple(segments))


def cut_to(data: ScheduleData, steps: int) -> ScheduleData:
    segments = [replace(s, steps=min(s.steps, steps - s.first_step)) for s in data.segments if s.first_step < steps]
    batches = [batch for batch in data.batches if batch.first_step < steps]
    return replace(data, segments=tuple(segments), batches=tuple(batches))


SAME_BEFORE = {
    "a longer run": lambda data: with_segment(data, 2, steps=10_000),
    "a run cut short right there": lambda data: cut_to(data, STEP),
    "a run cut short later": lambda data: cut_to(data, 170),
    "later weights": lambda data: with_segment(data, 2, weights=weights([1, 2, 3, 4])),
    "a later length": lambda data: with_segment(data, 2, sequence_length=32),
    "a later phase more": lambda data: replace(
        data, segments=(*data.segments, Segment(300, 50, 16, weights([1, 1, 1, 1])))
    ),
    "a later skip": lambda data: replace(
        data, segments=(*data.segments, Segment(300, 50, 64, data.segments[2].weights, 77))
    ),
    "the phase of that step ended there": lambda data: replace(
        data,
        segments=(
            data.segments[0],
            replace(data.segments[1], steps=STEP - 60),
            Segment(STEP, 180, 32, weights([0, 0, 1, 0])),
        ),
    ),
    "an added domain": with_new_domain,
    "more tokens in a domain first weighed later": lambda data: with_domain(data, 2, tokens=10**9),
    "another name of a domain first weighed later": lambda data: with_domain(data, 2, name="other"),
    "a later batch": lambda data: replace(data, batches=(*data.batches[:2], Batch(STEP, 4))),
    "no later batch": lambda data: replace(data, batches=data.batches[:2]),
}

OTHER_BEFORE = {
    "the seed": lambda data: replace(data, seed=12),
    "the blocks": lambda data: replace(data, block_tokens=128),
    "the window": lambda data: replace(data, window_blocks=2),
    "a weight": lambda data: with_segment(data, 0, weights=weights([2, 1, 0, 2])),
    "a weight by the least there is": lambda data: with_segment(
        data, 1, weights=tuple(w + nudge for w, nudge in zip(data.segments[1].weights, (1, -1, 0, 0), strict=True))
    ),
    "a length": lambda data: with_segment(data, 0, sequence_length=8),
    "a boundary": lambda data: replace(
        data, segments=(replace(data.segments[0], steps=61), replace(data.segments[1], first_step=61, steps=89),
                        data.segments[2])
    ),
    "a skip": lambda data: replace(
        data, segments=(replace(data.segments[0], steps=30), Segment(30, 30, 16, data.segments[0].weights, 1),
                        *data.segments[1:])
    ),
    "the batch": lambda data: replace(data, batches=(Batch(0, 9), *data.batches[1:])),
    "when the batch changes": lambda data: replace(
        data, batches=(data.batches[0], replace(data.batches[1], first_step=41), data.batches[2])
    ),
    "a domain's tokens": lambda data: with_domain(data, 0, tokens=64_038),
    "a domain's name": lambda data: with_domain(data, 0, name="A"),
    "a pool": lambda data: with_domain(data, 1, pool_tokens=2_001),
    "no pool": lambda data: with_domain(data, 1, pool_tokens=None),
    "the order of the domains": lambda data: replace(
        data,
        domains=(data.domains[1], data.domains[0], *data.domains[2:]),
        segments=tuple(replace(s, weights=(s.weights[1], s.weights[0], *s.weights[2:])) for s in data.segments),
    ),
}  # fmt: skip


def rows_before(data: ScheduleData, step: int) -> Rows:
    schedule = Schedule(data)
    return schedule.rows(0, schedule.positions_before(step))


def reads(data: ScheduleData, step: int) -> list[list]:
    """What is read before a step, with domains by name."""
    rows = rows_before(data, step)
    names = [data.domains[d].name for d in rows.domain.tolist()]
    return [names] + [getattr(rows, f.name).tolist() for f in fields(Rows) if f.name != "domain"]


@pytest.mark.parametrize("change", SAME_BEFORE.values(), ids=SAME_BEFORE.keys())
def test_what_comes_later_changes_neither_the_history_nor_what_is_read(change):
    changed = change(base())
    assert changed != base()
    for step in (1, 60, 61, STEP):
        assert Schedule(changed).history(step) == Schedule(base()).history(step)
    assert reads(changed, STEP) == reads(base(), STEP)


@pytest.mark.parametrize("change", OTHER_BEFORE.values(), ids=OTHER_BEFORE.keys())
def test_anything_that_comes_before_changes_the_history(change):
    changed = change(base())
    Schedule(changed)  # a legal run
    assert history(changed, STEP) != history(base(), STEP)


def test_each_step_has_its_own_history():
    known = [history(base(), step) for step in range(301)]
    assert len(set(known)) == 301
    assert all(len(text) == 64 and text == text.lower() for text in known)


@settings(max_examples=examples(60))
@given(data=runs(), steps=st.integers(1, 200))
def test_a_run_cut_short_anywhere_reads_the_same_until_there(data, steps):
    whole = Schedule(data)
    steps = min(steps, whole.steps)
    cut = Schedule(cut_to(data, steps))
    assert cut.num_sequences == whole.positions_before(steps)
    assert cut.history(steps) == whole.history(steps)
    ours, theirs = cut.rows(0, cut.num_sequences), whole.rows(0, cut.num_sequences)
    assert all(np.array_equal(getattr(ours, f.name), getattr(theirs, f.name)) for f in fields(Rows))
    assert np.array_equal(cut.counts(steps), whole.counts(steps))


def test_a_run_of_a_thousand_steps_is_the_beginning_of_one_of_two_thousand():
    def planned(steps: int) -> ScheduleData:
        return make_run({"a": 64_037, "b": 900_001}, [(steps, 16, [1, 3])], [(0, 24)])

    short = rows_before(planned(1_000), 1_000)
    long = rows_before(planned(2_000), 1_000)
    assert len(short) == 24_000
    assert all(np.array_equal(getattr(short, f.name), getattr(long, f.name)) for f in fields(Rows))
    assert history(planned(1_000), 1_000) == history(planned(2_000), 1_000)


def test_names_enter_the_history_as_written():
    def named(name: str) -> str:
        share = (WHOLE,)
        return history(ScheduleData(0, 64, 1, (Domain(name, 64),), (Segment(0, 1, 64, share),), (Batch(0, 1),)), 1)

    names = ["koln", "köln", "ko\u0308ln", "KÖLN", "08", "8", 'a"b', "a\\b"]
    assert len({named(name) for name in names}) == len(names)


def test_a_history_outside_of_the_run_is_refused():
    for step in (-1, 301):
        with pytest.raises(ScheduleError) as refused:
            Schedule(base()).history(step)
        assert refused.value.code == "step-out-of-range"
