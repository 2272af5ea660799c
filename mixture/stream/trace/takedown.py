"""From what a file says is to be taken down to the ranges of tokens that a lock masks."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mixture.data.store import Store, require_agreement
from mixture.errors import AmendError, Place, nearest
from mixture.lock import Lock, Mask, MaskedDocument, MaskedRange, MaskLine, in_order, read_mask_file, without_masked

Range = tuple[int, int]
"""Tokens of a domain, from the first up to the second."""


def masks_of(store: Store, file: str | os.PathLike[str], first_step: int, lock: Lock) -> tuple[Mask, ...]:
    """The masks that take down what a file says (`mixture.lock.mask_file`) from a step on, beside the lock's own.

    Raises as `masks_of_lines`, and AmendError `mask-file-invalid`, `mask-file-missing`.
    """
    return masks_of_lines(store, read_mask_file(file), first_step, lock)


def masks_of_lines(store: Store, lines: Sequence[MaskLine], first_step: int, lock: Lock) -> tuple[Mask, ...]:
    """The masks that take down documents and ranges from a step on, beside the lock's own.

    A document is taken down wherever the lock's domains have it, its text without the end-of-document behind it.
    What is said twice, or taken down by the lock already, is taken down once; what lies only in domains of which the
    lock knows nothing is not in its run.

    Raises AmendError, with the line: `unknown-document`, where the store has none with that id;
    `unknown-domain`; `range-outside`; `mask-begins-later`, where the lock takes some of it down from a later step on.
    Raises StoreError where the store is not the lock's.
    """
    require_agreement(store, lock)
    own = _Own(lock, first_step)
    ranges: dict[str, list[Range]] = defaultdict(list)
    documents = _places(store, (line.what.document for line in lines if isinstance(line.what, MaskedDocument)))
    for line in lines:
        for domain, first, end in _ranges(line, documents, own.tokens):
            own.check(domain, first, end, line.place)
            ranges[domain].append((first, end))
    return in_order(
        lock.data,
        (
            Mask(first_step, domain, begin, stop - begin)
            for domain, said in ranges.items()
            for first, end in _joined(said)
            for begin, stop in without_masked(own.near(domain, first, end), first, end)
        ),
    )


def _places(store: Store, identities: Iterable[str]) -> Mapping[str, list[tuple[str, int, int]]]:
    """Where documents are: domain, first token and end of their text, by id."""
    found = store.documents_named([*identities])
    places: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    columns = (found[name].to_pylist() for name in ("id", "domain", "first_token", "tokens"))
    for identity, domain, first, tokens in zip(*columns, strict=True):
        places[identity].append((domain, first, first + tokens - 1))
    return places


def _ranges(
    line: MaskLine, documents: Mapping[str, list[tuple[str, int, int]]], tokens: Mapping[str, int]
) -> Iterator[tuple[str, int, int]]:
    """The ranges of the lock's domains that a line takes down."""
    what = line.what
    if what.domain is not None and what.domain not in tokens:
        raise AmendError(
            f"the lock has no domain {what.domain!r}",
            code="unknown-domain",
            place=line.place,
            hint=nearest(what.domain, tokens),
        )
    if isinstance(what, MaskedRange):
        yield what.domain, what.first_token, what.first_token + what.tokens
        return
    found = [one for one in documents.get(what.document, ()) if what.domain in (None, one[0])]
    if not found:
        where = "" if what.domain is None else f" in domain {what.domain!r}"
        raise AmendError(
            f"the store has no document {what.document!r}{where}", code="unknown-document", place=line.place
        )
    for domain, first, end in found:
        if domain in tokens and first < end:
            yield domain, first, end


class _Own:
    """The lock's own masks, and what it knows of domains.

    tokens: by domain
    """

    def __init__(self, lock: Lock, first_step: int) -> None:
        self.tokens = {domain.name: domain.tokens for domain in lock.data.domains}
        self._first_step = first_step
        self._masks: dict[str, list[Mask]] = defaultdict(list)
        for mask in sorted(lock.masks, key=lambda one: one.first_token):
            self._masks[mask.domain].append(mask)

    def near(self, domain: str, first: int, end: int) -> list[Mask]:
        """Those that overlap a range."""
        held = self._masks.get(domain, [])
        low = bisect_right(held, first, key=lambda one: one.end)
        return held[low : bisect_left(held, end, key=lambda one: one.first_token)]

    def check(self, domain: str, first: int, end: int, place: Place) -> None:
        """Raise AmendError where a range can not be taken down from the step on."""
        if end > self.tokens[domain]:
            raise AmendError(
                f"token {end - 1:,} is not in domain {domain!r} of {self.tokens[domain]:,} tokens",
                code="range-outside",
                place=place,
            )
        later = next((mask for mask in self.near(domain, first, end) if mask.first_step > self._first_step), None)
        if later is not None:
            raise AmendError(
                f"the lock takes down tokens {later.first_token:,} to {later.end - 1:,} of domain {domain!r} from step "
                f"{later.first_step:,} on, after step {self._first_step:,}",
                code="mask-begins-later",
                place=place,
                hint="amend the lock that this one amends, or take down from that step on",
            )


def _joined(ranges: list[Range]) -> Iterator[Range]:
    """Ranges in any order as disjoint ones, in order; those that touch are one."""
    first, end = -1, -1
    for begin, stop in sorted(ranges):
        if begin > end:
            if end >= 0:
                yield first, end
            first, end = begin, stop
        else:
            end = max(end, stop)
    if end >= 0:
        yield first, end
