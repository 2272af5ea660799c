"""Findings about the run's shape: its budget, the ends of its phases, its batches, its blocks and windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, lcm

from mixture.planning.plan.findings.finding import Finding, named
from mixture.planning.plan.phases import PhaseSteps, batch_place, extent_place, round_half_up
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import FindingCode, Spec, Temperature, rules_of
from mixture.schedule import DomainOrder, Permutations, Schedule, ScheduleData
from mixture.units import Unit, decimal, format_count, format_written, percent
from mixture.wording import NAMED, counted, listed


def budget_mismatch(spec: Spec, phases: Sequence[PhaseSteps], *, is_amended: bool) -> Iterator[Finding]:
    """A budget in steps and in tokens that disagree: an error from a step on, less is a note. Steps decide.

    So does what an amended run has read: where its spec describes that otherwise, a budget in tokens is missed.
    """
    tokens = spec.budget.tokens
    if tokens is None or (spec.budget.steps is None and not is_amended):
        return
    steps = phases[-1].end_step
    planned = sum(phase.tokens for phase in phases)
    difference = planned - tokens
    if not difference:
        return
    is_rounding = abs(difference) < phases[-1].batch_tokens
    yield Finding(
        FindingCode.BOUNDARY_ROUNDED if is_rounding else FindingCode.BUDGET_MISMATCH,
        f"{format_count(steps)} steps read {format_count(planned)} tokens, the budget says {format_count(tokens)}:"
        f" {format_count(abs(difference))} {'fewer' if difference < 0 else 'more'}"
        f"{', less than a step' if is_rounding else ''}",
        spec.place("budget.tokens"),
        None
        if is_rounding
        else f"write one of them, or name budget-mismatch in `accept`: then the {format_count(steps)} steps stand",
        {"steps": steps, "tokens_planned": planned, "tokens_asked": tokens, "difference": difference},
    )


def boundaries(spec: Spec, phases: Sequence[PhaseSteps]) -> Iterator[Finding]:
    """Phase ends that were asked for inside of a step, and phases that rounding leaves without a step."""
    for phase in phases:
        facts = {"phase": phase.name, "asked": phase.asked_end, "step": phase.end_step}
        if not phase.steps:
            yield Finding(
                FindingCode.PHASE_VANISHED,
                f"phase {phase.name!r} would have no step: its end at {_asked(phase)} is rounded to"
                f" {format_count(phase.end_step)}, where it begins",
                extent_place(spec, phase.index),
                "make it at least a step long, or take it out",
                facts,
            )
        elif phase.asked_end != phase.end_step:
            yield Finding(
                FindingCode.BOUNDARY_ROUNDED,
                f"phase {phase.name!r} ends at step {format_count(phase.end_step)}, asked was {_asked(phase)}",
                extent_place(spec, phase.index),
                None,
                facts,
            )


LEAST_REST = Fraction(1, 1000)
"""Of a run's tokens: a last phase that gets less as the rest is seldom meant to; Olmo 3's last has 0.8%."""


def short_rest(spec: Spec, phases: Sequence[PhaseSteps]) -> Iterator[Finding]:
    """A last phase that is the rest of the budget, and is left next to nothing, as where a budget was made smaller.

    Only where a phase before it ends at a fixed step or token: percentages are of the budget, and shrink with it.
    """
    rest, run_tokens = phases[-1], sum(phase.tokens for phase in phases)
    extents = [phase.extent for phase in spec.phases]
    is_fixed = any(extent is not None and extent.unit is not Unit.PERCENT for extent in extents)
    if extents[-1] is not None or not is_fixed or not 0 < rest.tokens < LEAST_REST * run_tokens:
        return
    share = percent(Fraction(rest.tokens, run_tokens), digits=3)
    yield Finding(
        FindingCode.PHASE_SHORT,
        f"phase {rest.name!r} is the rest of the budget: {counted(rest.steps, 'step')} of"
        f" {format_count(rest.end_step)}, {share} of the run's tokens",
        spec.place("budget"),
        "end the phases before it earlier, or raise the budget; where that is meant, give it a length of its own",
        {"phase": rest.name, "steps": rest.steps, "tokens": rest.tokens, "run_tokens": run_tokens},
    )


def _asked(phase: PhaseSteps) -> str:
    """The end that was asked for, with as many digits as tell it from the end that it got."""
    digits = 12
    while phase.asked_end != phase.end_step and decimal(phase.asked_end, digits=digits) == str(phase.end_step):
        digits *= 2
    return decimal(phase.asked_end, digits=digits)


def undivided_batches(spec: Spec, phases: Sequence[PhaseSteps], world_size: int) -> Iterator[Finding]:
    """Batches that a number of ranks can not share out evenly."""
    seen: set[int] = set()
    for phase in phases:
        batch = phase.batch_sequences
        if batch % world_size == 0 or batch in seen:
            continue
        seen.add(batch)
        near = [n * world_size for n in (batch // world_size, batch // world_size + 1) if n]
        yield Finding(
            FindingCode.BATCH_NOT_DIVISIBLE,
            f"a batch of {format_count(batch)} sequences (phase {phase.name!r}) can not be shared evenly by"
            f" {format_count(world_size)} ranks",
            batch_place(spec, phase.index),
            f"nearest batches: {' or '.join(f'{format_written(n)} sequences' for n in near)}",
            {"phase": phase.name, "batch_sequences": batch, "world_size": world_size, "near": near},
        )


def packed_lengths(
    spec: Spec,
    packed: Mapping[str, int],
    names: Sequence[str],
    phases: Sequence[PhaseSteps],
    weights: Sequence[PhaseWeights],
) -> Iterator[Finding]:
    """Phases that would cut packed rows: each row is one sequence of its length, and a stream refuses any other.

    packed: the tokens of a row by domain (`Catalog.packed`)
    """
    for phase, own in zip(phases, weights, strict=True):
        length = phase.sequence_length
        weighed = [names[d] for d, share in own.shares.items() if share]
        other = [name for name in weighed if packed.get(name, length) != length]
        if not phase.steps or not other:
            continue
        rows = packed[other[0]]
        where = f"phases[{phase.index}].sequence_length" if spec.phases[phase.index].sequence_length else ""
        yield Finding(
            FindingCode.PACKED_LENGTH_DIFFERS,
            f"phase {phase.name!r} reads sequences of {format_count(length)} tokens of {named(other)}, whose rows are"
            f" packed to {format_count(rows)}",
            spec.place(where or "sequence_length"),
            f"set sequence_length to {format_written(rows)}, or pack documents anew: `mixture pack STORE -L {length}`",
            {"phase": phase.name, "sequence_length": length, "packed": rows, "domains": other},
        )


def scaled_weights(spec: Spec, phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]) -> Iterator[Finding]:
    """Token amounts that were fitted to their phase, and shares that were divided by a sum other than 1."""
    for phase, own in zip(phases, weights, strict=True):
        for scaled in own.scaled:
            facts: dict[str, object] = {"phase": phase.name, "sum": scaled.written}
            if scaled.unit is Unit.TOKENS:
                tokens = phase.tokens * scaled.share
                scale = tokens / scaled.written
                facts |= {"tokens": tokens, "scale": scale}
                message = (
                    f"token amounts in phase {phase.name!r} sum to {format_count(int(scaled.written))}, the phase reads"
                    f" {format_count(round_half_up(tokens))} there: all are scaled by {decimal(scale)}"
                )
                if scale == 1:
                    continue
            else:
                message = (
                    f"shares in phase {phase.name!r} sum to {decimal(scaled.written, digits=20)}: all are divided by it"
                )
            yield Finding(FindingCode.WEIGHTS_SCALED, message, spec.place(scaled.path), None, facts)


def sharpened(spec: Spec, phases: Sequence[PhaseSteps]) -> Iterator[Finding]:
    """Temperatures below 1: others write the exponent, and one that is meant so is far from the temperature."""
    for phase in phases:
        path = f"phases[{phase.index}].weights"
        for rule_path, rule in rules_of(spec.phases[phase.index].weights, path):
            if not isinstance(rule, Temperature) or rule.temperature >= 1:
                continue
            own, other = decimal(rule.temperature, digits=6), decimal(1 / rule.temperature, digits=6)
            yield Finding(
                FindingCode.TEMPERATURE_SHARPENS,
                f"temperature {own} in phase {phase.name!r} is tokens to the power of {other}: large domains get more"
                " than by `proportional`",
                spec.place(f"{rule_path}.temperature"),
                f"where the exponent {own} is meant, the temperature is {other}",
                {"phase": phase.name, "temperature": rule.temperature, "exponent": 1 / rule.temperature},
            )


def skipped_tokens(
    spec: Spec, phases: Sequence[PhaseSteps], schedule: Schedule, known: Sequence[bool]
) -> Iterator[Finding]:
    """Tokens that a change of length leaves unread; `known` is False for domains whose tokens the schedule made up."""
    begins = {phase.first_step: phase for phase in phases if phase.steps}
    skips = {segment.first_step for segment in schedule.data.segments if segment.skip}
    for handoff in schedule.handoffs():
        phase = begins.get(handoff.first_step)
        by_domain = {
            name: tokens
            for name, tokens, is_known in zip(schedule.names, handoff.tokens_skipped, known, strict=True)
            if tokens and is_known
        }
        if not by_domain or phase is None:  # an amendment says nothing more of what was before it
            continue
        total = sum(by_domain.values())
        cause = "skips text" if handoff.first_step in skips else "goes on at windows not begun"
        yield Finding(
            FindingCode.TOKENS_SKIPPED,
            f"phase {phase.name!r} {cause} and leaves {format_count(total)} tokens unread in this"
            f" epoch, of {named(list(by_domain))}",
            spec.place(f"phases[{phase.index}].sequence_length"),
            None,
            {"phase": phase.name, "first_step": handoff.first_step, "tokens": total, "tokens_skipped": by_domain},
        )


def changed_steps(spec: Spec, before: PhaseSteps | None, coming: Sequence[PhaseSteps]) -> Iterator[Finding]:
    """Boundaries at which a step gets other tokens because the length changes and the batch, in sequences, does not.

    before: the last phase before an amendment, `coming` those after it
    """
    phases = [*([before] if before is not None else []), *(phase for phase in coming if phase.steps)]
    pairs = [(a, b) for a, b in pairwise(phases) if _changes_step(spec, a, b)]
    if not pairs:
        return
    pairs.sort(key=lambda pair: -max(_growth(*pair), 1 / _growth(*pair)))
    before, after = pairs[0]
    if len(pairs) == 1:
        message = (
            f"from step {format_count(after.first_step)} on a step has {format_count(after.batch_tokens)} tokens,"
            f" before it {format_count(before.batch_tokens)}: phase {after.name!r} has sequences of"
            f" {format_count(after.sequence_length)} tokens, not {format_count(before.sequence_length)}, and"
            f" {format_count(after.batch_sequences)} of them in a batch as before"
        )
    else:
        shown = [
            f"{format_count(b.batch_tokens)} after {format_count(a.batch_tokens)} from step"
            f" {format_count(b.first_step)} on"
            for a, b in pairs[:NAMED]
        ]
        message = (
            f"at {format_count(len(pairs))} boundaries between phases the tokens of a step change, because the sequence"
            f" length does and the batch, in sequences, does not: {listed(shown, more=len(pairs) - NAMED)}"
        )
    yield Finding(
        FindingCode.STEP_TOKENS_CHANGED,
        message,
        batch_place(spec, after.index),
        _kept_step(spec, before, after),
        {
            "first_step": after.first_step,
            "tokens_before": before.batch_tokens,
            "tokens": after.batch_tokens,
            "boundaries": [
                {"phase": b.name, "first_step": b.first_step, "tokens_before": a.batch_tokens, "tokens": b.batch_tokens}
                for a, b in pairs
            ],
        },
    )


def _changes_step(spec: Spec, before: PhaseSteps, after: PhaseSteps) -> bool:
    """A batch in tokens says what a step has, whatever it was before."""
    size = spec.phases[after.index].batch or spec.batch
    is_kept = size.unit is Unit.SEQUENCES and before.batch_sequences == after.batch_sequences
    return is_kept and before.sequence_length != after.sequence_length


def _growth(before: PhaseSteps, after: PhaseSteps) -> Fraction:
    return Fraction(after.sequence_length, before.sequence_length)


def _kept_step(spec: Spec, before: PhaseSteps, after: PhaseSteps) -> str:
    """The batch that keeps the tokens of a step: the spec's where it leaves the phases before as they are, or the
    phase's."""
    tokens, length = before.batch_tokens, after.sequence_length
    sharing = [phase.sequence_length or spec.sequence_length for phase in spec.phases if phase.batch is None]
    earlier = [
        (phase.sequence_length or spec.sequence_length) * spec.batch.amount
        for phase in spec.phases[: after.index]
        if phase.batch is None
    ]
    is_shared = spec.phases[after.index].batch is None and all(one == tokens for one in earlier)
    if is_shared and not any(tokens % one for one in sharing):
        return f"`batch: {format_written(tokens)} tokens` keeps the tokens of a step"
    whole, rest = divmod(tokens, length)
    near = [f"`batch: {format_written(n * length)} tokens`" for n in ((whole, whole + 1) if rest else (whole,)) if n]
    what = "comes nearest to" if rest else "keeps"
    return f"in phase {after.name!r} {' or '.join(near)} {what} the tokens of a step"


