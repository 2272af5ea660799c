"""A plan for programs: plain JSON values. Counts are integers, fractions a decimal to read and the exact ratio."""

from __future__ import annotations

from collections.abc import Iterator

from mixture.errors import Place
from mixture.planning.plan.figures import json_value
from mixture.planning.plan.findings.findings import Finding
from mixture.planning.plan.plan import Plan
from mixture.planning.plan.planned import PlannedDomain, PlannedPhase

Json = dict[str, object]


def plan_json(plan: Plan) -> Json:
    """The whole plan: totals, `phases` with their domains, `domains` over the run, `findings`."""
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


def finding_json(finding: Finding) -> Json:
    """A finding with its place and facts."""
    return {
        "code": finding.code.value,
        "level": finding.level.value,
        "accepted": finding.accepted,
        "message": finding.message,
        "hint": finding.hint,
        "place": None if finding.place is None else _place(finding.place),
        "facts": {name: json_value(value) for name, value in finding.facts.items()},
    }


def _place(place: Place) -> Json:
    return {"file": place.file, "line": place.line, "column": place.column, "path": place.path}


def _phase(plan: Plan, phase: PlannedPhase) -> Json:
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
        **({"weights_change": list(phase.changes)} if phase.changes else {}),
        "domains": list(_shares(plan, phase)),
    }


def _shares(plan: Plan, phase: PlannedPhase) -> Iterator[Json]:
    for d, (domain, share, sequences) in enumerate(zip(plan.domains, phase.shares, phase.sequences, strict=True)):
        yield {
            "domain": domain.name,
            "weight": json_value(share),
            **({"weight_at_end": json_value(phase.final[d])} if phase.changes else {}),
            "weight_read": json_value(phase.share_read(d)),
            "sequences": sequences,
            "tokens": phase.tokens(d),
            "tokens_left_over": domain.left_over(phase.laid.sequence_length),
        }


def _domain(domain: PlannedDomain) -> Json:
    return {
        "domain": domain.name,
        "tokens": domain.tokens,
        **({} if domain.pool_tokens is None else {"pool_tokens": domain.pool_tokens}),
        "tokens_drawn": domain.tokens_drawn,
        "epochs": json_value(domain.epochs),
        "max_epochs": json_value(domain.max_epochs),
    }
