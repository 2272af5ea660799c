"""What curves come to: their parameters, how often the best bucket is read, and the buckets that are not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mixture.plan.curve_rule import PoolCurve
from mixture.plan.figures import decimal
from mixture.plan.findings import Finding
from mixture.plan.phases import PhaseSteps
from mixture.plan.weights import PhaseWeights
from mixture.spec import FindingCode, Spec
from mixture.units import format_count, quote


def fitted_curves(spec: Spec, phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]) -> Iterator[Finding]:
    """One finding for each curve of a phase."""
    for phase, own in zip(phases, weights, strict=True):
        for pool in own.curves:
            yield _fitted(spec, phase, pool)


def _fitted(spec: Spec, phase: PhaseSteps, pool: PoolCurve) -> Finding:
    curve, best = pool.curve, pool.buckets[-1]
    dropped = pool.buckets[: curve.dropped]
    tokens = sum(bucket.tokens for bucket in dropped)
    message = (
        f"the curve over {quote(pool.by)} in phase {phase.name!r} has p = {decimal(curve.p, digits=6)},"
        f" lambda = {decimal(curve.lam, digits=6)}, C = {decimal(curve.scale, digits=6)}: bucket {best.label!r} is read"
        f" {decimal(curve.factors[-1], digits=4)} times"
    )
    if dropped:
        message += (
            f", the worst {len(dropped)} of {len(pool.buckets)} buckets are not read, up to {dropped[-1].label!r}:"
            f" {format_count(tokens)} tokens, {decimal(curve.begin * 100, digits=4)}% of them"
        )
    facts: dict[str, object] = {
        "phase": phase.name,
        "by": pool.by,
        "p": curve.p,
        "lambda": curve.lam,
        "begin": curve.begin,
        "scale": curve.scale,
        "factor": curve.factors[-1],
        "dropped": [bucket.label for bucket in dropped],
        "tokens_dropped": tokens,
    }
    return Finding(FindingCode.CURVE_FITTED, message, spec.place(pool.path), None, facts)
