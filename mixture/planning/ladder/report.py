"""A ladder for programs: plain JSON values, one a rung."""

from __future__ import annotations

from mixture.planning.ladder.ladder import Rung, RungDomain
from mixture.planning.plan import Json, finding_json, json_value


def rung_json(rung: Rung) -> Json:
    """A rung: what was asked for and what it came to, `phases`, `domains`, and the findings of its plan."""
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
                **({"weights_change": list(phase.changes)} if phase.changes else {}),
            }
            for phase in plan.phases
        ],
        "domains": [_domain(domain) for domain in rung.domains],
        "findings": [finding_json(finding) for finding in plan.findings],
        "lockable": not plan.refusals,
    }


def _domain(domain: RungDomain) -> Json:
    return {
        "domain": domain.name,
        "tokens": domain.tokens,
        "pool_tokens": domain.pool_tokens,
        "tokens_drawn": domain.tokens_drawn,
        "epochs_asked": json_value(domain.epochs_asked),
        "epochs": json_value(domain.epochs),
    }
