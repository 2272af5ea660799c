"""A comparison for programs: plain JSON values. Counts are integers, fractions a decimal to read and a ratio."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction

from mixture.planning.compare.comparison import Diff, Distance, Figures, Move, PhasePair
from mixture.planning.compare.sides import Side, Stretch
from mixture.planning.plan import json_value
from mixture.units import decimal

Json = dict[str, object]


def diff_json(diff: Diff) -> Json:
    """The whole comparison as one object; changes are b's figure less a's, null is what is not there.

    a, b:         name, mixture, digest (of a lock), steps, sequences, tokens, `lengths` and `batches` from their first
                  steps on, `amendments` (step, lock, reason), `refusals`: codes of errors that refuse a lock
    same, same_to_end, agreed_steps, parts_by: whether anything differs, whether what the shorter one reads does, the
                  first step that they do not read alike, and in what: seed, block, window, length, batch, weights,
                  skip, sizes, pools, domains, start
    resume_step, taken_down: checkpoints of either up to and at this step go on under the other; tokens that one alone
                  has taken down (`a_tokens`, `b_tokens`), from `first_step` on, null where both hide the same text
    half_l1, hellinger: of the runs, by the tokens drawn of each domain; hellinger has no ratio
    phases:       of both, cut at each other's first steps: `phase`, `first_step`, `a` and `b` (phase, first_step,
                  steps, tokens), half_l1 and hellinger by weight
    by, moves:    the largest change of share first: `domain`, or, by a column, `group` and its number of `domains`; `a`
                  and `b` (weight, tokens_drawn, tokens, epochs), the changes, whether it is `rounding` only, `phases`
                  (phase, first_step, weights `a` and `b`)
    only_a, only_b, resized, repooled, retexted, regrouped, masks_differ: domains of one alone; with other tokens, other
                  pools (null: none), other text, another group; whether other text is taken down
    """
    rounded = {move.name for move in diff.rounded}
    return {
        "a": _side(diff.a),
        "b": _side(diff.b),
        "same": diff.is_same,
        "same_to_end": diff.agreement.to_end,
        "agreed_steps": diff.agreement.steps,
        "resume_step": diff.agreement.resume_step,
        "taken_down": None if diff.agreement.taken_down is None else asdict(diff.agreement.taken_down),
        "parts_by": [part.name.lower() for part in diff.agreement.parts_by],
        **_distance(diff.distance),
        "phases": [_phase(pair) for pair in diff.phases],
        "by": diff.by,
        "moves": [_move(diff, move, rounded) for move in diff.moves],
        "only_a": list(diff.only_a),
        "only_b": list(diff.only_b),
        "resized": [{"domain": one.name, "a": one.a, "b": one.b} for one in diff.resized],
        "repooled": [{"domain": one.name, "a": one.a, "b": one.b} for one in diff.repooled],
        "retexted": list(diff.retexted),
        "regrouped": list(diff.regrouped),
        "masks_differ": diff.agreement.taken_down is not None,
    }


def _side(side: Side) -> Json:
    return {
        "name": side.name,
        "mixture": side.mixture,
        "digest": side.digest,
        "steps": side.data.steps,
        "sequences": side.schedule.num_sequences,
        "tokens": side.run.whole,
        "lengths": [{"first_step": first, "sequence_length": length} for first, length in side.lengths],
        "batches": [{"first_step": batch.first_step, "sequences": batch.sequences} for batch in side.data.batches],
        "amendments": [{"step": one.step, "lock": one.lock, "reason": one.reason} for one in side.amends],
        "refusals": sorted({finding.code.value for finding in side.refusals}),
    }


def _distance(found: Distance | None) -> Json:
    if found is None:
        return {"half_l1": None, "hellinger": None}
    return {"half_l1": json_value(found.half_l1), "hellinger": _root(found.hellinger)}


def _root(x: Decimal) -> Json:
    """A figure that is no ratio."""
    return {"decimal": decimal(Fraction(x)), "ratio": None}


def _phase(pair: PhasePair) -> Json:
    named: Json = {"phase": pair.name, "first_step": pair.first_step}
    return named | {"a": _stretch(pair.a), "b": _stretch(pair.b), **_distance(pair.distance)}


def _stretch(stretch: Stretch | None) -> Json | None:
    if stretch is None:
        return None
    tokens = sum(stretch.tokens.values())
    return {"phase": stretch.phase, "first_step": stretch.first_step, "steps": stretch.steps, "tokens": tokens}


def _move(diff: Diff, move: Move, rounded: Collection[str | None]) -> Json:
    named: Json = {"domain": move.name}
    if diff.by is not None:
        named = {"group": move.name, "domains": len(move.domains)}
    phases: list[Json] = []
    for pair in diff.phases:
        weights = (None if side is None else side.weight(move.domains) for side in (pair.a, pair.b))
        named_phase: Json = {"phase": pair.name, "first_step": pair.first_step}
        phases.append(named_phase | dict(zip(("a", "b"), map(json_value, weights), strict=True)))
    return named | {
        "a": _figures(move.a),
        "b": _figures(move.b),
        "weight_change": json_value(move.weight_change),
        "tokens_change": move.tokens_change,
        "epochs_change": json_value(move.epochs_change),
        "rounding": move.name in rounded,
        "phases": phases,
    }


def _figures(figures: Figures | None) -> Json | None:
    if figures is None:
        return None
    return {
        "weight": json_value(figures.weight),
        "tokens_drawn": figures.tokens,
        "tokens": figures.size,
        "epochs": json_value(figures.epochs),
    }