MOST_MET = Fraction(1, 4)
"""Of the sequences that a step reads of a domain, those that may have their neighbour in storage in the same step.

Text that lies as it was found has pages of a site, or files of a project, side by side: from one in four on, a batch is
several small groups rather than a sample. On average it is the part of the window that a step takes, or less.
"""


@dataclass(frozen=True, slots=True)
class _Window:
    """How much of a shuffle window an average step of a phase takes: `sequences` of those that it holds."""

    phase: PhaseSteps
    domain: int
    share: Fraction
    order: DomainOrder

    @property
    def sequences(self) -> Fraction:
        return self.share * self.phase.batch_sequences

    @property
    def window_sequences(self) -> int:
        return min(self.order.window * self.order.per_block, self.order.per_epoch)

    @property
    def part(self) -> Fraction:
        return self.sequences / self.window_sequences

    @property
    def met(self) -> Fraction:
        """Of a step's sequences, at most this part have the one behind them in storage, in their block, beside them."""
        return min(Fraction(1), self.part) * Fraction(self.order.per_block - 1, self.order.per_block)

    @property
    def is_filled(self) -> bool:
        """Whether `met` is above MOST_MET; in integers, since a run has a window for each phase and domain."""
        most, of = MOST_MET.as_integer_ratio()
        taken, whole = self.share.as_integer_ratio()
        blocks, whole = self.order.per_block, whole * self.window_sequences
        return min(taken * self.phase.batch_sequences, whole) * (blocks - 1) * of > most * whole * blocks

    def under(self, data: ScheduleData) -> _Window:
        """The same with other blocks and windows."""
        order = DomainOrder(data, data.domains[self.domain], self.phase.sequence_length, Permutations(data.seed))
        return replace(self, order=order)


