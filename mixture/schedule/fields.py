"""The fields that fix a run's order (schedule format 1), and the check that they make a schedule."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import attrgetter

from mixture.errors import Place, ScheduleError
from mixture.schedule.apportion import WHOLE

MAX_SEQUENCES = 1 << 49
"""Sequences of a run, text left out included. Up to here one float estimate and one repair divide exactly."""
MAX_TOKENS = 1 << 62
"""Tokens of a domain, and of a whole run: places in it and one block more fit 63 bits."""
MAX_BLOCK_TOKENS = 1 << 48
MAX_BATCH = 1 << 24
"""Sequences of a step. They are laid out at once, at 60 bytes each (measured)."""
FIRST_STEP = attrgetter("first_step")


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain's name and tokens; `pool_tokens` keeps it to a part of them, None to the whole."""

    name: str
    tokens: int
    pool_tokens: int | None = None

    @property
    def held(self) -> int:
        """The tokens that a run may read of it: of its pool, or all."""
        return self.tokens if self.pool_tokens is None else self.pool_tokens


@dataclass(frozen=True, slots=True)
class Segment:
    """Steps with one sequence length and one set of weights (one integer a domain, summing to 10**15).

    `skip` sequences before it are left out; only where length and weights are those of the segment before.
    """

    first_step: int
    steps: int
    sequence_length: int
    weights: tuple[int, ...]
    skip: int = 0

    @property
    def end_step(self) -> int:
        """The first step after it."""
        return self.first_step + self.steps


@dataclass(frozen=True, slots=True)
class Batch:
    """From `first_step` on a step has `sequences`."""

    first_step: int
    sequences: int


@dataclass(frozen=True, slots=True)
class ScheduleData:
    """All that decides what a run reads. `block_tokens` is a multiple of every sequence length."""

    seed: int
    block_tokens: int
    window_blocks: int
    domains: tuple[Domain, ...]
    segments: tuple[Segment, ...]
    batches: tuple[Batch, ...]

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.segments[-1].end_step

    @property
    def boundaries(self) -> list[int]:
        """The steps at which a segment or a batch begins, in order."""
        return sorted({*map(FIRST_STEP, self.segments), *map(FIRST_STEP, self.batches)})

    @property
    def batch_positions(self) -> list[int]:
        """The position at which each batch begins, and after them the sequences of the whole run."""
        ends = [*(batch.first_step for batch in self.batches[1:]), self.steps]
        sizes = [(end - batch.first_step) * batch.sequences for batch, end in zip(self.batches, ends, strict=True)]
        return list(accumulate(sizes, initial=0))

    def segment_at(self, step: int) -> Segment:
        """The segment that a step is in; the last one where the run ends before the step."""
        return self.segments[bisect_right(self.segments, step, key=FIRST_STEP) - 1]

    def segments_before(self, step: int) -> tuple[Segment, ...]:
        """The segments that begin before a step."""
        return self.segments[: bisect_left(self.segments, step, key=FIRST_STEP)]

    def segments_from(self, step: int) -> tuple[Segment, ...]:
        """The segment that a step is in, and those after it."""
        return self.segments[bisect_right(self.segments, step, key=FIRST_STEP) - 1 :]

    def batch_at(self, step: int) -> Batch:
        """The batch of a step; the last one where the run ends before the step."""
        return self.batches[bisect_right(self.batches, step, key=FIRST_STEP) - 1]

    def batches_of(self, steps: range) -> tuple[Batch, ...]:
        """The batches of consecutive steps, in order."""
        first = bisect_right(self.batches, steps.start, key=FIRST_STEP) - 1
        return self.batches[first : bisect_left(self.batches, steps.stop, key=FIRST_STEP)] if steps else ()

    def drawn_before(self, step: int) -> list[int]:
        """The indexes of the domains that have a weight before a step, in order."""
        segments = self.segments_before(step)
        return [d for d in range(len(self.domains)) if any(segment.weights[d] for segment in segments)]

    @property
    def pools(self) -> dict[str, int]:
        """The tokens that domains are kept to, by name; those that are read whole are not there."""
        return {domain.name: domain.pool_tokens for domain in self.domains if domain.pool_tokens is not None}


def _refuse(path: str, message: str, *, name: str | None = None) -> ScheduleError:
    return ScheduleError(message, code="schedule-invalid", place=Place(path=path), name=name)


