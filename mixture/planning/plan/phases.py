"""Phases to steps: boundaries are exact from the start of the run, then rounded half up; lengths follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import Place, SpecError
from mixture.planning.spec import BatchSize, Extent, Form, Phase, Spec
from mixture.schedule import MAX_SEQUENCES
from mixture.units import Unit, decimal, format_count, format_written

MOST_DEALT = 1 << 20
"""Sequences of a step: they are laid out in memory at once, at some 100 bytes each."""


@dataclass(frozen=True, slots=True)
class PhaseSteps:
    """A phase laid on the run.

    asked_end: the step at which the spec ends it, before rounding; where the last phase's own length misses the end of
               the budget, which decides, what that length says
    """

    index: int
    name: str
    first_step: int
    steps: int
    asked_end: Fraction
    sequence_length: int
    batch_sequences: int

    @property
    def end_step(self) -> int:
        """The first step after the phase."""
        return self.first_step + self.steps

    @property
    def sequences(self) -> int:
        """Sequences of all its steps."""
        return self.steps * self.batch_sequences

    @property
    def batch_tokens(self) -> int:
        """Tokens of one step."""
        return self.batch_sequences * self.sequence_length

    @property
    def tokens(self) -> int:
        """Tokens of all its steps."""
        return self.sequences * self.sequence_length


@dataclass(frozen=True, slots=True)
class _Mark:
    """A place in the run, exact: steps and tokens from its start."""

    step: Fraction = Fraction(0)
    tokens: Fraction = Fraction(0)


def lay_out(spec: Spec) -> tuple[PhaseSteps, ...]:
    """The phases of a spec in steps.

    Raises SpecError where they are out of order, empty, or do not make up the budget (`phase-order`, `phase-empty`,
    `phases-miss-budget`), where a batch is not whole sequences (`batch-not-whole`), where it is too large to lay
    out (`batch-too-large`), and where the run has more than 2**49 sequences (`run-too-long`) or no step
    (`run-too-short`).
    """
    phases: list[PhaseSteps] = []
    first_step = 0
    run_end = Fraction(0)
    for i, (asked_end, run_end, batch) in enumerate(_ends(spec)):
        phase = spec.phases[i]
        end_step = max(round_half_up(run_end), first_step)
        phases.append(
            PhaseSteps(
                index=i,
                name=phase.phase,
                first_step=first_step,
                steps=end_step - first_step,
                asked_end=asked_end,
                sequence_length=_length(spec, phase),
                batch_sequences=batch,
            )
        )
        first_step = end_step
        _check_dealt(spec, phases[-1])
    if not first_step:
        raise SpecError(
            f"the budget is {decimal(run_end)} of a step: a run has at least one",
            code="run-too-short",
            place=spec.place("budget"),
            hint=_steps_meant(spec, run_end),
            steps=run_end,
        )
    sequences = sum(phase.sequences for phase in phases)
    if sequences > MAX_SEQUENCES:
        raise SpecError(
            f"the run has {format_count(sequences)} sequences, more than {format_count(MAX_SEQUENCES)} (2^49)",
            code="run-too-long",
            place=spec.place("budget"),
            sequences=sequences,
            most=MAX_SEQUENCES,
        )
    return tuple(phases)


def _steps_meant(spec: Spec, steps: Fraction) -> str | None:
    """What to write where a budget of tokens comes to less than one step, as when steps were meant."""
    if spec.budget.steps is not None or steps >= 1:
        return None
    return f"a bare budget counts tokens: did you mean `{spec.budget.tokens} steps`?"


def round_half_up(x: Fraction) -> int:
    """The nearest integer; the larger where two are as near."""
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)


def extent_place(spec: Spec, index: int) -> Place:
    """Where a phase says how long it is; the budget where it is the rest."""
    extent = spec.phases[index].extent
    return spec.place("budget" if extent is None else f"phases[{index}].{extent.form.value}")


def batch_place(spec: Spec, index: int) -> Place:
    """Where the batch of a phase is written."""
    return spec.place(f"phases[{index}].batch" if spec.phases[index].batch else "batch")


def _ends(spec: Spec) -> Iterator[tuple[Fraction, Fraction, int]]:
    """The exact step at which each phase asks to end, the one at which it does, and the sequences of its batch.

    They differ by less than a step, and only for the last phase, which ends where the budget does.
    """
    mark = _Mark()
    last = len(spec.phases) - 1
    for i, phase in enumerate(spec.phases):
        batch = _batch_sequences(spec, i)
        batch_tokens = batch * _length(spec, phase)
        whole = _budget_end(spec, mark, batch_tokens)
        end = whole if phase.extent is None else _end(spec, phase.extent, mark, batch_tokens)
        _check_order(spec, i, mark, end, whole)
        if i == last:
            _check_filled(spec, i, end, whole)
        yield end.step, (whole if i == last else end).step, batch
        mark = end


def _budget_end(spec: Spec, mark: _Mark, batch_tokens: int) -> _Mark:
    """The end of the budget, reached from a mark by steps of so many tokens."""
    if spec.budget.steps is not None:
        return _at_step(mark, Fraction(spec.budget.steps), batch_tokens)
    assert spec.budget.tokens is not None, "a budget has steps or tokens"
    return _at_tokens(mark, Fraction(spec.budget.tokens), batch_tokens)


def _at_step(mark: _Mark, step: Fraction, batch_tokens: int) -> _Mark:
    return _Mark(step, mark.tokens + (step - mark.step) * batch_tokens)


def _at_tokens(mark: _Mark, tokens: Fraction, batch_tokens: int) -> _Mark:
    return _Mark(mark.step + (tokens - mark.tokens) / batch_tokens, tokens)


def _end(spec: Spec, extent: Extent, mark: _Mark, batch_tokens: int) -> _Mark:
    """Where an extent that begins at the mark ends. A percentage is of the budget: of its steps where it has both."""
    is_length = extent.form is not Form.UNTIL
    amount = Fraction(extent.amount)
    unit = extent.unit
    if unit is Unit.PERCENT:
        unit = Unit.TOKENS if spec.budget.steps is None else Unit.STEPS
        amount *= (spec.budget.tokens if spec.budget.steps is None else spec.budget.steps) or 0
    if unit is Unit.STEPS:
        return _at_step(mark, amount + (mark.step if is_length else 0), batch_tokens)
    return _at_tokens(mark, amount + (mark.tokens if is_length else 0), batch_tokens)


def _check_order(spec: Spec, index: int, begin: _Mark, end: _Mark, whole: _Mark) -> None:
    name = spec.phases[index].phase
    place = extent_place(spec, index)
    if end.step < begin.step:
        raise SpecError(
            f"phase {name!r} would end at step {decimal(end.step)}, before it begins (step {decimal(begin.step)})",
            code="phase-order",
            place=place,
            hint="phases stand in the order of the run, and `until` counts from its start",
            phase=name,
            begins=begin.step,
            ends=end.step,
        )
    if end.step == begin.step:
        raise SpecError(
            f"phase {name!r} is empty: it begins and ends at step {decimal(end.step)}",
            code="phase-empty",
            place=place,
            phase=name,
            begins=begin.step,
            ends=end.step,
        )
    if index < len(spec.phases) - 1 and end.step >= whole.step:
        raise SpecError(
            f"phase {name!r} ends at step {decimal(end.step)}, and the budget at step {decimal(whole.step)}:"
            f" nothing is left for phase {spec.phases[index + 1].phase!r}",
            code="phases-miss-budget",
            place=place,
            hint=_steps_meant(spec, whole.step) or "shorten the phases or raise the budget",
            budget=whole.step,
            phase=name,
            begins=begin.step,
            ends=end.step,
        )


def _check_filled(spec: Spec, index: int, end: _Mark, whole: _Mark) -> None:
    """The last phase ends where the budget does, but for less than a step, which is settled and said."""
    if abs(end.step - whole.step) < 1:
        return
    name = spec.phases[index].phase
    raise SpecError(
        f"the phases end at step {decimal(end.step)} ({format_count(round_half_up(end.tokens))} tokens),"
        f" the budget at step {decimal(whole.step)} ({format_count(round_half_up(whole.tokens))} tokens)",
        code="phases-miss-budget",
        place=extent_place(spec, index),
        hint=_steps_meant(spec, whole.step)
        or f"change a length, or leave out that of {name!r}: the last phase may be the rest",
        phase=name,
        ends=end.step,
        budget=whole.step,
        ends_tokens=end.tokens,
        budget_tokens=whole.tokens,
    )


def _check_dealt(spec: Spec, phase: PhaseSteps) -> None:
    batch = phase.batch_sequences
    if batch > MOST_DEALT:
        raise SpecError(
            f"a step of phase {phase.name!r} has {format_count(batch)} sequences",
            code="batch-too-large",
            place=batch_place(spec, phase.index),
            hint=f"at most {format_count(MOST_DEALT)} can be laid out at once",
            phase=phase.name,
            sequences=batch,
            most=MOST_DEALT,
        )


def _length(spec: Spec, phase: Phase) -> int:
    return phase.sequence_length or spec.sequence_length


def _batch_sequences(spec: Spec, index: int) -> int:
    """The sequences of a phase's step. A batch in tokens holds as many sequences as fit its own length."""
    phase = spec.phases[index]
    size: BatchSize = phase.batch or spec.batch
    if size.unit is Unit.SEQUENCES:
        return size.amount
    length = _length(spec, phase)
    sequences, rest = divmod(size.amount, length)
    if rest or not sequences:
        near = [n * length for n in (sequences, sequences + 1) if n]
        raise SpecError(
            f"a batch of {format_count(size.amount)} tokens is not whole sequences of {format_count(length)}",
            code="batch-not-whole",
            place=batch_place(spec, index),
            hint=f"near it: {' or '.join(format_written(n) + ' tokens' for n in near)}",
            amount=size.amount,
            sequence_length=length,
            near=near,
        )
    return sequences
