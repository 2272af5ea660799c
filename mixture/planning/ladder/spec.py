"""The spec of a rung: that of the full run with another budget and batch, every phase at the same part of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import PlanError, UnitError
from mixture.planning.plan import PhaseSteps, PlannedPhase, batch_place, lay_out, round_half_up
from mixture.planning.spec import (
    BatchSize,
    Budget,
    Extent,
    Form,
    Phase,
    QualityCurve,
    ShareMap,
    Spec,
    Transition,
    Unimax,
    rules_of,
)
from mixture.schedule import WHOLE, apportion
from mixture.units import SUFFIXES, Unit, decimal, format_count, format_exact, format_written, parse_count, quote

LARGEST_BATCH = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RungSize:
    """The tokens of a rung, and the sequences of its batch; None is the batch of the spec."""

    tokens: int
    batch: int | None = None

    @property
    def label(self) -> str:
        """Its tokens, exact and short: 47.9B."""
        suffix, power = next(((s, p) for s, p in reversed(SUFFIXES.items()) if self.tokens >= 10**p), ("", 0))
        return f"{format_exact(Fraction(self.tokens, 10**power))}{suffix}"

    def __str__(self) -> str:
        return self.label if self.batch is None else f"{self.label}:{self.batch}"


def parse_rung(text: str) -> RungSize:
    """Reads `47.9B:1024`, tokens and sequences of a batch, or `47.9B`. Raises UnitError."""
    tokens, colon, batch = text.partition(":")
    try:
        count = parse_count(tokens, units=(Unit.TOKENS,), bare=Unit.TOKENS).amount
        if not colon:
            return RungSize(count)
        sequences = parse_count(batch, units=(Unit.SEQUENCES,), bare=Unit.SEQUENCES, most=LARGEST_BATCH)
    except UnitError as error:
        message = f"a rung is TOKENS or TOKENS:BATCH, as 47.9B:1024: {error.message}"
        raise UnitError(message, code=error.code, hint=error.hint, found=quote(text)) from error
    return RungSize(count, sequences.amount)


def rung_spec(spec: Spec, phases: Sequence[PhaseSteps], size: RungSize) -> Spec:
    """The spec of a rung of this size; `phases` are those of the full run, laid out.

    Every phase ends at the exact part of the rung at which it ends in the full run before rounding: the part of the
    steps where the budget is in steps, of the tokens where it is in tokens alone. A plan then rounds it to steps, half
    up. A budget in steps becomes the number of steps, rounded half up, that read the tokens asked for. Where rounding
    would make the rung longer than the full run, it is a step shorter: else it would read domains more often.

    Batches keep their ratio: what has its own batch, in sequences or in tokens, has it times BATCH ÷ the spec's batch,
    in sequences of the spec's length. Lengths, weights, limits and the seed stay; for rules that divide a
    phase's tokens see `with_full_shares`.

    A transition is as large a part of its phase, in steps, rounded half up: at least one, at most all, and no more
    stairs than steps.

    Raises PlanError: `batch-not-whole` where a batch would not be whole, `run-too-short` for less than half a step.
    """
    own = batch_sequences(spec)
    factor = Fraction(1) if size.batch is None else size.batch / own
    batch = _scaled(spec, None, factor, size, own)
    made = [
        phase.model_copy(update={"batch": phase.batch and _scaled(spec, i, factor, size, own), "extent": extent})
        for i, (phase, extent) in enumerate(zip(spec.phases, _extents(spec, phases), strict=True))
    ]
    rung = spec.model_copy(
        update={
            "mixture": f"{spec.mixture}-{size.label}",
            "batch": batch,
            "budget": _budget(spec, batch, made, size),
            "phases": tuple(made),
        }
    )
    rung = _no_longer(rung, sum(phase.steps * phase.batch_tokens for phase in phases), size)
    if not any(phase.transition for phase in made):
        return rung
    return rung.model_copy(update={"phases": tuple(_with_transitions(rung, phases))})


def _no_longer(rung: Spec, most: int, size: RungSize) -> Spec:
    """The spec of a rung with as many steps as it has, but none that makes it longer than this many tokens."""
    laid = lay_out(rung)
    steps, asked, tokens = sum(phase.steps for phase in laid), laid[-1].asked_end, rung.budget.tokens
    while sum(phase.steps * phase.batch_tokens for phase in laid) > most:
        steps -= 1
        if not steps:
            raise PlanError(
                f"rung {size}: a step reads more than the full run, which has {format_count(most)} tokens",
                code="run-too-short",
                place=rung.place("batch"),
                hint="a smaller batch",
                rung=str(size),
            )
        # Where phases end is in proportion to the budget.
        budget = Budget(steps=steps) if tokens is None else Budget(tokens=int(tokens * steps / asked))
        rung = rung.model_copy(update={"budget": budget})
        laid = lay_out(rung)
    return rung


def _with_transitions(rung: Spec, full: Sequence[PhaseSteps]) -> Iterator[Phase]:
    """The phases of a rung, transitions scaled with them; `full` are those of the full run, laid out."""
    laid = lay_out(rung)
    for i, phase in enumerate(rung.phases):
        asked = phase.transition
        if asked is None:
            yield phase
            continue
        steps = round_half_up(asked.steps * _asked_steps(laid, i) / _asked_steps(full, i))
        steps = max(1, min(steps, laid[i].steps))
        yield phase.model_copy(update={"transition": Transition(steps=steps, parts=min(asked.parts, steps))})


def _asked_steps(phases: Sequence[PhaseSteps], index: int) -> Fraction:
    """The steps of a phase before rounding."""
    return phases[index].asked_end - (phases[index - 1].asked_end if index else 0)


def with_full_shares(rung: Spec, full: Sequence[PlannedPhase], names: Sequence[str]) -> Spec:
    """A rung with the full run's shares where a rule makes them of a phase's tokens, which it has fewer of.

    full: the phases of the full run; names: of its domains
    """
    phases = list(rung.phases)
    for i, phase in enumerate(phases):
        if any(isinstance(rule, Unimax | QualityCurve) for _, rule in rules_of(phase.weights, "")):
            parts = apportion(full[i].final, WHOLE)
            shares = {name: Fraction(part, WHOLE) for name, part in zip(names, parts, strict=True)}
            phases[i] = phase.model_copy(update={"weights": ShareMap(shares=shares)})
    return rung.model_copy(update={"phases": tuple(phases)})


def batch_sequences(spec: Spec) -> Fraction:
    """The spec's batch in sequences of its own length, which phases of another length may leave not whole."""
    return Fraction(spec.batch.amount, 1 if spec.batch.unit is Unit.SEQUENCES else spec.sequence_length)


