"""A plan for programs, as commands print it and the service answers it, and its description field by field.

Counts are integers; fractions are a decimal to read and the exact ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from mixture.errors import Place
from mixture.planning.plan.figures import Exact, json_value
from mixture.planning.plan.findings.finding import Finding, Level
from mixture.planning.plan.plan import Plan
from mixture.planning.plan.planned import PlannedDomain, PlannedPhase


class SpecPlace(TypedDict):
    """A place in a spec."""

    file: Annotated[str | None, Field(examples=["mixture.yaml"])]
    line: Annotated[int | None, Field(examples=[14], description="From 1.")]
    column: Annotated[int | None, Field(examples=[7], description="From 1.")]
    path: Annotated[str | None, Field(examples=["phases[1].weights.web"], description="The key in the spec.")]


class FindingReport(TypedDict):
    """What a plan found: an error that is not accepted stops a lock."""

    code: Annotated[str, Field(examples=["longest-context"])]
    level: Annotated[Level, Field(examples=[Level.NOTE])]
    accepted: Annotated[bool, Field(examples=[False], description="Whether the spec lets it through by name.")]
    message: Annotated[str, Field(examples=["a sequence has 4,096 tokens at most"])]
    hint: Annotated[str | None, Field(examples=[None], description="What to do about it.")]
    place: Annotated[SpecPlace | None, Field(description="Where its cause stands in the spec.")]
    facts: Annotated[dict[str, object], Field(examples=[{"tokens": 4096}], description="What the message is made of.")]


class WeightAtEnd(TypedDict, total=False):
    """Of a domain in a phase whose weights change inside of it."""

    weight_at_end: Annotated[Exact, Field(description="Of the phase's last step; absent where its weights stay.")]


class PhaseShare(WeightAtEnd):
    """A domain in a phase."""

    domain: Annotated[str, Field(examples=["books"])]
    weight: Annotated[Exact, Field(description="Its share of the phase's tokens; the mean where weights change.")]
    weight_read: Annotated[
        Exact, Field(description="The share of the phase's tokens that is read of it, in whole sequences.")
    ]
    sequences: Annotated[int, Field(examples=[443180], description="That the phase draws of it.")]
    tokens: Annotated[int, Field(examples=[907632640], description="That the phase draws of it.")]
    tokens_left_over: Annotated[int, Field(examples=[1408], description="Of the domain, that no whole sequence holds.")]


class WeightsChange(TypedDict, total=False):
    """Of a phase whose weights change inside of it."""

    weights_change: Annotated[
        list[int],
        Field(
            examples=[[15359, 15459]],
            description="The steps behind its first from which it has other weights, as in a transition: `weight` is "
            "then the mean over its steps. Absent where its weights stay.",
        ),
    ]


class PlannedPhaseReport(WeightsChange):
    """A phase of a plan."""

    phase: Annotated[str, Field(examples=["pretraining"])]
    first_step: Annotated[int, Field(examples=[0])]
    steps: Annotated[int, Field(examples=[15259])]
    asked_end: Annotated[Exact, Field(description="The step that it was to end at, before rounding.")]
    sequences: Annotated[int, Field(examples=[7812608])]
    tokens: Annotated[int, Field(examples=[16000221184])]
    batch_sequences: Annotated[int, Field(examples=[512], description="Sequences of a step.")]
    batch_tokens: Annotated[int, Field(examples=[1048576], description="Tokens of a step.")]
    sequence_length: Annotated[int, Field(examples=[2048], description="Tokens of a sequence.")]
    domains: Annotated[list[PhaseShare], Field(description="In the order of the plan's `domains`.")]


class PoolTokens(TypedDict, total=False):
    """Of a domain that the run is kept to a pool of."""

    pool_tokens: Annotated[
        int, Field(examples=[190400000], description="Tokens that the run is kept to; absent where it may read all.")
    ]


class PlannedDomainReport(PoolTokens):
    """A domain over the whole run."""

    domain: Annotated[str, Field(examples=["books"])]
    tokens: Annotated[int, Field(examples=[1904000000], description="That the catalog has of it.")]
    tokens_drawn: Annotated[int, Field(examples=[1217536000], description="By the whole run, with repeats.")]
    epochs: Annotated[Exact | None, Field(description="Tokens drawn ÷ tokens, or those of its pool; null without any.")]
    max_epochs: Annotated[Exact | None, Field(description="Null where there is no such limit.")]


class PlanReport(TypedDict):
    """A plan, as `mixture plan --json` prints it."""

    mixture: Annotated[str, Field(examples=["demo"], description="The name that its spec gives it.")]
    tokenizer: Annotated[str | None, Field(examples=[None])]
    steps: Annotated[int, Field(examples=[19073])]
    sequences: Annotated[int, Field(examples=[8788992])]
    tokens: Annotated[int, Field(examples=[19999490048])]
    seed: Annotated[int, Field(examples=[0])]
    block_tokens: Annotated[int, Field(examples=[65536], description="Tokens of a block, the unit of reading.")]
    window_blocks: Annotated[int, Field(examples=[64], description="Blocks whose sequences are shuffled together.")]
    spec: Annotated[str, Field(examples=["5cc6e87f32d56f1a" * 4], description="Digest of what the spec says.")]
    catalog: Annotated[str, Field(examples=["ca06a7e0f3e7a79f" * 4], description="Digest of what the catalog says.")]
    phases: list[PlannedPhaseReport]
    domains: list[PlannedDomainReport]
    findings: list[FindingReport]
    lockable: Annotated[bool, Field(examples=[True], description="False where an error is not accepted.")]


def plan_json(plan: Plan) -> PlanReport:
    """The report of a plan."""
    data = plan.data
    return {
        "mixture": plan.spec.mixture,
        "tokenizer": plan.tokenizer,
        "steps": plan.steps,
        "sequences": plan.sequences,
        "tokens": plan.tokens,
        "seed": data.seed,
        "block_tokens": data.block_tokens,
        "window_blocks": data.window_blocks,
        "spec": plan.spec_digest,
        "catalog": plan.catalog.digest,
        "phases": [_phase(plan, phase) for phase in plan.phases],
        "domains": [_domain(domain) for domain in plan.domains],
        "findings": [finding_json(finding) for finding in plan.findings],
        "lockable": not plan.refusals,
    }


def finding_json(finding: Finding) -> FindingReport:
    """A finding with its place and facts."""
    return {
        "code": finding.code.value,
        "level": finding.level,
        "accepted": finding.accepted,
        "message": finding.message,
        "hint": finding.hint,
        "place": None if finding.place is None else _place(finding.place),
        "facts": {name: json_value(value) for name, value in finding.facts.items()},
    }


def weights_change(changes: Sequence[int]) -> WeightsChange:
    """What a report says of a phase whose weights change at these steps inside of it."""
    return {"weights_change": list(changes)} if changes else {}


def _place(place: Place) -> SpecPlace:
    return {"file": place.file, "line": place.line, "column": place.column, "path": place.path}


def _phase(plan: Plan, phase: PlannedPhase) -> PlannedPhaseReport:
    laid = phase.laid
    return {
        "phase": phase.name,
        "first_step": laid.first_step,
        "steps": laid.steps,
        "asked_end": json_value(laid.asked_end),
        "sequences": laid.sequences,
        "tokens": laid.tokens,
        "batch_sequences": laid.batch_sequences,
        "batch_tokens": laid.batch_tokens,
        "sequence_length": laid.sequence_length,
        **weights_change(phase.changes),
        "domains": list(_shares(plan, phase)),
    }


def _shares(plan: Plan, phase: PlannedPhase) -> Iterator[PhaseShare]:
    for d, (domain, share, sequences) in enumerate(zip(plan.domains, phase.shares, phase.sequences, strict=True)):
        at_end: WeightAtEnd = {"weight_at_end": json_value(phase.final[d])} if phase.changes else {}
        yield {
            "domain": domain.name,
            "weight": json_value(share),
            **at_end,
            "weight_read": json_value(phase.share_read(d)),
            "sequences": sequences,
            "tokens": phase.tokens(d),
            "tokens_left_over": domain.left_over(phase.laid.sequence_length),
        }


def _domain(domain: PlannedDomain) -> PlannedDomainReport:
    pool: PoolTokens = {} if domain.pool_tokens is None else {"pool_tokens": domain.pool_tokens}
    return {
        "domain": domain.name,
        "tokens": domain.tokens,
        **pool,
        "tokens_drawn": domain.tokens_drawn,
        "epochs": json_value(domain.epochs),
        "max_epochs": json_value(domain.max_epochs),
    }
