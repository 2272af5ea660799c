"""Which domain: a Huffman tree over a segment's weights whose keyed splits place any number of sequences.

A node of weight W hands its items, numbered from 0, to two children; the smaller one has weight s <= W/2. Item j of the
smaller child is one of the node's items ceil(jW/s) to ceil((j+1)W/s) - 1, drawn by key; the larger child has all
others, in order. So a child of a node's first m items is never off its share by one, and each domain by less than
3.36 (the sum of the reciprocal Fibonacci numbers: a node weighs at least its child and grandchild together).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from mixture.schedule.apportion import WHOLE
from mixture.schedule.permute import I64, U64, stream64, stream64s

MOST_OFF = Fraction(84, 25)
"""Items: after any number of a tree's items a domain is nearer to its share than this, rounded up."""
LOOKED_UP = 1 << 10
"""Splits to be evaluated at one count up to which all of them are evaluated at once (measured)."""


@dataclass(frozen=True, slots=True)
class _Splits:
    """Splits to evaluate together: an element each of a node's weight, its smaller child's, and its key."""

    small: I64
    whole: I64
    small_per_whole: npt.NDArray[np.float64]
    whole_per_small: npt.NDArray[np.float64]
    key: U64

    @staticmethod
    def join(parts: list[_Splits]) -> _Splits:
        """All splits of these, one after the other; of no parts, none."""
        none = np.empty((0, 1), dtype=np.int64)
        parts = parts or [_Splits(none, none, none.astype(np.float64), none.astype(np.float64), none.view(np.uint64))]
        return _Splits(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(_Splits)))

    def repeat(self, times: I64) -> _Splits:
        """Each split as often as `times` says: int64 [splits]."""
        return _Splits(*(np.repeat(getattr(self, field.name), times) for field in fields(_Splits)))

    # A float estimate of a quotient is less than one away from it, since quotients stay below 2^51; so rounding it and
    # looking at the remainder, which is exact modulo 2^64, gives the floor or the ceiling. Arrays are reused, because
    # fresh memory costs more than the arithmetic.

    def floor(self, m: I64) -> I64:
        """floor(m * small / whole) for m up to 2^49."""
        quotient, rest = _divide(m, self.small_per_whole, self.small, self.whole)
        quotient -= rest < 0
        return quotient

    def ceiling(self, j: I64) -> I64:
        """ceil(j * whole / small)."""
        quotient, rest = _divide(j, self.whole_per_small, self.whole, self.small)
        quotient += rest > 0
        return quotient

    def drawn(self, j: I64, low: I64, high: I64) -> I64:
        """The item, from low to high - 1, that the key picks for item j of the smaller child."""
        place = stream64s(self.key, j)
        np.remainder(place, (high - low).view(np.uint64), out=place)
        return np.add(place.view(np.int64), low, out=place.view(np.int64))

    def smaller(self, m: I64) -> I64:
        """How many of a node's first m items go to its smaller child."""
        j = self.floor(m)
        return j + (self.drawn(j, self.ceiling(j), self.ceiling(j + 1)) < m)


def _divide(x: I64, ratio: npt.NDArray[np.float64], times: I64, by: I64) -> tuple[I64, I64]:
    """x * times / by rounded, and what is left, above -by and below by; ratio: times / by."""
    estimate = np.multiply(x, ratio)
    np.rint(estimate, out=estimate)
    quotient = estimate.astype(np.int64)
    rest = np.multiply(quotient, by, out=estimate.view(np.int64))
    return quotient, np.subtract(x * times, rest, out=rest)


@dataclass(frozen=True, slots=True)
class _Level:
    """The inner nodes of a level: their rows and their children's, their places among all inner nodes, their splits."""

    rows: I64
    small: slice
    large: slice
    inner: slice
    splits: _Splits


