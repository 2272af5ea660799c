"""A comparison for programs, as commands print it and the service answers it, and its description field by field.

Counts are integers; fractions are a decimal to read and the exact ratio. Changes are b's figure less a's.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from mixture.names import DIGEST_MARK, EXAMPLE_DIGEST
from mixture.planning.compare.comparison import Diff, Distance, Figures, Move, PhasePair, Resized
from mixture.planning.compare.first_difference import TakenDown
from mixture.planning.compare.sides import Side, Stretch
from mixture.planning.plan import Exact, json_value
from mixture.units import decimal


class LengthFrom(TypedDict):
    """A sequence length, from a step on."""

    first_step: Annotated[int, Field(examples=[0])]
    sequence_length: Annotated[int, Field(examples=[4096], description="Tokens of a sequence.")]


class BatchFrom(TypedDict):
    """A batch, from a step on."""

    first_step: Annotated[int, Field(examples=[0])]
    sequences: Annotated[int, Field(examples=[11264], description="Sequences of a step.")]


class SideAmendment(TypedDict):
    """An amendment that a lock came of."""

    step: Annotated[int, Field(examples=[15259])]
    lock: Annotated[str, Field(examples=[EXAMPLE_DIGEST], description="That was amended.")]
    reason: Annotated[str | None, Field(examples=["a loss spike"])]


class SideReport(TypedDict):
    """One of the two mixtures."""

    name: Annotated[str, Field(examples=[f"demo{DIGEST_MARK}{EXAMPLE_DIGEST}"], description="As it was asked for.")]
    mixture: Annotated[str, Field(examples=["demo"], description="The name that its spec gives it.")]
    digest: Annotated[str | None, Field(examples=[EXAMPLE_DIGEST], description="Of the lock; null for a plan.")]
    steps: Annotated[int, Field(examples=[19073])]
    sequences: Annotated[int, Field(examples=[8788992])]
    tokens: Annotated[int, Field(examples=[19999490048])]
    lengths: list[LengthFrom]
    batches: list[BatchFrom]
    amendments: Annotated[list[SideAmendment], Field(examples=[[]], description="Of its lock, the oldest first.")]
    refusals: Annotated[
        list[str], Field(examples=[[]], description="Codes of errors that refuse a lock; empty for a lock.")
    ]


class StretchReport(TypedDict):
    """Steps of a phase on one side."""

    phase: Annotated[str, Field(examples=["pretraining"])]
    first_step: Annotated[int, Field(examples=[0])]
    steps: Annotated[int, Field(examples=[15259])]
    tokens: Annotated[int, Field(examples=[16000221184])]


class DistanceReport(TypedDict):
    """How far two mixtures are apart, from 0 to 1; null where one has no such step."""

    half_l1: Annotated[Exact | None, Field(description="Half the sum of the differences of shares, by domain.")]
    hellinger: Annotated[Exact | None, Field(description="It has no exact ratio.")]


class PhasePairReport(DistanceReport):
    """The same steps on both sides, of a phase each; null, and no distance, where one has no such step."""

    phase: Annotated[str, Field(examples=["pretraining"], description="Of both; `a → b` where their names differ.")]
    first_step: Annotated[int, Field(examples=[0])]
    a: StretchReport | None
    b: StretchReport | None


class FiguresReport(TypedDict):
    """A domain, or a group, on one side, over the whole run."""

    weight: Annotated[Exact, Field(description="Share of the tokens that the run reads.")]
    tokens_drawn: Annotated[int, Field(examples=[1217536000])]
    tokens: Annotated[int, Field(examples=[1904000000], description="That there are, or that the run is kept to.")]
    epochs: Annotated[Exact | None, Field(description="Tokens drawn ÷ tokens; null without any.")]


class MovedWeights(TypedDict):
    """The weights of a domain, or a group, in steps of a phase; null where the side has no such step, or none of it."""

    phase: Annotated[str, Field(examples=["pretraining"])]
    first_step: Annotated[int, Field(examples=[0])]
    a: Exact | None
    b: Exact | None


class MoveName(TypedDict, total=False):
    """Of what a move is: of a domain, or, where a column was asked for, of a group."""

    domain: Annotated[str | None, Field(examples=["books"], description="Absent for a group.")]
    group: Annotated[
        str | None, Field(examples=["c14"], description="The value of the column; null where it has none.")
    ]
    domains: Annotated[int, Field(examples=[5], description="Of the group.")]


class MoveReport(MoveName):
    """A domain on both sides, or, where a column was asked for, a group. Changes are b's figure less a's."""

    a: FiguresReport | None
    b: FiguresReport | None
    weight_change: Exact
    tokens_change: Annotated[int, Field(examples=[-4096])]
    epochs_change: Exact | None
    rounding: Annotated[
        bool, Field(examples=[False], description="Whether no share changes by 0.0001 percentage points.")
    ]
    phases: list[MovedWeights]


class ResizedReport(TypedDict):
    """A domain that has other tokens, or another pool, on each side."""

    domain: Annotated[str, Field(examples=["books"])]
    a: Annotated[int | None, Field(examples=[1904000000], description="Of pools, null: the domain is read whole.")]
    b: Annotated[int | None, Field(examples=[1904100000])]


class TakenDownReport(TypedDict):
    """Text that one side alone has taken down."""

    first_step: Annotated[
        int, Field(examples=[121], description="The first step at which one hides what the other does not.")
    ]
    a_tokens: Annotated[int, Field(examples=[0])]
    b_tokens: Annotated[int, Field(examples=[2119189])]


class ComparisonReport(TypedDict):
    """A comparison, as `mixture diff --json` prints it. Changes are b's figure less a's."""

    a: SideReport
    b: SideReport
    same: Annotated[bool, Field(examples=[False], description="Whether nothing differs.")]
    same_to_end: Annotated[bool, Field(examples=[False], description="Whether what the shorter one reads is the same.")]
    agreed_steps: Annotated[int, Field(examples=[15259], description="The first step that they do not read alike.")]
    resume_step: Annotated[
        int,
        Field(examples=[15259], description="Checkpoints of either up to and at this step go on under the other."),
    ]
    taken_down: Annotated[TakenDownReport | None, Field(description="Null where both hide the same text.")]
    parts_by: Annotated[
        list[str],
        Field(
            examples=[["weights"]],
            description="What differs at that step: seed, block, window, length, batch, weights, skip, sizes, pools, "
            "domains, start.",
        ),
    ]
    half_l1: Annotated[Exact, Field(description="Of the runs, by the tokens drawn of each domain.")]
    hellinger: Annotated[Exact, Field(description="The same; it has no exact ratio.")]
    phases: list[PhasePairReport]
    by: Annotated[str | None, Field(examples=[None], description="The column that moves are grouped by.")]
    moves: Annotated[list[MoveReport], Field(description="The largest change of weight first.")]
    only_a: Annotated[list[str], Field(examples=[[]], description="Domains of a alone.")]
    only_b: Annotated[list[str], Field(examples=[["math"]], description="Domains of b alone.")]
    resized: Annotated[list[ResizedReport], Field(description="Domains with other tokens.")]
    repooled: Annotated[list[ResizedReport], Field(description="Domains that are kept to another pool.")]
    retexted: Annotated[
        list[str], Field(examples=[[]], description="Domains whose text is another, as far as locks fix it.")
    ]
    regrouped: Annotated[
        list[str], Field(examples=[[]], description="Domains that count where b's catalog has them, not a's.")
    ]
    masks_differ: Annotated[bool, Field(examples=[False], description="Whether they hide other text.")]


def diff_json(diff: Diff) -> ComparisonReport:
    """The report of a comparison."""
    rounded = {move.name for move in diff.rounded}
    agreement = diff.agreement
    return {
        "a": _side(diff.a),
        "b": _side(diff.b),
        "same": diff.is_same,
        "same_to_end": agreement.to_end,
        "agreed_steps": agreement.steps,
        "resume_step": agreement.resume_step,
        "taken_down": None if agreement.taken_down is None else _taken_down(agreement.taken_down),
        "parts_by": [part.name.lower() for part in agreement.parts_by],
        "half_l1": json_value(diff.distance.half_l1),
        "hellinger": _root(diff.distance.hellinger),
        "phases": [_phase(pair) for pair in diff.phases],
        "by": diff.by,
        "moves": [_move(diff, move, rounded) for move in diff.moves],
        "only_a": list(diff.only_a),
        "only_b": list(diff.only_b),
        "resized": [_resized(domain) for domain in diff.resized],
        "repooled": [_resized(domain) for domain in diff.repooled],
        "retexted": list(diff.retexted),
        "regrouped": list(diff.regrouped),
        "masks_differ": agreement.taken_down is not None,
    }


def _side(side: Side) -> SideReport:
    return {
        "name": side.name,
        "mixture": side.mixture,
        "digest": side.digest,
        "steps": side.data.steps,
        "sequences": side.schedule.num_sequences,
        "tokens": side.run.whole,
        "lengths": [{"first_step": first, "sequence_length": length} for first, length in side.lengths],
        "batches": [{"first_step": batch.first_step, "sequences": batch.sequences} for batch in side.data.batches],
        "amendments": [
            {"step": amendment.step, "lock": amendment.lock, "reason": amendment.reason} for amendment in side.amends
        ],
        "refusals": sorted({finding.code.value for finding in side.refusals}),
    }


def _taken_down(text: TakenDown) -> TakenDownReport:
    return {"first_step": text.first_step, "a_tokens": text.a_tokens, "b_tokens": text.b_tokens}


def _distance(distance: Distance | None) -> DistanceReport:
    if distance is None:
        return {"half_l1": None, "hellinger": None}
    return {"half_l1": json_value(distance.half_l1), "hellinger": _root(distance.hellinger)}


def _root(x: Decimal) -> Exact:
    """A figure that is no ratio."""
    return {"decimal": decimal(Fraction(x)), "ratio": None}


def _phase(pair: PhasePair) -> PhasePairReport:
    return {
        "phase": pair.name,
        "first_step": pair.first_step,
        "a": _stretch(pair.a),
        "b": _stretch(pair.b),
        **_distance(pair.distance),
    }


def _stretch(stretch: Stretch | None) -> StretchReport | None:
    if stretch is None:
        return None
    assert stretch.phase is not None, "a pair's sides are of phases"
    tokens = sum(stretch.tokens.values())
    return {"phase": stretch.phase, "first_step": stretch.first_step, "steps": stretch.steps, "tokens": tokens}


def _resized(domain: Resized) -> ResizedReport:
    return {"domain": domain.name, "a": domain.a, "b": domain.b}


def _move(diff: Diff, move: Move, rounded: Collection[str | None]) -> MoveReport:
    grouped: MoveName = {"group": move.name, "domains": len(move.domains)}
    name: MoveName = {"domain": move.name} if diff.by is None else grouped
    return {
        **name,
        "a": _figures(move.a),
        "b": _figures(move.b),
        "weight_change": json_value(move.weight_change),
        "tokens_change": move.tokens_change,
        "epochs_change": json_value(move.epochs_change),
        "rounding": move.name in rounded,
        "phases": [_weights(pair, move) for pair in diff.phases],
    }


def _weights(pair: PhasePair, move: Move) -> MovedWeights:
    a, b = (None if side is None else side.weight(move.domains) for side in (pair.a, pair.b))
    return {"phase": pair.name, "first_step": pair.first_step, "a": json_value(a), "b": json_value(b)}


def _figures(figures: Figures | None) -> FiguresReport | None:
    if figures is None:
        return None
    return {
        "weight": json_value(figures.weight),
        "tokens_drawn": figures.tokens,
        "tokens": figures.size,
        "epochs": json_value(figures.epochs),
    }
