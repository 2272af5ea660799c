"""Steps of one segment and one batch: which domains each step reads, and which slot holds which of its sequences.

A step is described by runs: consecutive draws of one domain, domain by domain. Its slots are dealt from that layout by
a stride near the golden ratio, so that any run of slots has nearly the step's shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, isqrt

import numpy as np

from mixture.schedule.permute import I64, U64, Keys
from mixture.schedule.tree import Tree

COUNTS_AT_ONCE = 1 << 20
"""Counts by domain that are held at once where draws are looked for, 8 bytes each."""
PLACED_BELOW = 4
"""Sequences of a step are placed one by one where it has fewer than one in so many domains (measured)."""


def golden_stride(n: int) -> int:
    """The number nearest to n/1.618 that has no divisor in common with n; the larger one where two are as near."""
    near = (isqrt(5 * n * n) - n) // 2
    return next(g for away in range(n + 1) for g in (near + away, near - away) if 1 <= g <= n and gcd(g, n) == 1)


@dataclass(frozen=True, slots=True)
class Runs:
    """Consecutive draws, step by step and domain by domain: int64 arrays, one element a run.

    `low` and `high` (int64, one element a domain) bound the draws of each domain among them.
    """

    domain: I64
    first: I64
    count: I64
    low: I64
    high: I64


class Stretch:
    """`steps` steps from `first_step` on, which begin at item `origin` of the segment's tree.

    base: each domain's first draw here, int64 [domains].
    """

    def __init__(
        self, seed: int, tree: Tree, *, origin: int, length: int, first_step: int, steps: int, batch: int, base: I64
    ) -> None:
        self.tree, self.origin, self.length = tree, origin, length
        self.first_step, self.steps, self.batch = first_step, steps, batch
        self.base = base
        self.sequences = steps * batch
        self.stride = golden_stride(batch)
        self.places = np.arange(batch) * self.stride % batch
        """The place of each slot in a step that is not rotated: int64 [batch]."""
        self._deal_keys = Keys(seed, "deal")
        self._at_origin = tree.leaf_counts(np.array([origin]))[0]

    def drawn(self, j: int) -> I64:
        """Sequences of each domain in the first j steps: int64 [domains]."""
        return self._spread(self._before(np.array([j]))[0])

    def runs(self, j0: int, j1: int) -> Runs:
        """What steps j0 to j1 - 1 read, in layout."""
        return self._placed_runs(j0, j1) if self._small else self._counted_runs(j0, j1)

    def steps_at_once(self, counts: int) -> int:
        """How many steps' runs take no more than this many counts by domain; small steps take none."""
        return self.steps if self._small else max(1, counts // self.tree.leaves.size)

    @property
    def _small(self) -> bool:
        return self.batch * PLACED_BELOW < self.tree.leaves.size

    def layout_places(self, j0: int, j1: int, picked: I64) -> I64:
        """Where slots lie in the layout of steps j0 to j1 - 1, end to end; both count from the first step's start."""
        rotations = self._rotation(self._deal_keys.numbers(self.first_step + j0, j1 - j0))
        if picked.size == (j1 - j0) * self.batch:
            place = self.places + rotations[:, None]
            np.subtract(place, self.batch, out=place, where=place >= self.batch)
            place += (np.arange(j1 - j0) * self.batch)[:, None]
            return place.reshape(-1)
        j, slot = np.divmod(picked, self.batch)
        some: I64 = (self.places[slot] + rotations[j]) % self.batch + j * self.batch
        return some

    def where(self, domain: int, k: int) -> tuple[int, int]:
        """(step of the stretch, slot) of draw k of a domain."""
        j, slot = self.where_each(np.array([domain]), np.array([k]))
        return int(j[0]), int(slot[0])

    def where_each(self, domain: I64, k: I64) -> tuple[I64, I64]:
        """The same of draws of this stretch, k [n] of domain [n], both int64: (steps, slots), int64 [n]."""
        numbers = (k - self.base[domain] + self._spread(self._at_origin)[domain]).tolist()
        items = [self.tree.item(d, number) for d, number in zip(domain.tolist(), numbers, strict=True)]
        j = (np.array(items, dtype=np.int64) - self.origin) // self.batch
        place = np.empty_like(j)
        most = max(1, COUNTS_AT_ONCE // self.tree.leaves.size)
        for start in range(0, j.size, most):
            some = slice(start, start + most)
            place[some] = self._places(j[some], domain[some], k[some])
        keys = self._deal_keys.many([str(step) for step in (self.first_step + j).tolist()])
        slot: I64 = (place - self._rotation(keys)) * pow(self.stride, -1, self.batch) % self.batch
        return j, slot

    def _rotation(self, keys: U64) -> I64:
        """How far the places of steps with these keys are turned: int64 [len(keys)]."""
        return (keys % np.uint64(self.batch)).astype(np.int64)

    def _places(self, j: I64, domain: I64, k: I64) -> I64:
        """The places of draws k [n] of domain [n] in the layouts of their steps j [n]: int64 [n]."""
        steps, at = np.unique(j, return_inverse=True)
        before, after = np.split(self._before(np.concatenate([steps, steps + 1])), 2)
        count = after - before
        ahead: I64 = (np.cumsum(count, axis=1) - count - before)[at, np.searchsorted(self.tree.leaves, domain)]
        return ahead + k - self.base[domain]

    def _spread(self, by_leaf: I64) -> I64:
        out = np.zeros(self.tree.size, dtype=np.int64)
        out[self.tree.leaves] = by_leaf
        return out

    def _before(self, j: I64) -> I64:
        """Sequences of each leaf in the first j steps: int64 [len(j), leaves]."""
        before: I64 = self.tree.leaf_counts(self.origin + j * self.batch) - self._at_origin
        return before

    def _counted_runs(self, j0: int, j1: int) -> Runs:
        """The runs from each domain's count at every step's end."""
        leaves = self.tree.leaves
        ends = self._before(np.arange(j0, j1 + 1)) + self.base[leaves]
        count = np.diff(ends, axis=0).reshape(-1)
        some = np.flatnonzero(count)
        domain = np.tile(leaves, j1 - j0)[some]
        return Runs(domain, ends[:-1].reshape(-1)[some], count[some], self._spread(ends[0]), self._spread(ends[-1]))

    def _placed_runs(self, j0: int, j1: int) -> Runs:
        """The runs from each sequence's place in the tree, one sequence a run: for steps that few domains are in."""
        items, counts = self.tree.place(self.origin + j0 * self.batch, self.origin + j1 * self.batch)
        low, high = counts - self._at_origin + self.base[self.tree.leaves]
        size = high - low
        # Items come domain by domain, a domain's in order: sorted by step alone they are in layout.
        step = items // self.batch
        order = np.argsort(step.astype(np.uint16) if j1 - j0 <= 1 << 16 else step, kind="stable")
        draw = np.arange(items.size) + np.repeat(low - (np.cumsum(size) - size), size)
        domain = np.repeat(self.tree.leaves, size)
        return Runs(domain[order], draw[order], np.ones_like(draw), self._spread(low), self._spread(high))