class Tree:
    """The tree of a segment's integer weights, at least one of them above 0; `key` is that of its splits."""

    def __init__(self, weights: tuple[int, ...], key: int) -> None:
        self.size = len(weights)
        self._key = key
        heap = [(weight, i) for i, weight in enumerate(weights) if weight > 0]
        heapq.heapify(heap)
        self._weight = {i: weight for weight, i in heap}
        self._children: dict[int, tuple[int, int]] = {}
        self._parent: dict[int, tuple[int, bool]] = {}
        fresh = self.size
        while len(heap) > 1:
            small_weight, small = heapq.heappop(heap)
            large_weight, large = heapq.heappop(heap)
            self._children[fresh] = (small, large)
            self._parent[small], self._parent[large] = (fresh, True), (fresh, False)
            self._weight[fresh] = small_weight + large_weight
            heapq.heappush(heap, (small_weight + large_weight, fresh))
            fresh += 1
        self._root = heap[0][1]
        self._lay_out()

    def _lay_out(self) -> None:
        """Number the nodes level by level, so that a level's children are filled by slices."""
        level, row_of, next_row = [self._root], {self._root: 0}, 1
        self._levels: list[_Level] = []
        end = 0
        while inner := [node for node in level if node in self._children]:
            n = len(inner)
            smalls = [self._children[node][0] for node in inner]
            larges = [self._children[node][1] for node in inner]
            row_of.update((child, next_row + i) for i, child in enumerate(smalls + larges))
            small = np.array([[self._weight[child]] for child in smalls], dtype=np.int64)
            whole = np.array([[self._weight[node]] for node in inner], dtype=np.int64)
            number = np.array([[node - self.size] for node in inner], dtype=np.int64)
            rows = np.array([row_of[node] for node in inner], dtype=np.int64)
            splits = _Splits(small, whole, small / whole, whole / small, stream64s(np.uint64(self._key), number))
            of_small, of_large = slice(next_row, next_row + n), slice(next_row + n, next_row + 2 * n)
            self._levels.append(_Level(rows, of_small, of_large, slice(end, end + n), splits))
            level, next_row, end = smalls + larges, next_row + 2 * n, end + n
        self._num_rows, self._num_inner = next_row, end
        self._splits = _Splits.join([one.splits for one in self._levels])
        self.leaves = np.array(sorted(i for i in row_of if i < self.size), dtype=np.int64)
        """The domains with a weight above 0, in order: int64."""
        self._leaf_rows = np.array([row_of[i] for i in self.leaves.tolist()], dtype=np.int64)

    def _node_counts(self, x: I64) -> I64:
        """How many of the first x items each node has: int64 [nodes, len(x)]."""
        counts = np.empty((self._num_rows, x.size), dtype=np.int64)
        counts[0] = x
        smaller_of = self._looked_up(x) if x.size * self._num_inner <= LOOKED_UP else None
        for level in self._levels:
            m = counts[level.rows]
            smaller = smaller_of(level, m) if smaller_of else level.splits.smaller(m)
            counts[level.small] = smaller
            np.subtract(m, smaller, out=counts[level.large])
        return counts

    def _looked_up(self, x: I64) -> Callable[[_Level, I64], I64]:
        """`_Splits.smaller` by level, for nodes that have some of the first x items.

        A node is less than 3.36 items from its share, so it has one of eight counts. All splits are evaluated for these
        at once: of a few x that takes a third of the time of level after level.
        """
        share, rest = _divide(x, self._splits.whole / WHOLE, self._splits.whole, np.array(WHOLE))
        least = np.maximum(share - (rest < 0) - 3, 0)
        smaller = self._splits.smaller((least[:, :, None] + np.arange(8)).reshape(self._num_inner, x.size * 8)).reshape(
            -1
        )
        at = np.arange(least.size).reshape(least.shape) * 8 - least
        return lambda level, m: smaller[at[level.inner] + m]

    def leaf_counts(self, x: I64) -> I64:
        """How many of the first x items each of `leaves` has: int64 [len(x), len(leaves)] for int64 [n] x >= 0."""
        return np.ascontiguousarray(self._node_counts(x)[self._leaf_rows].T)

    def counts(self, x: int) -> I64:
        """How many of the first x items each domain has: int64 [number of domains]."""
        out = np.zeros(self.size, dtype=np.int64)
        out[self.leaves] = self.leaf_counts(np.array([x], dtype=np.int64))[0]
        return out

    def place(self, begin: int, end: int) -> tuple[I64, I64]:
        """The items from begin to end - 1 by domain: (items, counts).

        items:  int64 [end - begin], counted from begin, those of the first of `leaves` first, each leaf's in order
        counts: int64 [2, leaves], how many of the first begin, and of the first end, items each leaf has
        """
        counts = self._node_counts(np.array([begin, end], dtype=np.int64))
        first, size = counts[:, 0], counts[:, 1] - counts[:, 0]
        items = {0: np.arange(end - begin)}
        for level in self._levels:
            here = np.concatenate([items.pop(row) for row in level.rows.tolist()])
            small_size, size_here = size[level.small], size[level.rows]
            small_ends, ends = np.cumsum(small_size), np.cumsum(size_here)
            j = np.arange(small_ends[-1]) + np.repeat(first[level.small] - small_ends + small_size, small_size)
            splits = level.splits.repeat(small_size)
            low = splits.ceiling(j)
            high = np.append(low[1:], 0)  # a stretch ends where the next begins; of a node's last, the next is not here
            some = np.flatnonzero(small_size)
            high[small_ends[some] - 1] = level.splits.ceiling((first + size)[level.small, None])[some, 0]
            at = splits.drawn(j, low, high)
            at += np.repeat(ends - size_here - first[level.rows], small_size)
            _part(items, level.small, here[at], small_ends)
            _part(items, level.large, _without(here, at), ends - small_ends)
        return np.concatenate([items[row] for row in self._leaf_rows.tolist()]), counts[self._leaf_rows].T

    def item(self, domain: int, k: int) -> int:
        """Where item k of a domain stands in the tree's order: the least x with counts(x + 1)[domain] = k + 1."""
        node = domain
        while node != self._root:
            node, is_small = self._parent[node]
            small, whole = self._weight[self._children[node][0]], self._weight[node]
            j = k if is_small else k * small // (whole - small)
            low, high = -(-j * whole // small), -(-(j + 1) * whole // small)
            place = low + stream64(stream64(self._key, node - self.size), j) % (high - low)
            k = place if is_small else k + j + (k + j >= place)
        return k


def _part(items: dict[int, I64], rows: slice, values: I64, ends: I64) -> None:
    """Give each of a level's rows its values, which end at `ends`."""
    begin = 0
    for row, end in zip(range(rows.start, rows.stop), ends.tolist(), strict=True):
        items[row] = values[begin:end]
        begin = end


def _without(values: I64, at: I64) -> I64:
    """The values but those `at` these places, in order."""
    kept = np.ones(values.size, dtype=bool)
    kept[at] = False
    return values[np.flatnonzero(kept)]  # five times as fast as indexing by truth values
