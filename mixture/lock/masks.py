"""Masks: text that was taken down. From a step on a stream hides it; positions, and all other text, stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mixture.lock.lock import Mask
from mixture.schedule import ScheduleData


def in_order(data: ScheduleData, masks: Iterable[Mask]) -> tuple[Mask, ...]:
    """Masks as a lock has them: by first step, domain and first token."""
    index = {domain.name: d for d, domain in enumerate(data.domains)}
    return tuple(sorted(masks, key=lambda mask: (mask.first_step, index[mask.domain], mask.first_token)))


def mask_faults(data: ScheduleData, masks: tuple[Mask, ...]) -> Iterator[tuple[str, str]]:
    """What a lock's masks do not fit: the key, and what is wrong there."""
    tokens = {domain.name: domain.tokens for domain in data.domains}
    for i, mask in enumerate(masks):
        key = f"masks[{i}]"
        if mask.domain not in tokens:
            yield key, f"the lock has no domain {mask.domain!r}"
            return
        if mask.end > tokens[mask.domain]:
            yield key, f"token {mask.end - 1} is not in domain {mask.domain!r} of {tokens[mask.domain]} tokens"
    if masks != in_order(data, masks):
        yield "masks", "not in the order of first step, domain and first token"
    ends: dict[str, Mask] = {}
    for mask in sorted(masks, key=lambda one: (one.domain, one.first_token)):
        before = ends.get(mask.domain)
        if before is not None and before.end > mask.first_token:
            yield "masks", f"two of domain {mask.domain!r} overlap at token {mask.first_token}"
            return
        ends[mask.domain] = mask


def without_masked(masks: Iterable[Mask], first: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts [from, to) of the tokens [first, end) of a domain that none of its masks hides, in order."""
    for mask in sorted(masks, key=lambda one: one.first_token):
        if mask.end <= first or mask.first_token >= end:
            continue
        if first < mask.first_token:
            yield first, mask.first_token
        first = mask.end
    if first < end:
        yield first, end
