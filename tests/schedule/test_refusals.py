"""Fields that do not make a schedule, and questions outside of one: refused with a code, a place, and figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from schedule.making import make_run, weights

from mixture.errors import ScheduleError
from mixture.schedule import MAX_SEQUENCES, WHOLE, Batch, Domain, Schedule, ScheduleData, Segment

RUN = make_run(
    {"web": 64_000, "code": 9_000},
    [(10, 16, [1, 1]), (10, 16, [1, 2]), (5, 16, [1, 2], 30)],
    [(0, 8), (12, 16)],
)


def with_segment(index: int, **changes: object) -> ScheduleData:
    segments = list(RUN.segments)
    segments[index] = replace(segments[index], **changes)
    return replace(RUN, segments=tuple(segments))


def with_domain(domain: Domain) -> ScheduleData:
    return replace(RUN, domains=(RUN.domains[0], domain))


def with_batches(*batches: tuple[int, int]) -> ScheduleData:
    return replace(RUN, batches=tuple(Batch(*batch) for batch in batches))


HALF = WHOLE // 2
MALFORMED = {
    "a seed below 0": (replace(RUN, seed=-1), "seed"),
    "a seed of 64 bits": (replace(RUN, seed=2**63), "seed"),
    "blocks of no token": (replace(RUN, block_tokens=0), "block_tokens"),
    "blocks beyond 48 bits": (replace(RUN, block_tokens=2**49), "block_tokens"),
    "windows of no block": (replace(RUN, window_blocks=0), "window_blocks"),
    "no domain": (replace(RUN, domains=()), "domains"),
    "no segment": (replace(RUN, segments=()), "segments"),
    "no batch": (replace(RUN, batches=()), "batches"),
    "a domain twice": (with_domain(Domain("web", 9_000)), "domains"),
    "tokens below 0": (with_domain(Domain("code", -1)), "domains[1]"),
    "tokens beyond 62 bits": (with_domain(Domain("code", 2**62 + 1)), "domains[1]"),
    "a pool of nothing": (with_domain(Domain("code", 9_000, 0)), "domains[1]"),
    "a pool below 0": (with_domain(Domain("code", 9_000, -5)), "domains[1]"),
    "a pool larger than its domain": (with_domain(Domain("code", 9_000, 9_001)), "domains[1]"),
    "a pool that reaches into the last, short block": (with_domain(Domain("code", 9_000, 8_961)), "domains[1]"),
    "a pool that is the whole": (with_domain(Domain("code", 8_960, 8_960)), "domains[1]"),
    "a pool that is the whole of a domain without a full block": (with_domain(Domain("code", 50, 50)), "domains[1]"),
    "a run that begins after step 0": (with_segment(0, first_step=1), "segments[0]"),
    "text left out before the run": (with_segment(0, skip=5), "segments[0]"),
    "no step in a segment": (with_segment(2, steps=0), "segments[2]"),
    "steps below 0": (with_segment(2, steps=-3), "segments[2]"),
    "sequences of no token": (with_segment(1, sequence_length=0), "segments[1]"),
    "a skip below 0": (with_segment(2, skip=-1), "segments[2]"),
    "a length that does not divide a block": (with_segment(1, sequence_length=48), "segments[1]"),
    "a length above a block": (with_segment(1, sequence_length=128), "segments[1]"),
    "a weight too few": (with_segment(1, weights=(WHOLE,)), "segments[1]"),
    "a weight too many": (with_segment(1, weights=(HALF, HALF, 0)), "segments[1]"),
    "a weight below 0": (with_segment(1, weights=(WHOLE + 1, -1)), "segments[1]"),
    "weights that sum to less": (with_segment(1, weights=(HALF, HALF - 1)), "segments[1]"),
    "weights that sum to more": (with_segment(1, weights=(HALF, HALF + 1)), "segments[1]"),
    "weights all 0": (with_segment(1, weights=(0, 0)), "segments[1]"),
    "a gap between segments": (with_segment(1, first_step=11, steps=9), "segments[1]"),
    "segments that overlap": (with_segment(1, first_step=9, steps=11), "segments[1]"),
    "segments out of order": (replace(RUN, segments=(RUN.segments[0], *RUN.segments[:0:-1])), "segments[1]"),
    "two segments that are one": (with_segment(1, weights=RUN.segments[0].weights), "segments[1]"),
    "a skip at other weights": (with_segment(1, skip=9), "segments[1]"),
    "a skip at another length": (with_segment(2, sequence_length=32), "segments[2]"),
    "batches that begin after step 0": (with_batches((1, 8)), "batches[0]"),
    "a batch of nothing": (with_batches((0, 0)), "batches[0]"),
    "a batch beyond 24 bits": (with_batches((0, 2**24 + 1)), "batches[0]"),
    "batches out of order": (with_batches((0, 8), (9, 16), (5, 32)), "batches[2]"),
    "two batches at one step": (with_batches((0, 8), (5, 16), (5, 32)), "batches[2]"),
    "two batches that are one": (with_batches((0, 8), (5, 8)), "batches[1]"),
    "a batch at the end": (with_batches((0, 8), (25, 16)), "batches[1]"),
    "more sequences than can be divided exactly": (
        replace(with_batches((0, 2**24)), segments=(Segment(0, 2**25 + 1, 16, weights([1, 1])),)),
        "batches",
    ),
    "more tokens than 62 bits": (
        make_run({"web": 2**62}, [(2**25, 2**14, [1])], [(0, 2**24)], block=2**14),
        "batches",
    ),
    "more sequences left out than can be divided exactly": (with_segment(2, skip=MAX_SEQUENCES), "batches"),
}


def test_the_run_that_the_others_spoil_is_legal():
    assert Schedule(RUN).num_sequences == 12 * 8 + 13 * 16


@pytest.mark.parametrize(("data", "path"), MALFORMED.values(), ids=MALFORMED.keys())
def test_fields_that_make_no_schedule_are_refused_where_they_stand(data, path):
    with pytest.raises(ScheduleError) as refused:
        Schedule(data)
    assert refused.value.code == "schedule-invalid"
    assert refused.value.place.path == path
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize("position", [-1, 304, 10**18, np.int64(304)])
def test_a_position_outside_of_the_run_is_refused_with_both_figures(position):
    schedule = Schedule(RUN)
    for ask in (schedule.step_of, lambda p: schedule.at([0, p]), lambda p: schedule.rows(p, 1)):
        with pytest.raises(ScheduleError, match=f"position {position:,} is not in a run of 304 sequences") as refused:
            ask(position)
        assert refused.value.code == "position-out-of-range"
        assert refused.value.facts == {"position": position, "sequences": 304}


def test_a_range_that_ends_outside_of_the_run_is_refused_before_its_first_row():
    schedule = Schedule(RUN)
    assert len(schedule.rows(300, 4)) == 4
    with pytest.raises(ScheduleError) as refused:
        next(schedule.iter_rows(0, 305))
    assert refused.value.code == "position-out-of-range"
    with pytest.raises(ScheduleError) as refused:
        schedule.rows(0, -1)
    assert refused.value.code == "count-invalid"


@pytest.mark.parametrize("step", [-1, 26, 10**18])
def test_a_step_outside_of_the_run_is_refused_with_both_figures(step):
    schedule = Schedule(RUN)
    for ask in (schedule.positions_before, schedule.counts, schedule.tokens, schedule.history):
        with pytest.raises(ScheduleError, match=f"step {step:,} is not in a run of 25 steps") as refused:
            ask(step)
        assert refused.value.code == "step-out-of-range"
        assert refused.value.facts == {"step": step, "steps": 25}


@pytest.mark.parametrize("step", [-1, 25, 10**18])
def test_a_step_that_does_not_exist_has_no_batch_and_no_length(step):
    schedule = Schedule(RUN)
    for ask in (schedule.batch_of, schedule.length_of):
        with pytest.raises(ScheduleError, match=f"step {step:,} is not in a run of 25 steps") as refused:
            ask(step)
        assert refused.value.code == "step-out-of-range"
        assert refused.value.facts == {"step": step, "steps": 25}


@pytest.mark.parametrize("token", [-1, 9_000, 10**18])
def test_a_token_that_a_domain_does_not_have_is_refused_with_both_figures(token):
    with pytest.raises(ScheduleError, match=f"token {token:,} is not in domain 'code' of 9,000 tokens") as refused:
        Schedule(RUN).find("code", token)
    assert refused.value.code == "token-out-of-range"
    assert refused.value.facts == {"token": token, "tokens": 9_000}


def test_a_token_behind_the_last_whole_sequence_or_outside_of_a_pool_is_read_nowhere():
    schedule = Schedule(make_run([Domain("a", 103), Domain("b", 640, 64)], [(100, 16, [1, 1])]))
    assert schedule.find("a", 96 + 3) == []
    read = [bool(schedule.find("b", token)) for token in range(0, 640, 64)]
    assert sum(read) == 1


def test_an_unknown_domain_is_refused_with_the_nearest_name():
    with pytest.raises(ScheduleError, match=r"unknown domain 'cod' \(did you mean 'code'\?\)") as refused:
        Schedule(RUN).find("cod", 0)
    assert refused.value.code == "unknown-domain"
    assert refused.value.facts == {"name": "cod"}
    with pytest.raises(ScheduleError) as refused:
        Schedule(RUN).find("zzz", 0)
    assert refused.value.hint is None
