"""An explained lock for programs: plain JSON values. Counts are integers, fractions a decimal and the exact ratio."""

from __future__ import annotations

from dataclasses import asdict

from mixture.planning.explain.changes import Change
from mixture.planning.explain.explain import AmendmentExplained, Explanation, PhaseExplained, Resumable
from mixture.planning.plan import json_value

Json = dict[str, object]


def explanation_json(found: Explanation) -> Json:
    """The whole explanation as one object; pairs are `before` and `after`, and the same where nothing changes."""
    return {
        "mixture": found.mixture,
        "digest": found.digest,
        "steps": found.steps,
        "sequences": found.sequences,
        "tokens": found.tokens,
        "domains": found.domains,
        "masked_tokens": found.masked_tokens,
        "pools": None if found.pools is None else asdict(found.pools),
        "phases": [_phase(phase) for phase in found.phases],
        "amendments": [amendment_json(one) for one in found.amendments],
        "resumable": [resumable_json(one) for one in found.resumable],
    }


def amendment_json(one: AmendmentExplained) -> Json:
    """One amendment.

    `change` is null where the run begins or ends at its step, or another one replaced it there. `later` has the
    boundaries behind it, `dropped` phases that are no more.
    """
    return {
        "number": one.number,
        "step": one.step,
        "amended": one.amended,
        "made": one.made,
        "history": one.history,
        "reason": one.reason,
        "steps_before": one.steps_before,
        "steps": one.steps,
        "domains_added": list(one.domains_added),
        "keep_weights": one.keep_weights,
        "change": None if one.change is None else _change(one.change),
        "later": [
            {"step": at.step, "phase": at.phase, "began": at.began, "change": _change(at.change)} for at in one.later
        ],
        "dropped": [{"phase": name, "first_step": step} for name, step in one.dropped],
        "superseded_by": one.superseded_by,
        "replaced_by": one.replaced_by,
        "void": one.is_void,
        "parts_at": one.parts_at,
    }


def resumable_json(one: Resumable) -> Json:
    """Whose checkpoints may go on, up to which step."""
    return {"lock": one.lock, "up_to_step": one.up_to_step, "own": one.is_own}


def _phase(phase: PhaseExplained) -> Json:
    return {
        "phase": phase.name,
        "first_step": phase.first_step,
        "steps": phase.steps,
        "sequence_length": phase.sequence_length,
        "batch_sequences": phase.batch_sequences,
        "tokens": phase.tokens,
        **({"weights_change": list(phase.weights_change)} if phase.weights_change else {}),
    }


def _change(change: Change) -> Json:
    return {
        "sequence_length": _pair(change.sequence_length),
        "batch_sequences": _pair(change.batch_sequences),
        "half_l1": json_value(change.half_l1),
        "domains_moved": change.moved,
        "weights_until": change.weights_until,
        "movers": [
            {"domain": one.domain, "before": json_value(one.before), "after": json_value(one.after)}
            for one in change.movers
        ],
        "skip_sequences": change.skip_sequences,
        "tokens_skipped": change.tokens_skipped,
        "masked_tokens": change.masked_tokens,
        "masked_domains": change.masked_domains,
    }


def _pair(pair: tuple[int, int]) -> Json:
    return {"before": pair[0], "after": pair[1]}