def _scaled(spec: Spec, index: int | None, factor: Fraction, size: RungSize, own: Fraction) -> BatchSize:
    batch = spec.batch if index is None else spec.phases[index].batch
    assert batch is not None, "only phases with a batch of their own are scaled"
    amount = batch.amount * factor
    if amount.denominator == 1:
        return BatchSize(amount=int(amount), unit=batch.unit)
    assert size.batch is not None, "without a batch the factor is 1"
    unit = (batch.amount / own).denominator
    near = [n * unit for n in (size.batch // unit, size.batch // unit + 1) if n]
    where = "the spec" if index is None else f"phase {spec.phases[index].phase!r}"
    raise PlanError(
        f"rung {size}: the batch of {where} would be {decimal(amount)} {batch.unit}",
        code="batch-not-whole",
        place=spec.place("batch") if index is None else batch_place(spec, index),
        hint=f"batches keep their ratio; near it: {' or '.join(f'{format_written(n)} sequences' for n in near)}",
        rung=str(size),
        amount=amount,
        near=near,
    )


def _extents(spec: Spec, phases: Sequence[PhaseSteps]) -> list[Extent | None]:
    """Where phases end, as parts of the budget; the last stays the rest, or says that it goes to the end."""
    ends = _ends_in_steps(phases) if spec.budget.steps is not None else _ends_in_tokens(phases)
    whole = spec.budget.steps if spec.budget.steps is not None else spec.budget.tokens
    assert whole is not None, "a budget has steps or tokens"
    parts = [end / whole for end in ends[:-1]] + [Fraction(1)]
    extents: list[Extent | None] = [Extent(form=Form.UNTIL, amount=part, unit=Unit.PERCENT) for part in parts]
    return extents if spec.phases[-1].extent is not None else [*extents[:-1], None]


def _ends_in_steps(phases: Sequence[PhaseSteps]) -> list[Fraction]:
    return [phase.asked_end for phase in phases]


def _ends_in_tokens(phases: Sequence[PhaseSteps]) -> list[Fraction]:
    ends, step, tokens = [], Fraction(0), Fraction(0)
    for phase in phases:
        tokens += (phase.asked_end - step) * phase.batch_tokens
        step = phase.asked_end
        ends.append(tokens)
    return ends


def _budget(spec: Spec, batch: BatchSize, phases: Sequence[Phase], size: RungSize) -> Budget:
    if spec.budget.steps is None:
        return Budget(tokens=size.tokens)
    begin, step_tokens = Fraction(0), Fraction(0)
    for phase in phases:
        end = Fraction(1) if phase.extent is None else Fraction(phase.extent.amount)
        step_tokens += (end - begin) * _tokens(phase.batch or batch, phase.sequence_length or spec.sequence_length)
        begin = end
    steps = round_half_up(size.tokens / step_tokens)
    if not steps:
        raise PlanError(
            f"rung {size}: {format_count(size.tokens)} tokens are {decimal(size.tokens / step_tokens, digits=4)} of a"
            " step: a run has at least one",
            code="run-too-short",
            place=spec.place("batch"),
            hint=f"a step reads {decimal(step_tokens)} tokens",
            rung=str(size),
        )
    return Budget(steps=steps)


def _tokens(batch: BatchSize, length: int) -> int:
    return batch.amount * (length if batch.unit is Unit.SEQUENCES else 1)
