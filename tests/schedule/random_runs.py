"""Runs of every kind, for property tests: domains of all sizes, pools, lengths, batches, skips."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from mixture.schedule import WHOLE, Batch, Domain, ScheduleData, Segment, apportion
from mixture.schedule.fields import MAX_TOKENS

BLOCKS_AND_LENGTHS = [
    (1, (1,)),
    (16, (1, 4, 16)),
    (64, (16, 32, 64)),
    (96, (8, 12, 32, 96)),
    (65_536, (512, 4_096, 65_536)),
    (262_144, (8_192, 65_536, 262_144)),
    (1 << 20, (64, 4_096, 1 << 20)),  # windows of more sequences than are sorted
    (1 << 40, (1 << 19, 1 << 30, 1 << 40)),  # and of more than fit memory
]
MOST_SEGMENTS, MOST_STEPS = 5, 30
BATCHES = [1, 2, 3, 8, 11, 64]
MOST_SEQUENCES = MOST_SEGMENTS * MOST_STEPS * max(BATCHES)
"""Of a run, those left out not counted in."""


@st.composite
def runs(draw: st.DrawFn) -> ScheduleData:
    """Any schedule that is legal and short enough to go through."""
    block, lengths = draw(st.sampled_from(BLOCKS_AND_LENGTHS))
    most = draw(st.sampled_from([1, 3, 7, 7, 40]))  # 40: more than steps have sequences
    domains = draw(st.lists(_domains(block, max(lengths)), min_size=1, max_size=most))
    domains = [Domain(f"d{i}", tokens, pool) for i, (tokens, pool) in enumerate(domains)]
    used = draw(st.lists(st.sampled_from(lengths), min_size=1, max_size=3, unique=True))
    segments = draw(_segments(used, len(domains)))
    steps = segments[-1].first_step + segments[-1].steps
    return ScheduleData(
        seed=draw(st.integers(0, 2**63 - 1)),
        block_tokens=block,
        window_blocks=draw(st.sampled_from([1, 2, 3, 64])),
        domains=tuple(domains),
        segments=tuple(segments),
        batches=tuple(draw(_batches(steps))),
    )


@st.composite
def _domains(draw: st.DrawFn, block: int, longest: int) -> tuple[int, int | None]:
    """(tokens, pool tokens) of a domain with at least one sequence of the greatest length."""
    tokens = draw(
        st.one_of(
            st.integers(longest, 3 * longest),  # a few sequences
            st.just(block),  # one block
            st.integers(longest, block),  # no full block
            st.integers(1, 70).map(lambda n: n * block),  # whole blocks only: no short one
            st.integers(block, 3_000 * block),  # windows of several blocks
            st.integers(16_385 * block, 40_000 * block),  # more blocks than are sorted
            st.just(10**13 + 7),
        )
    )
    most = tokens // block * block or tokens
    if draw(st.integers(0, 2)) or most <= longest:
        return tokens, None
    pool = draw(st.one_of(st.integers(longest, most), st.just(longest)))
    return tokens, pool if pool < tokens else None


@st.composite
def _segments(draw: st.DrawFn, lengths: list[int], num_domains: int) -> list[Segment]:
    segments: list[Segment] = []
    first = 0
    # All that is left out, and all that is read, of the greatest length: no more tokens than a run may have.
    most_skipped = min(10**9, (MAX_TOKENS // max(lengths) - MOST_SEQUENCES) // MOST_SEGMENTS)
    for _ in range(draw(st.integers(1, MOST_SEGMENTS))):
        steps = draw(st.integers(1, MOST_STEPS))
        if segments and draw(st.integers(0, 3)) == 0:
            before = segments[-1]
            skip = draw(st.one_of(st.integers(1, 400), st.just(most_skipped)))
            segments.append(Segment(first, steps, before.sequence_length, before.weights, skip))
        else:
            length, weights = draw(st.sampled_from(lengths)), draw(_weights(num_domains))
            if segments and (segments[-1].sequence_length, segments[-1].weights) == (length, weights):
                continue
            segments.append(Segment(first, steps, length, weights))
        first += steps
    return segments


@st.composite
def _weights(draw: st.DrawFn, num: int) -> tuple[int, ...]:
    share = st.one_of(st.just(0), st.just(1), st.integers(1, 10**6), st.just(10**12))
    shares = draw(st.lists(share, min_size=num, max_size=num).filter(any))
    return tuple(apportion([Fraction(share, sum(shares)) for share in shares], WHOLE))


@st.composite
def _batches(draw: st.DrawFn, steps: int) -> list[Batch]:
    batches: list[Batch] = []
    first = 0
    while first < steps:
        sequences = draw(st.sampled_from(BATCHES))
        if not batches or batches[-1].sequences != sequences:
            batches.append(Batch(first, sequences))
        first += draw(st.integers(1, 90))
    return batches
