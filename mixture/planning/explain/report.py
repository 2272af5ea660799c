"""An explained lock for programs, as commands print it and the service answers it, and its description field by field.

Counts are integers; fractions are a decimal to read and the exact ratio.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from mixture.names import EXAMPLE_DIGEST
from mixture.planning.amend import HALF
from mixture.planning.explain.changes import Change
from mixture.planning.explain.explain import AmendmentExplained, Explanation, PhaseExplained, Pools, Resumable
from mixture.planning.plan import Exact, WeightsChange, json_value, weights_change


class CountPair(TypedDict):
    """A figure before a step and from it on."""

    before: Annotated[int, Field(examples=[4096])]
    after: Annotated[int, Field(examples=[16384])]


class MoverReport(TypedDict):
    """A domain whose token share changed."""

    domain: Annotated[str, Field(examples=["web"])]
    before: Annotated[Exact, Field(examples=[HALF])]
    after: Annotated[Exact, Field(examples=[HALF])]


class ChangeReport(TypedDict):
    """What the lock does otherwise from a step on; pairs are the same where nothing changes."""

    sequence_length: CountPair
    batch_sequences: CountPair
    half_l1: Annotated[Exact, Field(examples=[HALF], description="How far the weights moved, 0 to 1.")]
    domains_moved: Annotated[int, Field(examples=[2])]
    weights_until: Annotated[int, Field(examples=[100], description="Up to which step the weights from there on hold.")]
    movers: Annotated[list[MoverReport], Field(description="Those that moved most, the largest change first.")]
    skip_sequences: Annotated[int, Field(examples=[0], description="Left out as text that a loss spike came from.")]
    tokens_skipped: Annotated[int, Field(examples=[0], description="Left out there, at a hand-off or by a skip.")]
    masked_tokens: Annotated[int, Field(examples=[0], description="Taken down from there on.")]
    masked_domains: Annotated[int, Field(examples=[0], description="Of which text is taken down from there on.")]


class BoundaryReport(TypedDict):
    """A step behind an amendment's at which the run changes."""

    step: Annotated[int, Field(examples=[80])]
    phase: Annotated[str | None, Field(examples=["late"], description="That begins there.")]
    began: Annotated[
        int | None, Field(examples=[None], description="Where the phase began in the amended lock, if elsewhere.")
    ]
    change: ChangeReport


class DroppedPhase(TypedDict):
    """A phase of the amended lock that is no more."""

    phase: Annotated[str, Field(examples=["late"])]
    first_step: Annotated[int, Field(examples=[80])]


class ExplainedAmendment(TypedDict):
    """One amendment of a lineage."""

    number: Annotated[int, Field(examples=[1], description="From 1, the oldest first.")]
    step: Annotated[int, Field(examples=[60])]
    amended: Annotated[str, Field(examples=["a3" * 32], description="Digest of the lock that was amended.")]
    made: Annotated[str, Field(examples=[EXAMPLE_DIGEST], description="Digest of the lock that came of it.")]
    history: Annotated[str, Field(examples=["0c" * 32], description="Of both, at the step.")]
    reason: Annotated[str | None, Field(examples=["a loss spike"])]
    steps_before: Annotated[int, Field(examples=[100], description="Of the run without the amendment.")]
    steps: Annotated[int, Field(examples=[120], description="Of the run with it.")]
    domains_added: Annotated[list[str], Field(examples=[[]])]
    keep_weights: Annotated[
        bool, Field(examples=[False], description="Whether weights that a rule would have fitted again were kept.")
    ]
    change: Annotated[
        ChangeReport | None,
        Field(description="Null where the run begins or ends at the step, or another amendment replaced it there."),
    ]
    later: Annotated[
        list[BoundaryReport],
        Field(
            description="Up to the next amendment's step: what the amended lock does not have, or, where that is not "
            "here, what there is."
        ),
    ]
    dropped: Annotated[list[DroppedPhase], Field(examples=[[]])]
    superseded_by: Annotated[
        int | None,
        Field(examples=[None], description="The later amendment that takes over at this step or before it."),
    ]
    replaced_by: Annotated[int | None, Field(examples=[None], description="The last later amendment at the very step.")]
    void: Annotated[bool, Field(examples=[False], description="Whether a later amendment left nothing of it.")]
    parts_at: Annotated[
        int | None,
        Field(
            examples=[60],
            description="Where the mixture parts from the amended lock; null where that was not looked at.",
        ),
    ]


