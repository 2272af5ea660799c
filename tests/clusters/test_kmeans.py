"""Spherical k-means and merging, on vectors whose clusters are known."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.clusters.kmeans import merged, nearest_centroid, spherical_kmeans
from mixture.clusters.tfidf import unit
from mixture.errors import ClusterError


def spread(middles: np.ndarray, each: int, seed: int = 1) -> np.ndarray:
    """Unit vectors around some middles, `each` around every one, in their order."""
    noise = np.random.default_rng(seed).normal(scale=0.05, size=(len(middles) * each, middles.shape[1]))
    return unit((np.repeat(middles, each, axis=0) + noise).astype(np.float32))


def test_groups_that_stand_apart_are_found_exactly() -> None:
    vectors = spread(np.eye(8, 16, dtype=np.float32), 50)
    labels, cosines = nearest_centroid(vectors, spherical_kmeans(vectors, 8, seed=0))
    assert len(set(labels.tolist())) == 8
    assert all(len(set(labels[first : first + 50].tolist())) == 1 for first in range(0, 400, 50))
    assert cosines.min() > 0.9


def test_the_same_vectors_and_seed_give_the_same_centroids() -> None:
    vectors = spread(np.eye(5, 16, dtype=np.float32), 30)
    assert np.array_equal(spherical_kmeans(vectors, 9, seed=3), spherical_kmeans(vectors, 9, seed=3))
    assert not np.array_equal(spherical_kmeans(vectors, 9, seed=3), spherical_kmeans(vectors, 9, seed=4))


def test_as_many_clusters_as_vectors_give_each_its_own() -> None:
    vectors = unit(np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32))
    labels, _ = nearest_centroid(vectors, spherical_kmeans(vectors, 12, seed=0))
    assert sorted(labels.tolist()) == list(range(12))


def test_fine_clusters_of_one_group_are_merged_before_groups_are() -> None:
    groups = np.eye(4, 16, dtype=np.float32)
    fine = spread(groups, 5)
    group = merged(fine, np.full(20, 10), 4, floor=Fraction(0))
    assert [len(set(group[first : first + 5].tolist())) for first in range(0, 20, 5)] == [1, 1, 1, 1]
    assert len(set(group.tolist())) == 4


def test_clusters_are_numbered_by_size_the_largest_first() -> None:
    sizes = np.array([5, 50, 20, 1])
    assert merged(np.eye(4, dtype=np.float32), sizes, 4, floor=Fraction(0)).tolist() == [2, 0, 1, 3]


def test_a_cluster_below_the_floor_goes_to_the_nearest_and_the_number_is_kept() -> None:
    centroids = unit(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0, 1]], np.float32))
    sizes = np.array([100, 100, 100, 1])
    group = merged(centroids, sizes, 3, floor=Fraction(1, 10))
    assert group[3] == group[2]
    assert sorted(set(group.tolist())) == [0, 1, 2]


def test_a_floor_that_so_many_clusters_can_not_reach_is_refused_with_how_many_do() -> None:
    with pytest.raises(ClusterError, match="no more than 2 clusters have at least 50 of 124") as raised:
        merged(np.eye(4, dtype=np.float32), np.array([60, 60, 2, 2]), 3, floor=Fraction(2, 5))
    assert raised.value.code == "floor-too-high"


@given(
    sizes=st.lists(st.integers(0, 40), min_size=6, max_size=24),
    clusters=st.integers(1, 5),
    floor=st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 8)]),
)
def test_merging_gives_exactly_so_many_clusters_of_at_least_the_floor_or_refuses(sizes, clusters, floor) -> None:
    centroids = unit(np.random.default_rng(len(sizes)).normal(size=(len(sizes), 5)).astype(np.float32))
    counts = np.array(sizes)
    least = max(1, floor * sum(sizes))
    try:
        group = merged(centroids, counts, clusters, floor=floor)
    except ClusterError:
        assert sum(sizes) < clusters * least or max(sizes) > least or sum(map(bool, sizes)) < clusters
        return
    weights = np.bincount(group, weights=counts, minlength=clusters)
    assert len(weights) == clusters
    assert weights.min() >= least
    assert weights.tolist() == sorted(weights, reverse=True)
