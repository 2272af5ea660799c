"""A rung of a ladder for programs, and its description field by field."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from mixture.planning.ladder.ladder import Rung, RungDomain
from mixture.planning.plan import Exact, FindingReport, WeightsChange, finding_json, json_value, weights_change


class RungPhase(WeightsChange):
    """A phase of a rung."""

    phase: str
    first_step: int
    steps: int
    asked_end: Annotated[Exact, Field(description="The step that it was to end at, before rounding.")]
    batch_sequences: Annotated[int, Field(description="Sequences of a step.")]
    sequence_length: Annotated[int, Field(description="Tokens of a sequence.")]


class RungDomainReport(TypedDict):
    """A domain on a rung. Epochs are tokens drawn ÷ tokens that may be read; null for a domain without tokens."""

    domain: str
    tokens: int
    pool_tokens: Annotated[int | None, Field(description="That the rung is kept to; null: all may be read.")]
    tokens_drawn: int
    epochs_asked: Annotated[Exact | None, Field(description="Of the full run.")]
    epochs: Annotated[Exact | None, Field(description="Of the rung.")]


class RungFiles(TypedDict, total=False):
    """Of a rung that was written to files."""

    spec: Annotated[str, Field(description="The file of its spec; absent where none was written.")]
    lock: Annotated[str, Field(description="The file of its lock; absent where none was written.")]


class RungReport(RungFiles):
    """A rung, as `mixture ladder --json` prints it: what was asked for and what it came to."""

    rung: Annotated[str, Field(description="As it was asked for: 500M:64.")]
    mixture: Annotated[str, Field(description="The name in its spec.")]
    is_full_run: bool
    tokens_asked: int
    tokens: int
    steps: int
    sequences: int
    pools: Annotated[int, Field(description="How many domains are kept to a pool.")]
    phases: list[RungPhase]
    domains: list[RungDomainReport]
    findings: Annotated[list[FindingReport], Field(description="Of the rung's plan.")]
    lockable: Annotated[bool, Field(description="False where an error is not accepted.")]


def rung_json(rung: Rung) -> RungReport:
    """The report of a rung."""
    plan = rung.plan
    return {
        "rung": str(rung.size),
        "mixture": plan.spec.mixture,
        "is_full_run": rung.is_full_run,
        "tokens_asked": rung.size.tokens,
        "tokens": plan.tokens,
        "steps": plan.steps,
        "sequences": plan.sequences,
        "pools": len(rung.pools),
        "phases": [
            {
                "phase": phase.name,
                "first_step": phase.laid.first_step,
                "steps": phase.laid.steps,
                "asked_end": json_value(phase.laid.asked_end),
                "batch_sequences": phase.laid.batch_sequences,
                "sequence_length": phase.laid.sequence_length,
                **weights_change(phase.changes),
            }
            for phase in plan.phases
        ],
        "domains": [_domain(domain) for domain in rung.domains],
        "findings": [finding_json(finding) for finding in plan.findings],
        "lockable": not plan.refusals,
    }


def _domain(domain: RungDomain) -> RungDomainReport:
    return {
        "domain": domain.name,
        "tokens": domain.tokens,
        "pool_tokens": domain.pool_tokens,
        "tokens_drawn": domain.tokens_drawn,
        "epochs_asked": json_value(domain.epochs_asked),
        "epochs": json_value(domain.epochs),
    }
