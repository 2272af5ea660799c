"""Which domain: a Huffman tree over a segment's weights that places any number of sequences in closed form.

A node that has handed out m items has given round half up(m * left / whole) of them to its left child. `counts(x)`
follows from the root down; `item` goes the other way. Both are exact for any x up to 2^49.
"""

from __future__ import annotations

import heapq

import numpy as np

from mixture.schedule.permute import I64


class Tree:
    """The apportionment tree of integer weights, at least one of them above 0."""

    def __init__(self, weights: tuple[int, ...]) -> None:
        self.size = len(weights)
        heap = [(weight, i) for i, weight in enumerate(weights) if weight > 0]
        heapq.heapify(heap)
        self._weight = {i: weight for weight, i in heap}
        self._children: dict[int, tuple[int, int]] = {}
        self._parent: dict[int, tuple[int, bool]] = {}
        fresh = self.size
        while len(heap) > 1:
            small, right = heapq.heappop(heap)
            large, left = heapq.heappop(heap)
            self._children[fresh] = (left, right)
            self._parent[left], self._parent[right] = (fresh, True), (fresh, False)
            self._weight[fresh] = small + large
            heapq.heappush(heap, (small + large, fresh))
            fresh += 1
        self._root = heap[0][1]
        self._lay_out()

    def _lay_out(self) -> None:
        """Number the nodes level by level, so that a level's children are filled by slices."""
        level, row_of, next_row = [self._root], {self._root: 0}, 1
        self._levels: list[tuple[I64, slice, slice, I64, I64, np.ndarray]] = []
        while inner := [node for node in level if node in self._children]:
            n = len(inner)
            lefts = [self._children[node][0] for node in inner]
            rights = [self._children[node][1] for node in inner]
            for offset, children in ((0, lefts), (n, rights)):
                row_of.update((child, next_row + offset + i) for i, child in enumerate(children))
            left = np.array([self._weight[child] for child in lefts], dtype=np.int64)[:, None]
            whole = np.array([self._weight[node] for node in inner], dtype=np.int64)[:, None]
            rows = np.array([row_of[node] for node in inner], dtype=np.int64)
            to_left, to_right = slice(next_row, next_row + n), slice(next_row + n, next_row + 2 * n)
            self._levels.append((rows, to_left, to_right, left, whole, left / whole))
            level, next_row = lefts + rights, next_row + 2 * n
        self._num_rows = next_row
        self.leaves = np.array(sorted(i for i in row_of if i < self.size), dtype=np.int64)
        """The domains with a weight above 0, in order: int64."""
        self._leaf_rows = np.array([row_of[i] for i in self.leaves.tolist()], dtype=np.int64)

    def leaf_counts(self, x: I64) -> I64:
        """How many of the first x items each of `leaves` has: int64 [len(x), len(leaves)] for int64 [n] x >= 0."""
        items = np.empty((self._num_rows, x.size), dtype=np.int64)
        items[0] = x
        for rows, to_left, to_right, left, whole, ratio in self._levels:
            m = items[rows]
            # The estimate is within one of the quotient; the remainder, exact modulo 2^64, says which way.
            quotient = np.rint(m * ratio).astype(np.int64)
            rest = m * left
            rest -= quotient * whole
            rest <<= 1
            quotient += rest >= whole
            quotient -= rest < -whole
            items[to_left] = quotient
            np.subtract(m, quotient, out=items[to_right])
        return np.ascontiguousarray(items[self._leaf_rows].T)

    def counts(self, x: int) -> I64:
        """How many of the first x items each domain has: int64 [number of domains]."""
        out = np.zeros(self.size, dtype=np.int64)
        out[self.leaves] = self.leaf_counts(np.array([x], dtype=np.int64))[0]
        return out

    def item(self, domain: int, k: int) -> int:
        """Where item k of a domain stands in the tree's order: the least x with counts(x + 1)[domain] = k + 1."""
        node = domain
        while node != self._root:
            node, is_left = self._parent[node]
            left, right = (self._weight[child] for child in self._children[node])
            # The left child has k + 1 of x + 1 items from (2k + 1) * whole <= 2 * (x + 1) * left on; the right child
            # has them once (2k + 1) * whole < 2 * (x + 1) * right.
            scaled = (2 * k + 1) * (left + right)
            k = -(-scaled // (2 * left)) - 1 if is_left else scaled // (2 * right)
        return k
