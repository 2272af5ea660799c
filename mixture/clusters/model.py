"""What is fitted to a sample, and puts any document into its cluster and level."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixture.clusters.kmeans import means, merged, nearest_centroid, spherical_kmeans
from mixture.clusters.options import ClusterOptions, Labels
from mixture.clusters.quality import cut_offs, level
from mixture.clusters.tfidf import TfIdf, fit_tfidf, unit
from mixture.clusters.vectors import Sampled, Vectors, sample_limit, sampled
from mixture.errors import ClusterError
from mixture.whole_file import whole_file

_FINE = 10  # clusters before merging, for each that is wanted
_DOCUMENTS_EACH = 10  # of the sample, for each of those
_TITLE_DOCUMENTS = 6000


@dataclass(frozen=True, slots=True)
class Placed:
    """Of each document of a partition: its cluster's number, its level, and the cosine to its cluster's middle."""

    clusters: NDArray[np.int64]
    qualities: list[str]
    cosines: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted model.

    ids:          of the clusters, in their order
    fine:         unit centroids [k_train, dimensions]; empty where labels are taken
    group:        for each of them the number of its cluster
    middles:      unit vectors [clusters, dimensions]
    levels:       the scores at which levels begin; None: they are taken
    title_limit:  the key up to which a document's words count for titles
    """

    ids: tuple[str, ...]
    tfidf: TfIdf | None
    fine: NDArray[np.float32]
    group: NDArray[np.int64]
    middles: NDArray[np.float32]
    levels: tuple[float, ...] | None
    title_limit: int

    def vectors(self, part: Vectors, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Unit vectors [rows, dimensions] of a partition's documents."""
        return _embedded(self.tfidf, part, rows)

    def place(self, part: Vectors) -> Placed:
        """Put a partition's documents into clusters and levels."""
        vectors = self.vectors(part)
        if len(self.fine):
            clusters = self.group[nearest_centroid(vectors, self.fine)[0]]
        else:
            numbers = {name: number for number, name in enumerate(self.ids)}
            clusters = np.array([numbers[name] for name in part.column("cluster")], np.int64)
        cosines = (vectors * self.middles[clusters]).sum(axis=1) if len(vectors) else np.empty(0, np.float32)
        if self.levels is None:
            return Placed(clusters, part.column("quality"), cosines)
        return Placed(clusters, [str(level(score, self.levels)) for score in part.column("score")], cosines)

    def write(self, path: Path) -> None:
        """Write the model by rename."""
        facts = {
            "ids": self.ids,
            "levels": self.levels,
            "title_limit": self.title_limit,
            "terms": None if self.tfidf is None else self.tfidf.terms,
        }
        arrays: dict[str, Any] = {"fine": self.fine, "group": self.group, "middles": self.middles}
        if self.tfidf is not None:
            arrays |= {"weights": self.tfidf.weights, "axes": self.tfidf.axes}
        data = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        with whole_file(path) as beside, beside.open("wb") as file:
            np.savez(file, facts=data, **arrays)


def read_model(path: Path) -> Model:
    """Read what `write` wrote."""
    with np.load(path) as arrays:
        facts = json.loads(arrays["facts"].tobytes())
        terms = facts["terms"]
        tfidf = None if terms is None else TfIdf(tuple(terms), arrays["weights"], arrays["axes"])
        levels = None if facts["levels"] is None else tuple(facts["levels"])
        made = (arrays["fine"], arrays["group"], arrays["middles"])
        return Model(tuple(facts["ids"]), tfidf, *made, levels, facts["title_limit"])


def _embedded(tfidf: TfIdf | None, part: Vectors, rows: NDArray[np.int64] | None) -> NDArray[np.float32]:
    if tfidf is not None:
        return tfidf.transform(part, rows)
    dense = part.dense()
    if dense is None:
        return np.empty((0, 1), np.float32)
    return unit(dense if rows is None else dense[rows])


def fit(paths: Sequence[Path], options: ClusterOptions, labels: Labels, *, has_model: bool) -> Model:
    """Fit to a sample of the partitions whose vectors are at these paths.

    Errors: ClusterError `no-documents`, `k-too-large`, `floor-too-high`, `no-words`, `no-sklearn`.
    """
    total = sum(Vectors(path).rows for path in paths)
    if not total:
        raise ClusterError("the sources have no documents", code="no-documents")
    if options.k is not None and options.k > total:
        raise _too_many(options.k, f"there are {total:,} documents", total)
    limit = sample_limit(map(Vectors, paths), min(options.sample, total))
    sample = sampled(paths, limit)
    tfidf = None if has_model else fit_tfidf(sample, seed=options.seed)
    if tfidf is not None and not tfidf.terms and (options.k or 1) > 1:
        raise ClusterError("no two documents have a word in common", code="no-words", hint="-k 1")
    vectors = np.concatenate([_embedded(tfidf, part.vectors, part.rows) for part in sample])
    levels = tuple(cut_offs(_column(sample, "score"), labels.levels)) if labels.quality.is_made else None
    title_limit = sample_limit(map(Vectors, paths), min(_TITLE_DOCUMENTS, total))
    if options.k is not None:
        fine, group = _clusters(vectors, options)
        members = group[nearest_centroid(vectors, fine)[0]]
        width = max(2, len(str(options.k - 1)))
        ids = tuple(f"c{number:0{width}d}" for number in range(options.k))
    else:
        ids = _taken(paths)
        numbers = {name: number for number, name in enumerate(ids)}
        members = np.array([numbers[name] for name in _column(sample, "cluster")], np.int64)
        fine, group = np.empty((0, vectors.shape[1]), np.float32), np.empty(0, np.int64)
    middles = means(vectors, members, len(ids))
    return Model(ids, tfidf, fine, group, middles, levels, title_limit)


def _column(sample: Sequence[Sampled], name: str) -> list[Any]:
    return [value for part in sample for value in part.vectors.column(name, part.rows)]


def _clusters(vectors: NDArray[np.float32], options: ClusterOptions) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Fine centroids and the cluster of each."""
    k = options.k or 1
    if k == 1 and not vectors.any():  # one cluster needs no words
        return vectors[:1], np.zeros(1, np.int64)
    usable = vectors[np.abs(vectors).max(axis=1) > 0]  # a document without a known word says nothing
    different = len(np.unique(usable, axis=0))
    if k > different:
        but = f"{different:,} of {len(vectors):,} sampled documents differ in their words"
        raise _too_many(k, but, max(1, different))
    k_train = k_train_of(k, min(different, len(usable)))
    fine = spherical_kmeans(usable, k_train, seed=options.seed)
    sizes = np.bincount(nearest_centroid(usable, fine)[0], minlength=k_train).astype(np.int64)
    return fine, merged(fine, sizes, k, floor=options.floor)


def k_train_of(k: int, documents: int) -> int:
    """How many clusters are made before they are merged to k, of so many documents that differ."""
    return max(k, min(_FINE * k, documents // _DOCUMENTS_EACH))


def _too_many(k: int, but: str, most: int) -> ClusterError:
    return ClusterError(f"{k:,} clusters are wanted, and {but}", code="k-too-large", hint=f"-k {most}", most=most)


def _taken(paths: Sequence[Path]) -> tuple[str, ...]:
    """The labels that are there, in their order."""
    found = {label for path in paths for label in Vectors(path).column("cluster")}
    return tuple(sorted(found, key=label_order))


def label_order(label: str) -> tuple[int, int, str]:
    """Sorts labels: numbers by value, then words."""
    return (0, int(label), label) if label.isascii() and label.isdigit() else (1, 0, label)
