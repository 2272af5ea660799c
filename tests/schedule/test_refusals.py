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
        schedule.iter_rows(0, 305)
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


def test_no_row_is_asked_for_in_the_run_or_at_its_end_and_not_beyond():
    schedule = Schedule(RUN)
    for start in (0, 17, 304):
        assert len(schedule.rows(start, 0)) == 0
    for start in (-1, 305, 10**18):
        with pytest.raises(ScheduleError, match="is not in a run of 304 sequences") as refused:
            schedule.iter_rows(start, 0)
        assert refused.value.code == "position-out-of-range"


NO_INTEGERS = (True, np.True_, 1.0, np.float64(1), "1", None, [1], np.array([1, 2]))
OF_A_STEP = {
    "positions_before": lambda s, x: s.positions_before(x),
    "batch_of": lambda s, x: s.batch_of(x),
    "length_of": lambda s, x: s.length_of(x),
    "counts": lambda s, x: s.counts(x),
    "tokens": lambda s, x: s.tokens(x),
    "tokens_repeated": lambda s, x: s.tokens_repeated(x),
    "history": lambda s, x: s.history(x),
    "coverage": lambda s, x: s.coverage(0, x),
    "draws from": lambda s, x: s.draws(0, x),
    "draws to": lambda s, x: s.draws(0, 0, x),
    "reads": lambda s, x: s.reads("web", 0, 1, first_step=x),
    "count_reads": lambda s, x: s.count_reads("web", 0, 1, first_step=x),
    "step_rows": lambda s, x: s.step_rows(x, 0, range(1)),
}
OTHERS = {
    "step_of": (lambda s, x: s.step_of(x), "position-out-of-range", (-1, 304)),
    "rows": (lambda s, x: s.rows(x, 1), "position-out-of-range", (-1, 304)),
    "rows of": (lambda s, x: s.iter_rows(0, x), "count-invalid", (-1,)),
    "rows beyond": (lambda s, x: s.iter_rows(1, x), "position-out-of-range", (304, 10**30)),
    "at": (lambda s, x: s.at([x]), "position-out-of-range", (-1, 304)),
    "steps_and_slots": (lambda s, x: s.steps_and_slots(np.array([x])), "position-out-of-range", (-1, 304, 2**63)),
    "step_rows of": (lambda s, x: s.step_rows(3, x, range(1)), "count-invalid", (-1,)),
    "step_rows beyond": (lambda s, x: s.step_rows(3, x, range(1)), "step-out-of-range", (23, 10**30)),
    "slots": (lambda s, x: s.step_rows(0, 13, range(x)), "slot-out-of-range", (9, 16)),
    "slots before": (lambda s, x: s.step_rows(0, 3, range(x, 4)), "slot-out-of-range", (-1, 5)),
    "slots apart": (lambda s, x: s.step_rows(0, 3, range(0, 6, x)), "slot-out-of-range", (2, 3)),
    "draws backwards": (lambda s, x: s.draws(0, 9, x), "step-out-of-range", (-1, 0, 8)),
    "draws": (lambda s, x: s.draws(x), "unknown-domain", (-1, 2, "web")),
    "coverage": (lambda s, x: s.coverage(x, 3), "unknown-domain", (-1, 2, "web")),
    "nth of": (lambda s, x: s.nth(np.array([x]), np.array([0])), "unknown-domain", (-1, 2, "web", 2**63)),
    "nth": (lambda s, x: s.nth(np.array([0]), np.array([x])), "draw-out-of-range", (-1, 999, 2**63)),
    "domain_index": (lambda s, x: s.domain_index(x), "unknown-domain", (0, "", "wob")),
    "find in": (lambda s, x: s.find(x, 0), "unknown-domain", (0, "", "wob")),
    "find": (lambda s, x: s.find("code", x), "token-out-of-range", (-1, 9_000)),
    "reads": (lambda s, x: s.reads("code", x, 2), "token-out-of-range", (-1, 8_999)),
    "reads of": (lambda s, x: s.reads("code", 5, x), "token-out-of-range", (0, -1)),
    "count_reads": (lambda s, x: s.count_reads("code", 5, x), "token-out-of-range", (9_000,)),
}


def test_every_method_refuses_what_is_no_step_of_the_run():
    schedule = Schedule(RUN)
    for method, ask in OF_A_STEP.items():
        for step in (*NO_INTEGERS, -1, 26, np.int64(-1), np.uint64(2**63)):
            if method == "draws to" and step is None:
                continue  # the end of the run
            with pytest.raises(ScheduleError, match="step") as refused:
                ask(schedule, step)
            assert refused.value.code == "step-out-of-range", (method, step)


def test_every_method_refuses_what_lies_outside_and_is_no_integer():
    schedule = Schedule(RUN)
    for method, (ask, code, values) in OTHERS.items():
        for value in values:
            with pytest.raises(ScheduleError) as refused:
                ask(schedule, value)
            assert refused.value.code == code, (method, value)
            assert str(refused.value)
        if method.startswith("slots"):
            continue  # a range is of integers
        kind = code if method not in ("rows beyond", "step_rows beyond", "reads of", "count_reads") else "count-invalid"
        for value in (True, 1.0):
            with pytest.raises(ScheduleError) as refused:
                ask(schedule, value)
            assert refused.value.code == kind, (method, value)


def test_arrays_that_are_no_pairs_and_slots_that_are_no_range_are_refused():
    schedule = Schedule(RUN)
    zeros = np.zeros(3, np.int64)
    for domain, number in ((zeros, zeros[:2]), (zeros[0], zeros[0]), (zeros, zeros + 0.0), (zeros > 0, zeros)):
        with pytest.raises(ScheduleError):
            schedule.nth(domain, number)
    with pytest.raises(ScheduleError, match="not a range"):
        schedule.step_rows(0, 1, slice(0, 4))


def test_numpys_integers_of_any_width_answer_as_pythons():
    schedule = Schedule(make_run({"web": 2**40}, [(200, 16, [1])], [(0, 2**24)], block=2**14))
    for kind in (np.uint8, np.int16, np.uint64):
        step = kind(127)
        assert schedule.positions_before(step) == 127 * 2**24
        assert schedule.history(step) == schedule.history(127)
        assert schedule.rows(kind(3), kind(2)).position.tolist() == [3, 4]
        assert schedule.at([kind(9)]).position.tolist() == [9]
        pair = schedule.nth(np.array([0], kind), np.array([5], kind))
        assert pair.position.tolist() == schedule.nth(np.array([0]), np.array([5])).position.tolist()
        assert [part.tolist() for part in schedule.steps_and_slots(np.array([7], kind))] == [[0], [7]]
        assert schedule.count_reads("web", kind(0), kind(1), first_step=kind(1)) == schedule.count_reads(
            "web", 0, 1, first_step=1
        )
