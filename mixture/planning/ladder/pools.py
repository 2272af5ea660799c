"""Pools that make a small run see each domain as often as the large one will (simulated epoching)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from mixture.planning.plan import Plan


def simulated_pools(full: Plan, rungs: Sequence[Plan]) -> list[dict[str, int]]:
    """The pool of each domain in each of the rungs, which stand in order of their tokens; a domain left out is whole.

    A pool holds the tokens that the rung draws ÷ the epochs of the full run, rounded up to whole sequences of the
    longest length that weighs the domain; at least one, and no less than in the rung before, so that larger rungs
    contain the smaller ones' text. So no domain has more epochs than in the full run, and fewer by less than one
    sequence of its pool. A pool is cut from full blocks: a domain whose full blocks do not hold it is whole, as is one
    that the full run weighs and never draws.
    """
    least = [0] * len(full.domains)
    return [_pools(full, rung, least) for rung in rungs]


def _pools(full: Plan, rung: Plan, least: list[int]) -> dict[str, int]:
    """The pools of one rung; `least`, by domain, is what they may not fall below, and becomes what they are."""
    pools: dict[str, int] = {}
    block = rung.data.block_tokens
    for d, (domain, large) in enumerate(zip(rung.domains, full.domains, strict=True)):
        lengths = [phase.laid.sequence_length for phase in rung.phases if phase.shares[d]]
        length = max(lengths, default=0)
        if not length or domain.tokens < length:
            continue
        wanted = ceil(domain.tokens_drawn / large.epochs / length) if large.epochs else domain.tokens
        least[d] = max(least[d], max(wanted, 1) * length)
        if least[d] <= (domain.tokens // block * block or domain.tokens) and least[d] < domain.tokens:
            pools[domain.name] = least[d]
    return pools
