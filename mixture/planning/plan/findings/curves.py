"""What curves come to: their parameters, how often the best buckets are read, and the buckets that are not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mixture.planning.plan.findings.finding import Finding
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.weights.curve_rule import Bucket, PoolCurve
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import FindingCode, Spec
from mixture.units import decimal, format_count, quote


def fitted_curves(spec: Spec, phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]) -> Iterator[Finding]:
    """One finding for each phase that has curves; its facts have each of them."""
    for phase, own in zip(phases, weights, strict=True):
        if not own.curves:
            continue
        path = own.curves[0].path if len(own.curves) == 1 else f"phases[{phase.index}].weights"
        facts: dict[str, object] = {"phase": phase.name, "curves": [_facts(pool) for pool in own.curves]}
        said = _one(own.curves[0], phase.name) if len(own.curves) == 1 else _several(own.curves, phase.name)
        message = said + _dropped(own.curves)
        yield Finding(FindingCode.CURVE_FITTED, message, spec.place(path), None, facts)


def _one(pool: PoolCurve, phase: str) -> str:
    curve = pool.curve
    return (
        f"the curve over {quote(pool.by)} in phase {phase!r} has p = {decimal(curve.p, digits=6)},"
        f" lambda = {decimal(curve.lam, digits=6)}, C = {decimal(curve.scale, digits=6)}: bucket"
        f" {pool.buckets[-1].label!r} is read {decimal(curve.factors[-1], digits=4)} times"
    )


def _several(pools: Sequence[PoolCurve], phase: str) -> str:
    factors = [pool.curve.factors[-1] for pool in pools]
    columns = " and ".join(dict.fromkeys(quote(pool.by) for pool in pools))
    return (
        f"{format_count(len(pools))} curves over {columns} in phase {phase!r} read their best buckets"
        f" {decimal(min(factors), digits=4)} to {decimal(max(factors), digits=4)} times"
    )


def _dropped(pools: Sequence[PoolCurve]) -> str:
    """What is not read at all: whole buckets, below where their curves begin."""
    dropped = [bucket for pool in pools for bucket in _not_read(pool)]
    if not dropped:
        return ""
    buckets = sum(len(pool.buckets) for pool in pools)
    up_to = f", up to {dropped[-1].label!r}," if len(pools) == 1 else ""
    return (
        f", and the worst {format_count(len(dropped))} of {format_count(buckets)} buckets{up_to} are not read:"
        f" {format_count(sum(bucket.tokens for bucket in dropped))} tokens"
    )


def _not_read(pool: PoolCurve) -> Sequence[Bucket]:
    return pool.buckets[: pool.curve.dropped]


def _facts(pool: PoolCurve) -> dict[str, object]:
    return {
        "path": pool.path,
        "by": pool.by,
        "p": pool.curve.p,
        "lambda": pool.curve.lam,
        "begin": pool.curve.begin,
        "scale": pool.curve.scale,
        "factor": pool.curve.factors[-1],
        "dropped": [bucket.label for bucket in _not_read(pool)],
        "tokens_dropped": sum(bucket.tokens for bucket in _not_read(pool)),
    }
