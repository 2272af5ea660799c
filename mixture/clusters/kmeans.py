"""Spherical k-means over unit vectors, more clusters than are wanted, then merged to those that are.

(Dhillon and Modha 2001; starting points as k-means++ chooses them, Arthur and Vassilvitskii 2007, by keyed draws; Ward
1963 for which two to merge.) Ties go to the lower number, so the same vectors give the same clusters.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mixture.errors import ClusterError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_ROUNDS = 40
_ROWS = 8192  # of which the similarities are there at once


def nearest_centroid(vectors: Floats, centroids: Floats) -> tuple[Ints, Floats]:
    """For each vector the number of the nearest centroid, and the cosine to it."""
    labels = np.empty(len(vectors), np.int64)
    cosines = np.empty(len(vectors), np.float32)
    for first in range(0, len(vectors), _ROWS):
        similar = vectors[first : first + _ROWS] @ centroids.T
        best = similar.argmax(axis=1)
        labels[first : first + _ROWS] = best
        cosines[first : first + _ROWS] = similar[np.arange(len(best)), best]
    return labels, cosines


def spherical_kmeans(vectors: Floats, clusters: int, *, seed: int) -> Floats:
    """Unit centroids [clusters, dimensions] of unit vectors. There must be as many different vectors as clusters."""
    centroids = _starts(vectors, clusters, seed)
    before: Ints | None = None
    for _ in range(_ROUNDS):
        labels, cosines = nearest_centroid(vectors, centroids)
        for empty in np.flatnonzero(np.bincount(labels, minlength=clusters) == 0):
            # An empty cluster takes the vector that is farthest from its own centroid.
            farthest = int(cosines.argmin())
            labels[farthest], cosines[farthest] = empty, 1
        if before is not None and np.array_equal(labels, before):
            break
        centroids, before = means(vectors, labels, clusters), labels
    return centroids


def means(vectors: Floats, labels: Ints, clusters: int) -> Floats:
    """The unit mean of each cluster's vectors; zero where it has none."""
    from scipy.sparse import csr_matrix

    ones = np.ones(len(labels), np.float32)
    members = csr_matrix((ones, (labels, np.arange(len(labels)))), shape=(clusters, len(labels)))
    sums = np.asarray(members @ vectors, np.float32)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


def _starts(vectors: Floats, clusters: int, seed: int) -> Floats:
    """The first centroids: each is drawn by how far it is from those before."""
    chosen = [_draw(seed, 0) * len(vectors) >> 64]
    far = np.maximum(1 - vectors @ vectors[chosen[0]], 0).astype(np.float64)
    for number in range(1, clusters):
        far[chosen] = 0
        ends = np.cumsum(far)
        at = _draw(seed, number) / 2**64 * ends[-1]
        chosen.append(min(int(np.searchsorted(ends, at, side="right")), len(vectors) - 1))
        far = np.minimum(far, np.maximum(1 - vectors @ vectors[chosen[-1]], 0))
    return vectors[chosen].copy()


def _draw(seed: int, number: int) -> int:
    text = f"mixture-clusters/1\x1f{seed}\x1fstart\x1f{number}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def merged(centroids: Floats, sizes: Ints, clusters: int, *, floor: Fraction) -> Ints:
    """For each centroid the number of the merged cluster that it goes to, 0 to clusters - 1, the largest first.

    floor: the share of all documents that a cluster has at least. The tree of merges is cut where it has as many
    clusters of that size as are wanted; what is smaller goes to the nearest of them.
    Errors: ClusterError `floor-too-high`.
    """
    least = max(1, -(-floor.numerator * int(sizes.sum()) // floor.denominator))
    tree = _merges(centroids.astype(np.float64), sizes)
    group = np.arange(len(centroids))
    best, cut = -1, group
    # From the coarsest cut to the finest: a cut has at most one large cluster more than the one before.
    for merges in range(len(centroids) - clusters, -1, -1):
        group = _cut(len(centroids), tree[:merges])
        large = int((np.bincount(group, weights=sizes) >= least).sum())
        best = max(best, large)
        if large >= clusters:
            cut = group
            break
    else:
        raise ClusterError(
            f"no more than {best:,} clusters have at least {least:,} of {int(sizes.sum()):,} documents, "
            f"and {clusters:,} are wanted",
            code="floor-too-high",
            hint="a lower --floor, or fewer clusters",
            clusters=best,
        )
    return _numbered(_gathered(centroids, sizes, cut, least), sizes)


def _merges(means: NDArray[np.float64], sizes: Ints) -> list[tuple[int, int]]:
    """Which two to merge, one after the other, the second into the first: those whose merge costs the least."""
    means, weights = means.copy(), sizes.astype(np.float64)
    squares = (means**2).sum(axis=1)

    def costs(row: int) -> NDArray[np.float64]:
        apart = np.maximum(squares + squares[row] - 2 * (means @ means[row]), 0)
        cost: NDArray[np.float64] = apart * weights * weights[row] / np.maximum(weights + weights[row], 1)
        return cost

    cost = np.array([costs(row) for row in range(len(means))])
    np.fill_diagonal(cost, np.inf)
    made = []
    for _ in range(len(means) - 1):
        kept, gone = sorted(int(part) for part in np.unravel_index(int(cost.argmin()), cost.shape))
        together = weights[kept] + weights[gone]
        if together:
            means[kept] = (means[kept] * weights[kept] + means[gone] * weights[gone]) / together
        weights[kept], squares[kept] = together, (means[kept] ** 2).sum()
        dead = np.isinf(cost[kept]) & (np.arange(len(means)) != kept)
        row = costs(kept)
        row[dead] = row[kept] = np.inf
        cost[kept], cost[:, kept] = row, row
        cost[gone], cost[:, gone] = np.inf, np.inf
        made.append((kept, gone))
    return made


def _cut(count: int, merges: list[tuple[int, int]]) -> Ints:
    """The cluster of each, by its lowest member, once these merges are done."""
    into = np.arange(count)
    for kept, gone in reversed(merges):
        into[gone] = kept
    for number in range(count):
        root = number
        while into[root] != root:
            root = int(into[root])
        into[number] = root
    return into


def _gathered(centroids: Floats, sizes: Ints, group: Ints, least: int) -> Ints:
    """The clusters once those that are too small have gone to the nearest that is not."""
    weights = np.bincount(group, weights=sizes, minlength=len(group))
    sums = np.zeros(centroids.shape, np.float64)
    np.add.at(sums, group, centroids * sizes[:, None])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    middles = sums / np.where(lengths > 0, lengths, 1)
    large = np.flatnonzero(weights >= least)
    made = group.copy()
    for small in np.flatnonzero((weights < least) & (np.bincount(group, minlength=len(group)) > 0)):
        made[group == small] = large[int((middles[large] @ middles[small]).argmax())]
    return made


def _numbered(group: Ints, sizes: Ints) -> Ints:
    """Clusters numbered by size, the largest first, ties by the lowest member."""
    weights = np.bincount(group, weights=sizes, minlength=len(group))
    order = sorted(np.unique(group).tolist(), key=lambda member: (-weights[member], member))
    number = {member: place for place, member in enumerate(order)}
    return np.array([number[member] for member in group.tolist()], np.int64)
