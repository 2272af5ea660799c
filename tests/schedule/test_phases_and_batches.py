"""Where segments and batches begin: cursors go on, boundaries are where they were put, text is skipped as told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from schedule.making import make_run, weights
from schedule.random_runs import runs
from search_lengths import examples

from mixture.errors import ScheduleError
from mixture.schedule import Rows, Schedule


def draws_of(schedule: Schedule, name: str, first_step: int, end_step: int) -> list[int]:
    """The draws of a domain in some steps, in order."""
    start, end = schedule.positions_before(first_step), schedule.positions_before(end_step)
    rows = schedule.rows(start, end - start)
    return np.sort(rows.draw[rows.domain == schedule.domain_index(name)]).tolist()


def test_after_100_sequences_one_to_one_each_domain_goes_on_from_its_50th():
    schedule = Schedule(make_run({"a": 99_999, "b": 99_999}, [(10, 16, [1, 1]), (30, 16, [2, 1])], [(0, 10)]))
    assert schedule.counts(10).tolist() == [50, 50]
    assert draws_of(schedule, "a", 0, 10) == draws_of(schedule, "b", 0, 10) == list(range(50))
    assert draws_of(schedule, "a", 10, 40) == list(range(50, 250))
    assert draws_of(schedule, "b", 10, 40) == list(range(50, 150))


def test_the_cursor_of_a_domain_goes_on_where_it_is_replayed_beside_new_ones():
    schedule = Schedule(
        make_run(
            {"new": 10**6, "web": 10**6, "code": 10**6},
            [(100, 16, [0, 8, 2]), (100, 16, [30, 56, 14])],  # 30% new, 70% of what was before
            [(0, 50)],
        )
    )
    assert schedule.counts(100).tolist() == [0, 4_000, 1_000]
    assert draws_of(schedule, "web", 100, 200) == list(range(4_000, 6_800))
    assert draws_of(schedule, "code", 100, 200) == list(range(1_000, 1_700))
    assert draws_of(schedule, "new", 100, 200) == list(range(1_500))


def test_a_domain_left_out_for_a_phase_goes_on_where_it_was():
    schedule = Schedule(
        make_run({"a": 10**6, "b": 10**6}, [(50, 16, [1, 1]), (50, 16, [1, 0]), (50, 16, [1, 1])], [(0, 10)])
    )
    assert draws_of(schedule, "b", 50, 100) == []
    assert draws_of(schedule, "b", 100, 150) == list(range(250, 500))


def test_steps_are_counted_from_zero_and_the_last_step_is_the_last():
    schedule = Schedule(make_run({"a": 10**6, "b": 10**6}, [(10, 16, [1, 0]), (10, 16, [0, 1])]))
    first_phase, second_phase = schedule.rows(0, 80), schedule.rows(80, 80)
    assert set(first_phase.domain.tolist()) == {0}  # steps 0 to 9
    assert set(second_phase.domain.tolist()) == {1}  # steps 10 to 19
    assert (schedule.steps, schedule.step_of(79), schedule.step_of(80), schedule.step_of(159)) == (20, 9, 10, 19)
    with pytest.raises(ScheduleError, match="position 160 is not in a run of 160 sequences"):
        schedule.at([160])


def test_batch_8_until_step_100_then_16_puts_a_phase_at_step_150_at_position_1600():
    run = make_run({"a": 10**6, "b": 10**6}, [(150, 16, [1, 0]), (50, 16, [0, 1])], [(0, 8), (100, 16)])
    schedule = Schedule(run)
    assert schedule.positions_before(150) == 1_600
    assert schedule.batch_of(99) == 8
    assert schedule.batch_of(100) == 16
    assert schedule.rows(1_599, 2).domain.tolist() == [0, 1]
    assert Schedule(run).at([1_599, 1_600]).domain.tolist() == [0, 1]  # also when begun there


def test_the_same_weights_in_two_phases_are_one_segment_so_that_their_boundary_can_not_enter_the_order():
    for boundary in (80, 90):
        shares = weights([2, 1])
        with pytest.raises(ScheduleError, match="they are one segment") as refused:
            Schedule(make_run({"a": 999, "b": 999}, [(boundary, 16, [2, 1]), (100 - boundary, 16, [20, 10])]))
        assert refused.value.place.path == "segments[1]"
        assert shares == weights([20, 10])


def test_a_new_batch_goes_on_in_the_same_shares_without_a_seam():
    parts = [5, 3, 1, 1, 90]
    domains = {f"d{i}": 10**7 for i in range(5)}
    schedule = Schedule(make_run(domains, [(400, 16, parts)], [(0, 8), (100, 24), (250, 7)]))
    for step in range(401):
        due = schedule.positions_before(step) * np.array(parts) / 100
        assert np.abs(schedule.counts(step) - due).max() < 2
    for name in domains:
        count = int(schedule.counts(400)[schedule.domain_index(name)])
        assert draws_of(schedule, name, 0, 400) == list(range(count))


def test_steps_of_a_small_batch_differ_and_soon_have_the_shares():
    schedule = Schedule(make_run({"a": 10**7, "b": 10**7, "c": 10**7}, [(640, 16, [3, 2, 2])], [(0, 8)]))
    rows = schedule.rows(0, schedule.num_sequences)
    by_step = np.stack([np.bincount(part, minlength=3) for part in rows.domain.reshape(640, 8)])
    assert len({tuple(counts) for counts in by_step.tolist()}) >= 6  # not 4, 2, 2 again and again
    due = np.arange(1, 641)[:, None] * 8 * np.array([3, 2, 2]) / 7
    assert np.abs(np.cumsum(by_step, axis=0) - due).max() < 2


def test_a_skip_leaves_out_each_domains_share_and_what_follows_is_what_an_unbroken_run_would_read():
    unbroken = Schedule(make_run({"a": 10**7, "b": 10**7}, [(200, 16, [3, 1])], [(0, 10)]))
    skipping = Schedule(make_run({"a": 10**7, "b": 10**7}, [(100, 16, [3, 1]), (60, 16, [3, 1], 400)], [(0, 10)]))
    [none, skipped] = skipping.handoffs()
    assert (none.first_step, none.tokens_skipped) == (0, (0, 0))
    assert (skipped.first_step, skipped.tokens_skipped) == (100, (300 * 16, 100 * 16))
    for name in "ab":
        assert draws_of(skipping, name, 0, 100) == draws_of(unbroken, name, 0, 100)
        assert draws_of(skipping, name, 100, 160) == draws_of(unbroken, name, 140, 200)
    assert skipping.counts(160).sum() == 1_600  # what was left out was not drawn


def test_at_a_new_length_a_domain_goes_on_at_the_first_window_it_has_not_touched():
    block, window = 64, 2
    run = make_run({"a": block * 64}, [(50, 16, [1]), (40, 64, [1])], [(0, 1)], block=block, window=window)
    schedule = Schedule(run)
    rows: Rows = schedule.rows(0, 90)
    before, after = rows.first_token[:50] // block, rows.first_token[50:] // block
    assert not set(before.tolist()) & set(after[rows.epoch[50:] == 0].tolist())
    # 50 sequences of 16 are 12.5 blocks: the seventh window of two blocks is touched, and its rest is skipped
    assert schedule.handoffs()[1].tokens_skipped == ((14 * 4 - 50) * 16,)
    assert rows.draw[50:].min() == 14
    assert rows.epoch.tolist() == [0] * 90


def test_a_new_length_past_the_last_window_begins_the_next_epoch():
    schedule = Schedule(make_run({"a": 64 * 32}, [(127, 16, [1]), (5, 64, [1])], [(0, 1)]))
    rows = schedule.rows(0, 132)
    assert rows.epoch.tolist() == [0] * 127 + [1] * 5
    assert schedule.handoffs()[1].tokens_skipped == (16,)


def test_a_domain_not_yet_drawn_or_without_weight_skips_nothing_at_a_new_length():
    schedule = Schedule(
        make_run(
            {"drawn": 64 * 99, "resting": 64 * 99, "fresh": 64 * 99},
            [(10, 16, [1, 1, 0]), (10, 64, [1, 0, 1]), (10, 16, [1, 1, 1])],
            [(0, 10)],
        )
    )
    second, third = schedule.handoffs()[1:]
    assert second.tokens_skipped[1:] == (0, 0)
    assert third.tokens_skipped[1] == 0  # it rested, and goes on with the length it had
    assert draws_of(schedule, "resting", 20, 30)[0] == 50


def read_twice(schedule: Schedule) -> list[str]:
    """The domains of which an epoch holds some text twice."""
    rows = schedule.rows(0, schedule.num_sequences)
    order = np.lexsort((rows.first_token, rows.epoch, rows.domain))
    domain, epoch, first = rows.domain[order], rows.epoch[order], rows.first_token[order]
    overlap = first[1:] < (first + rows.tokens[order])[:-1]
    again = overlap & (domain[1:] == domain[:-1]) & (epoch[1:] == epoch[:-1])
    return sorted({schedule.names[d] for d in domain[1:][again].tolist()})


def test_a_segment_that_weighs_a_domain_and_reads_nothing_of_it_leaves_it_where_it_was():
    segments = [(1, 32, [1, 100, 100, 3]), (1, 64, [0, 1, 1, 100]), (2, 16, [1, 0, 100, 1]), (3, 32, [3, 1, 0, 0])]
    domains = {"a": 320, "b": 246, "c": 130, "d": 616}  # b: the last of its four blocks is short, and comes first
    schedule = Schedule(make_run(domains, segments, [(0, 5)], seed=60, window=1))
    counts = [schedule.counts(step)[1] for step in range(8)]
    assert counts[1] > 0
    assert counts[1] == counts[2]  # nothing of b in the second segment, which weighs it
    assert schedule.handoffs()[1].tokens_skipped[1] == 0
    assert counts[7] > counts[2]
    assert read_twice(schedule) == []


@settings(max_examples=examples(200), deadline=None)
@given(data=runs())
def test_nothing_is_read_twice_within_an_epoch(data):
    assert read_twice(Schedule(data)) == []
