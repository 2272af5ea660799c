"""Steps of one segment and one batch: which domains each step reads, and which slot holds which of its sequences.

A step is described by runs: consecutive draws of one domain, domain by domain. Its slots are dealt from that layout by
a stride near the golden ratio, so that any run of slots has nearly the step's shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd, isqrt

import numpy as np

from mixture.schedule.permute import I64, SORTED_LIMIT, FeistelKeys, Keys, sorted_tables
from mixture.schedule.tree import Tree

COUNTS_AT_ONCE = 1 << 20
"""Counts by domain that are held at once where draws are looked for, 8 bytes each."""


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
    """`steps` steps from `first_step` on, which begin at place `origin` of the segment's tree.

    base: each domain's first draw here, int64 [domains].
    """

    def __init__(
        self,
        seed: int,
        tree: Tree,
        *,
        origin: int,
        length: int,
        first_step: int,
        steps: int,
        batch: int,
        mix_steps: int,
        base: I64,
    ) -> None:
        self.tree, self.origin, self.length = tree, origin, length
        self.first_step, self.steps = first_step, steps
        self.batch, self.mix_steps = batch, mix_steps
        self.base = base
        self.sequences = steps * batch
        self.stride = golden_stride(batch)
        self.places = np.arange(batch) * self.stride % batch
        """The place of each slot in a step that is not rotated: int64 [batch]."""
        self._deal_keys = Keys(seed, "deal")
        self._mix_keys = Keys(seed, "mix")
        self._at_origin = tree.leaf_counts(np.array([origin]))[0]

    def drawn(self, j: int) -> I64:
        """Sequences of each domain in the first j steps: int64 [domains]."""
        group, rest = divmod(j, self.mix_steps)
        out = self._spread(self._before_group(np.array([group]))[0])
        if rest:
            labels = self._labels(group, group + 1)[:rest]
            out += np.bincount(labels.reshape(-1), minlength=out.size)
        return out

    def runs(self, j0: int, j1: int) -> Runs:
        """What steps j0 to j1 - 1 read, in layout."""
        return self._whole_runs(j0, j1) if self.mix_steps == 1 else self._mixed_runs(j0, j1)

    def rotations(self, j0: int, j1: int) -> I64:
        """How far the places of each of steps j0 to j1 - 1 are turned: int64 [j1 - j0]."""
        return self._rotation(range(j0, j1))

    def _rotation(self, steps: Iterable[int]) -> I64:
        keys = self._deal_keys.many([str(self.first_step + j) for j in steps])
        return (keys % np.uint64(self.batch)).astype(np.int64)

    def layout_places(self, j0: int, j1: int, picked: I64) -> I64:
        """Where slots lie in the layout of steps j0 to j1 - 1, end to end; both count from the first step's start."""
        rotations = self.rotations(j0, j1)
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
        group = (np.array(items, dtype=np.int64) - self.origin) // (self.mix_steps * self.batch)
        j, place = np.empty_like(group), np.empty_like(group)
        if self.mix_steps == 1:
            most = max(1, COUNTS_AT_ONCE // self.tree.leaves.size)
            for start in range(0, group.size, most):
                some = slice(start, start + most)
                j[some], place[some] = self._whole_places(group[some], domain[some], k[some])
        else:
            order = np.argsort(group, kind="stable")
            for one in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
                j[one], place[one] = self._mixed_places(group[one], domain[one], k[one])
        slot: I64 = (place - self._rotation(j.tolist())) * pow(self.stride, -1, self.batch) % self.batch
        return j, slot

    def _whole_places(self, step: I64, domain: I64, k: I64) -> tuple[I64, I64]:
        """The steps of draws that lie in these steps, and their places in their step's layout."""
        steps, at = np.unique(step, return_inverse=True)
        before, after = np.split(self._before_group(np.concatenate([steps, steps + 1])), 2)
        count = after - before
        ahead = (np.cumsum(count, axis=1) - count - before)[at, np.searchsorted(self.tree.leaves, domain)]
        return step, ahead + k - self.base[domain]

    def _mixed_places(self, group: I64, domain: I64, k: I64) -> tuple[I64, I64]:
        """The same of draws that lie in one group of steps that are mixed."""
        first = int(group[0]) * self.mix_steps
        runs = self.runs(first, min(first + self.mix_steps, self.steps))
        # By domain and draw; a group's draws of a domain are at most as many as it has sequences.
        size = self.mix_steps * self.batch
        keys = runs.domain * size + runs.first - runs.low[runs.domain]
        order = np.argsort(keys)
        run = order[np.searchsorted(keys[order], domain * size + k - runs.low[domain], side="right") - 1]
        place = (np.cumsum(runs.count) - runs.count - runs.first)[run] + k
        return first + place // self.batch, place % self.batch

    def _spread(self, by_leaf: I64) -> I64:
        out = np.zeros(self.tree.size, dtype=np.int64)
        out[self.tree.leaves] = by_leaf
        return out

    def _before_group(self, groups: I64) -> I64:
        """Sequences of each leaf before groups: int64 [len(groups), leaves]."""
        before: I64 = self.tree.leaf_counts(self.origin + groups * (self.mix_steps * self.batch)) - self._at_origin
        return before

    def _whole_runs(self, j0: int, j1: int) -> Runs:
        leaves = self.tree.leaves
        ends = self._before_group(np.arange(j0, j1 + 1)) + self.base[leaves]
        count = np.diff(ends, axis=0).reshape(-1)
        some = np.flatnonzero(count)
        domain = np.tile(leaves, j1 - j0)[some]
        low, high = self._spread(ends[0]), self._spread(ends[-1])
        return Runs(domain, ends[:-1].reshape(-1)[some], count[some], low, high)

    def _mixed_runs(self, j0: int, j1: int) -> Runs:
        g0 = j0 // self.mix_steps
        labels = self._labels(g0, -(-j1 // self.mix_steps))[: j1 - g0 * self.mix_steps].reshape(-1)
        begins = np.empty(labels.size, dtype=bool)
        np.not_equal(labels[1:], labels[:-1], out=begins[1:])
        begins[:: self.batch] = True
        starts = np.flatnonzero(begins)
        domain = labels[starts]
        count = np.diff(starts, append=labels.size)
        # Draws are numbered in order of steps: sorted by domain, each run goes on where the one before it ended.
        order = np.argsort(domain, kind="stable")
        before = np.cumsum(count[order]) - count[order]
        totals = np.bincount(labels, minlength=self.tree.size)
        low = self._spread(self._before_group(np.array([g0]))[0]) + self.base
        first = np.empty(starts.size, dtype=np.int64)
        first[order] = before
        first += (low - (np.cumsum(totals) - totals))[domain]
        skip = int(np.searchsorted(starts, (j0 - g0 * self.mix_steps) * self.batch))
        return Runs(domain[skip:].astype(np.int64), first[skip:], count[skip:], low, low + totals)

    def _labels(self, g0: int, g1: int) -> np.ndarray:
        """The domains of the steps of groups g0 to g1 - 1, each step's in order: [steps, batch] of uint16 or uint32."""
        size = self.mix_steps * self.batch
        small = np.uint16 if self.tree.size <= 1 << 16 else np.uint32
        counts = np.diff(self._before_group(np.arange(g0, g1 + 1)), axis=0)
        layout = np.repeat(np.tile(self.tree.leaves.astype(small), g1 - g0), counts.reshape(-1))
        keys = self._mix_keys.many([str(self.first_step + g * self.mix_steps) for g in range(g0, g1)])
        if size <= SORTED_LIMIT:
            order = sorted_tables(size, keys).view(np.int64)
        else:
            order = FeistelKeys(np.full(g1 - g0, size), keys)(np.arange(size)[None, :])
        order += np.arange(g1 - g0)[:, None] * size
        labels = layout[order].reshape(-1, self.batch)
        labels.sort(axis=1)
        return labels