def filled_windows(
    spec: Spec,
    phases: Sequence[PhaseSteps],
    weights: Sequence[PhaseWeights],
    data: ScheduleData,
    as_found: Sequence[int],
    *,
    is_amended: bool,
) -> Iterator[Finding]:
    """Batches that take so much of a shuffle window that sequences often meet their neighbours in storage.

    as_found: the domains whose text may lie in the order in which it was found; in a random order neighbours are
              strangers
    """
    permutations = Permutations(data.seed)
    orders: dict[tuple[int, int], DomainOrder] = {}
    windows: list[_Window] = []
    for phase, own in zip(phases, weights, strict=True):
        length = phase.sequence_length
        for d in as_found if phase.steps and length < data.block_tokens else ():
            if (d, length) not in orders:
                orders[d, length] = DomainOrder(data, data.domains[d], length, permutations)
            if own.shares.get(d) and orders[d, length].per_epoch:
                windows.append(_Window(phase, d, own.shares[d], orders[d, length]))
    filled = sorted((window for window in windows if window.is_filled), key=lambda window: -window.part)
    if not filled:
        return
    first, length = filled[0], filled[0].phase.sequence_length
    names = list(dict.fromkeys(data.domains[one.domain].name for one in filled))
    others = len(names) - 1
    more = f"; so have more than {percent(MOST_MET, digits=2)} in {counted(others, 'other domain')}" if others else ""
    yield Finding(
        FindingCode.BATCH_FILLS_WINDOW,
        f"a step of phase {first.phase.name!r} reads {percent(first.part, digits=2)} of a shuffle window of domain"
        f" {names[0]!r}, {format_count(round_half_up(first.sequences * length))} of"
        f" {format_count(first.window_sequences * length)} tokens: up to {percent(first.met, digits=2)} of its"
        f" sequences have their neighbour in storage in the same batch{more}",
        spec.place("shuffle"),
        "the shuffle is the lock's and cannot change; smaller batches avoid it"
        if is_amended
        else _wider(filled, windows, data),
        {
            "phase": first.phase.name,
            "domain": names[0],
            "tokens": first.sequences * length,
            "window_tokens": first.window_sequences * length,
            "part": first.part,
            "met": first.met,
            "domains": names,
        },
    )


