"""The promise of a schedule: after any number of sequences every domain has its share, but for a few sequences."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule.making import ROOT, from_fields, make_run, read_fields
from search_lengths import examples

from mixture.schedule import WHOLE, Schedule, ScheduleData

BOUND = 3.36
"""Sequences: the sum of the reciprocal Fibonacci numbers. Nothing may come to it, whatever the weights are."""
MEASURED, MEASURED_STRETCH = 2.5, 4.0
"""Sequences, as docs/measured.md has them: after any number of sequences, and over any stretch of a run."""


def strays(data: ScheduleData, steps: np.ndarray) -> np.ndarray:
    """How far each domain is from its share after `steps`, counted from where its weights began: [steps, domains]."""
    schedule = Schedule(data)
    skipped = np.array([handoff.tokens_skipped for handoff in schedule.handoffs()])
    ends = np.array([segment.first_step + segment.steps for segment in data.segments])
    out = []
    for step in steps.tolist():
        last = first = int(np.searchsorted(ends, step))
        while data.segments[first].skip:  # it goes on in the tree of the segment before
            first -= 1
        segment, began = data.segments[last], data.segments[first].first_step
        read = schedule.counts(step) - schedule.counts(began)
        passed = read + skipped[first + 1 : last + 1].sum(axis=0) // segment.sequence_length
        out.append(passed - passed.sum() * (np.array(segment.weights) / WHOLE))
    return np.array(out)


@st.composite
def skewed_runs(draw: st.DrawFn) -> tuple[ScheduleData, list[int]]:
    """One domain of 50 to 95% beside 2 to 2,000 small ones, over stairs, skips and batches; and steps to look at."""
    large = draw(st.integers(50, 95))
    small = draw(st.one_of(st.integers(2, 12), st.sampled_from([50, 200, 2_000])))
    rest = draw(st.lists(st.integers(1, 1_000), min_size=min(small, 40), max_size=min(small, 40)))
    parts = [rest[i % len(rest)] + i // len(rest) for i in range(small)]
    whole = sum(parts)
    segments: list[tuple] = []
    for stair in range(draw(st.integers(1, 4))):
        shares = [whole * large + stair * 7, *((100 - large) * part for part in parts)]
        segments.append((draw(st.integers(1, 1_000)), 64, shares))
        if draw(st.booleans()):
            segments.append((draw(st.integers(1, 50)), 64, shares, draw(st.integers(1, 10**6))))
    steps = sum(segment[0] for segment in segments)
    starts = sorted({0, *draw(st.lists(st.integers(1, max(1, steps - 1)), max_size=3))} & set(range(steps)))
    sizes = draw(st.lists(st.integers(1, 4_096), min_size=len(starts), max_size=len(starts), unique=True))
    data = make_run(
        {f"d{i}": 10**9 for i in range(small + 1)}, segments, list(zip(starts, sizes, strict=True)),
        seed=draw(st.integers(0, 2**63 - 1)),
    )  # fmt: skip
    ends = [segment.first_step + segment.steps for segment in data.segments]
    return data, sorted({*ends, *draw(st.lists(st.integers(1, steps), max_size=8))})


@settings(max_examples=examples(40), deadline=None)
@given(run=skewed_runs())
def test_after_any_step_every_domain_is_nearer_to_its_share_than_the_bound(run):
    data, steps = run
    assert np.abs(strays(data, np.array(steps))).max() < BOUND


def test_in_runs_of_all_kinds_a_domain_is_within_two_and_a_half_of_its_share_and_any_stretch_within_four():
    worst = worst_stretch = 0.0
    for small in (1, 2, 5, 20, 199, 1_999):
        for large in (0, 50, 80, 95):
            parts = [(i * 2_654_435_761) % 1_009 + 1 for i in range(small)]
            shares = [sum(parts) * large / (100 - large), *parts]
            data = make_run({f"d{i}": 10**9 for i in range(small + 1)}, [(1_500, 64, shares)], [(0, 7)], seed=small)
            away = strays(data, np.arange(1, 1_501, 13))
            worst = max(worst, float(np.abs(away).max()))
            worst_stretch = max(worst_stretch, float((away.max(axis=0) - away.min(axis=0)).max()))
    assert worst < MEASURED
    assert worst_stretch < MEASURED_STRETCH


def test_each_mixture_of_the_repository_has_its_shares_after_every_step_in_any_batch():
    rng = np.random.default_rng(0)
    for path in sorted(ROOT.glob("mixtures/*/mixture.lock.json")):
        data = from_fields(read_fields(path))
        steps = np.unique(rng.integers(1, data.steps + 1, 60))
        assert np.abs(strays(data, steps)).max() < MEASURED, path.parent.name
