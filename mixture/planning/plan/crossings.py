"""When domains of a run pass numbers of epochs: the exact step.

Epochs are tokens drawn ÷ tokens, as in a plan. A domain passes N epochs in the step in which it has drawn more than N
times its tokens: one that is read exactly N times does not pass N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mixture.lock import Lock
from mixture.units import Unit, parse_quantity


@dataclass(frozen=True, slots=True)
class Crossing:
    """When a domain passes a number of epochs.

    step:          the step that does it: a checkpoint at `step` is before it; None: no step does
    phase:         that the step is in
    epochs_in_run: what the domain has at the run's end; None for one without tokens
    """

    domain: str
    epochs: Fraction
    step: int | None
    phase: str | None
    epochs_in_run: Fraction | None


def crossings(lock: Lock, epochs: Sequence[Fraction], domains: Sequence[str] | None = None) -> tuple[Crossing, ...]:
    """When each domain passes each number of epochs: by domain, each with the numbers, in the order given.

    domains: names; None: all of the lock, in its order. Some microseconds a domain and number.

    Raises ScheduleError, `unknown-domain`, with the nearest name.
    """
    schedule, data = lock.schedule(), lock.data
    indices = range(len(data.domains)) if domains is None else [schedule.domain_index(name) for name in domains]
    pairs = [(d, number) for d in indices for number in epochs]
    # By segment and domain: the sequences and tokens that are drawn before it, and in the last row all.
    counts = np.array([schedule.counts(step) for step in (*(one.first_step for one in data.segments), schedule.steps)])
    lengths = np.array([segment.sequence_length for segment in data.segments], dtype=np.int64)
    tokens = np.zeros_like(counts)
    np.cumsum(np.diff(counts, axis=0) * lengths[:, None], axis=0, out=tokens[1:])
    drawn = tokens[-1].tolist()
    # The tokens that may be drawn without passing: those that are a fraction of one more are past it, too.
    most = [data.domains[d].held * number.numerator // number.denominator for d, number in pairs]
    passing = [i for i, (d, _) in enumerate(pairs) if data.domains[d].held and drawn[d] > most[i]]
    d, limit = (np.array([values[i] for i in passing], dtype=np.int64) for values in ([d for d, _ in pairs], most))
    s = np.array([np.searchsorted(tokens[1:, a], b, side="right") for a, b in zip(d, limit, strict=True)], np.int64)
    number = counts[s, d] + (limit - tokens[s, d]) // lengths[s]
    steps = dict(zip(passing, schedule.steps_and_slots(schedule.nth(d, number).position)[0].tolist(), strict=True))
    return tuple(_crossing(lock, d, number, steps.get(i), drawn[d]) for i, (d, number) in enumerate(pairs))


def parse_epochs(text: str) -> Fraction:
    """Reads a number of epochs, such as `1` or `2.5`. Raises UnitError."""
    return parse_quantity(text, units=(Unit.EPOCHS,), bare=Unit.EPOCHS).value


def crossing_json(crossing: Crossing) -> dict[str, object]:
    """A crossing as JSON has it."""
    in_run = crossing.epochs_in_run
    return {
        "domain": crossing.domain,
        "epochs": float(crossing.epochs),
        "step": crossing.step,
        "phase": crossing.phase,
        "epochs_in_run": None if in_run is None else float(in_run),
    }


def _crossing(lock: Lock, d: int, epochs: Fraction, step: int | None, drawn: int) -> Crossing:
    domain = lock.data.domains[d]
    phase = None if step is None else lock.phase_of(step)
    in_run = Fraction(drawn, domain.held) if domain.held else None
    return Crossing(domain.name, epochs, step, None if phase is None else phase.name, in_run)