def check_fields(data: ScheduleData) -> None:
    """Raise ScheduleError (code `schedule-invalid`) where the fields do not make a canonical schedule."""
    if not 0 <= data.seed < 1 << 63:
        raise _refuse("seed", f"{data.seed} is not between 0 and 2^63 - 1")
    if not 1 <= data.block_tokens <= MAX_BLOCK_TOKENS:
        raise _refuse("block_tokens", f"{data.block_tokens} is not between 1 and 2^48")
    if data.window_blocks < 1:
        raise _refuse("window_blocks", f"{data.window_blocks} is not at least 1")
    for path in ("domains", "segments", "batches"):
        if not getattr(data, path):
            raise _refuse(path, "a schedule needs at least one of them")
    _check_domains(data)
    _check_segments(data)
    _check_batches(data)


def _check_domains(data: ScheduleData) -> None:
    names = [domain.name for domain in data.domains]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise _refuse("domains", f"domain {twice!r} stands there twice", name=twice)
    for i, domain in enumerate(data.domains):
        path = f"domains[{i}]"
        if not 0 <= domain.tokens <= MAX_TOKENS:
            raise _refuse(path, f"{domain.tokens} tokens are not between 0 and 2^62", name=domain.name)
        if domain.pool_tokens is None:
            continue
        whole_blocks = domain.tokens // data.block_tokens * data.block_tokens
        most = whole_blocks or domain.tokens
        if not 0 < domain.pool_tokens <= most or domain.pool_tokens == domain.tokens:
            raise _refuse(
                path,
                f"a pool of {domain.pool_tokens} tokens is not a part of the {most} that whole blocks hold",
                name=domain.name,
            )


def _check_segments(data: ScheduleData) -> None:
    first = data.segments[0]
    if first.first_step != 0 or first.skip != 0:
        raise _refuse("segments[0]", "the first segment begins at step 0 and leaves nothing out")
    for i, segment in enumerate(data.segments):
        path = f"segments[{i}]"
        if segment.steps < 1 or segment.sequence_length < 1 or segment.skip < 0:
            raise _refuse(path, "steps and sequence_length must be at least 1, skip at least 0")
        if data.block_tokens % segment.sequence_length:
            raise _refuse(
                path, f"a length of {segment.sequence_length} does not divide blocks of {data.block_tokens} tokens"
            )
        if len(segment.weights) != len(data.domains):
            raise _refuse(path, f"{len(segment.weights)} weights for {len(data.domains)} domains")
        if min(segment.weights) < 0 or sum(segment.weights) != WHOLE:
            raise _refuse(path, f"weights must be at least 0 and sum to 10^15, not {sum(segment.weights)}")
    for i, (a, b) in enumerate(pairwise(data.segments), start=1):
        path = f"segments[{i}]"
        if b.first_step != a.end_step:
            raise _refuse(path, f"begins at step {b.first_step}, the one before ends at {a.end_step}")
        same = (a.sequence_length, a.weights) == (b.sequence_length, b.weights)
        if same and b.skip == 0:
            raise _refuse(path, "has the length and weights of the one before: they are one segment")
        if not same and b.skip > 0:
            raise _refuse(path, "leaves text out, but its length or weights are not those of the one before")


def _check_batches(data: ScheduleData) -> None:
    if data.batches[0].first_step != 0:
        raise _refuse("batches[0]", "the first batch begins at step 0")
    for i, batch in enumerate(data.batches):
        if not 1 <= batch.sequences <= MAX_BATCH:
            raise _refuse(f"batches[{i}]", "sequences must be 1 to 2^24")
    for i, (a, b) in enumerate(pairwise(data.batches), start=1):
        if b.first_step <= a.first_step:
            raise _refuse(f"batches[{i}]", f"begins at step {b.first_step}, not after {a.first_step}")
        if a.sequences == b.sequences:
            raise _refuse(f"batches[{i}]", "is the same as the one before")
    if data.batches[-1].first_step >= data.steps:
        raise _refuse(f"batches[{len(data.batches) - 1}]", f"begins at or after the end, step {data.steps}")
    total = data.batch_positions[-1] + sum(segment.skip for segment in data.segments)
    if total > MAX_SEQUENCES:
        raise _refuse("batches", f"{total} sequences, those left out included, are more than 2^49")
    longest = max(segment.sequence_length for segment in data.segments)
    if total * longest > MAX_TOKENS:
        raise _refuse("batches", f"{total} sequences of {longest} tokens are more than 2^62 tokens")
