"""The fields of a schedule from phases and weights: phases that do not differ become one segment, one batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import lcm

from mixture.errors import SpecError
from mixture.planning.plan.draft import Draft
from mixture.planning.spec import Spec
from mixture.schedule import Batch, Domain, ScheduleData, Segment
from mixture.units import format_count, format_written

LEAST_BLOCK_TOKENS = 65_536
MOST_BLOCK_TOKENS = (1 << 31) - 1
WINDOW_BLOCKS = 64


def schedule_data(draft: Draft, weights: Sequence[tuple[int, ...]], pools: Mapping[str, int]) -> ScheduleData:
    """The schedule of a draft's parts, each with its integer weights. A part without a step leaves nothing.

    pools: the tokens that domains are kept to, by name

    Raises SpecError where a stated block does not hold whole sequences of every length (`block-not-multiple`), or where
    none below 2**31 tokens could (`lengths-apart`).
    """
    segments: list[Segment] = []
    batches: list[Batch] = []
    spec, phases = draft.spec, [part.laid for part in draft.parts]
    for phase, own in zip(phases, weights, strict=True):
        if not phase.steps:
            continue
        last = segments[-1] if segments else None
        if last is not None and (last.sequence_length, last.weights) == (phase.sequence_length, own):
            segments[-1] = Segment(last.first_step, last.steps + phase.steps, last.sequence_length, own)
        else:
            segments.append(Segment(phase.first_step, phase.steps, phase.sequence_length, own))
        batch = Batch(phase.first_step, phase.batch_sequences)
        if not batches or batches[-1].sequences != batch.sequences:
            batches.append(batch)
    return ScheduleData(
        seed=spec.seed,
        block_tokens=_block_tokens(spec, {phase.sequence_length for phase in phases}),
        window_blocks=spec.shuffle.window_blocks or WINDOW_BLOCKS,
        domains=tuple(Domain(domain.name, domain.tokens, pools.get(domain.name)) for domain in draft.domains),
        segments=tuple(segments),
        batches=tuple(batches),
    )


def _block_tokens(spec: Spec, lengths: Collection[int]) -> int:
    unit = lcm(*lengths)
    block_tokens = spec.shuffle.block_tokens
    named = " and of ".join(format_count(length) for length in sorted(lengths))
    if unit > MOST_BLOCK_TOKENS:
        raise SpecError(
            f"no block holds whole sequences of {named} tokens: the smallest would have {format_count(unit)}",
            code="lengths-apart",
            place=spec.place("phases"),
            hint="lengths that are multiples of each other share small blocks",
            lengths=sorted(lengths),
        )
    if block_tokens is None:
        return -(-LEAST_BLOCK_TOKENS // unit) * unit
    if block_tokens % unit:
        near = [n * unit for n in (block_tokens // unit, block_tokens // unit + 1) if n]
        raise SpecError(
            f"a block of {format_count(block_tokens)} tokens does not hold whole sequences of {named} tokens",
            code="block-not-multiple",
            place=spec.place("shuffle.block"),
            hint=f"near it: {' or '.join(f'{format_written(n)} tokens' for n in near)}",
            block_tokens=block_tokens,
            near=near,
        )
    return block_tokens