class ResumableReport(TypedDict):
    """Whose checkpoints go on under the lock."""

    lock: Annotated[str, Field(examples=[EXAMPLE_DIGEST])]
    up_to_step: Annotated[int, Field(examples=[60])]
    own: Annotated[
        bool, Field(examples=[False], description="Whether they are the lock's own, which go on at any step.")
    ]


class PoolsReport(TypedDict):
    """Domains that are kept to pools."""

    domains: Annotated[int, Field(description="How many.")]
    pool_tokens: Annotated[int, Field(description="Tokens of the pools.")]
    tokens: Annotated[int, Field(description="Tokens that the domains have whole.")]


class ExplainedPhase(WeightsChange):
    """A phase of a lock, as its first step has it."""

    phase: str
    first_step: int
    steps: int
    sequence_length: Annotated[int, Field(description="Tokens of a sequence.")]
    batch_sequences: Annotated[int, Field(description="Sequences of a step.")]
    tokens: Annotated[int, Field(description="That all of its steps read.")]


class ExplanationReport(TypedDict):
    """An explained lock, as `mixture explain --json` prints it."""

    mixture: str
    digest: Annotated[str, Field(description="Of the lock: SHA-256, lower-case hex.")]
    steps: int
    sequences: int
    tokens: int
    domains: Annotated[int, Field(description="How many.")]
    masked_tokens: Annotated[int, Field(description="Taken down from some step on.")]
    pools: Annotated[PoolsReport | None, Field(description="Null where none is kept to a pool.")]
    phases: list[ExplainedPhase]
    amendments: Annotated[list[ExplainedAmendment], Field(description="The oldest first.")]
    resumable: list[ResumableReport]


def explanation_json(found: Explanation) -> ExplanationReport:
    """The report of an explained lock."""
    return {
        "mixture": found.mixture,
        "digest": found.digest,
        "steps": found.steps,
        "sequences": found.sequences,
        "tokens": found.tokens,
        "domains": found.domains,
        "masked_tokens": found.masked_tokens,
        "pools": None if found.pools is None else _pools(found.pools),
        "phases": [_phase(phase) for phase in found.phases],
        "amendments": [amendment_json(amendment) for amendment in found.amendments],
        "resumable": [resumable_json(one) for one in found.resumable],
    }


def amendment_json(explained: AmendmentExplained) -> ExplainedAmendment:
    """The report of an amendment of a lineage."""
    return {
        "number": explained.number,
        "step": explained.step,
        "amended": explained.amended,
        "made": explained.made,
        "history": explained.history,
        "reason": explained.reason,
        "steps_before": explained.steps_before,
        "steps": explained.steps,
        "domains_added": list(explained.domains_added),
        "keep_weights": explained.keep_weights,
        "change": None if explained.change is None else _change(explained.change),
        "later": [
            {"step": at.step, "phase": at.phase, "began": at.began, "change": _change(at.change)}
            for at in explained.later
        ],
        "dropped": [{"phase": name, "first_step": step} for name, step in explained.dropped],
        "superseded_by": explained.superseded_by,
        "replaced_by": explained.replaced_by,
        "void": explained.is_void,
        "parts_at": explained.parts_at,
    }


def resumable_json(resumable: Resumable) -> ResumableReport:
    """Whose checkpoints may go on, up to which step."""
    return {"lock": resumable.lock, "up_to_step": resumable.up_to_step, "own": resumable.is_own}


def _pools(pools: Pools) -> PoolsReport:
    return {"domains": pools.domains, "pool_tokens": pools.pool_tokens, "tokens": pools.tokens}


def _phase(phase: PhaseExplained) -> ExplainedPhase:
    return {
        "phase": phase.name,
        "first_step": phase.first_step,
        "steps": phase.steps,
        "sequence_length": phase.sequence_length,
        "batch_sequences": phase.batch_sequences,
        "tokens": phase.tokens,
        **weights_change(phase.weights_change),
    }


def _change(change: Change) -> ChangeReport:
    return {
        "sequence_length": _pair(change.sequence_length),
        "batch_sequences": _pair(change.batch_sequences),
        "half_l1": json_value(change.half_l1),
        "domains_moved": change.moved,
        "weights_until": change.weights_until,
        "movers": [
            {"domain": mover.domain, "before": json_value(mover.before), "after": json_value(mover.after)}
            for mover in change.movers
        ],
        "skip_sequences": change.skip_sequences,
        "tokens_skipped": change.tokens_skipped,
        "masked_tokens": change.masked_tokens,
        "masked_domains": change.masked_domains,
    }


def _pair(pair: tuple[int, int]) -> CountPair:
    return {"before": pair[0], "after": pair[1]}