def _wider(filled: Sequence[_Window], windows: Sequence[_Window], data: ScheduleData) -> str:
    """The shuffle that leaves the fewest domains above the limit: larger windows, else smaller blocks as well.

    filled: of all windows, those above it now
    """
    unit = lcm(*(segment.sequence_length for segment in data.segments))
    blocks = [data.block_tokens, *(unit << n for n in reversed(range((data.block_tokens // unit).bit_length())))]
    best, left = data, len(filled) + 1
    for block in dict.fromkeys(size for size in blocks if size <= data.block_tokens):
        needed = max(one.sequences * one.phase.sequence_length / MOST_MET / block for one in filled)
        same = -(-data.block_tokens * data.window_blocks // block)
        wider = replace(data, block_tokens=block, window_blocks=max(same, 1 << (ceil(needed) - 1).bit_length()))
        rest = len({window.domain for window in windows if window.under(wider).is_filled})
        if rest < left:
            best, left = wider, rest
    if left >= len({one.domain for one in filled}):
        return "no shuffle avoids it: a step reads too much of so few blocks; smaller batches, or more text, do"
    few = f", but for {counted(left, 'domain')} with too few blocks" if left else ""
    return (
        f"`shuffle: {{block: {format_written(best.block_tokens)} tokens, window: {format_written(best.window_blocks)}"
        f" blocks}}` avoids it{few}; text that `mixture ingest` stored lies in a random order, and needs none of it"
    )


def longest_context(spec: Spec, block_tokens: int) -> Iterator[Finding]:
    """The longest sequences that a lock with this block can ever be extended to."""
    yield Finding(
        FindingCode.LONGEST_CONTEXT,
        f"no phase of this run can have sequences longer than {format_count(block_tokens)} tokens, its block;"
        " every length divides it",
        spec.place("shuffle.block"),
        "a longer context planned for later needs a larger `shuffle: {block: …}` from the start",
        {"block_tokens": block_tokens},
    )
