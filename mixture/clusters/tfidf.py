"""TF-IDF and truncated SVD: vectors of documents from their words, without a model that someone has to have.

A vocabulary is fitted, not hashed: a term keeps its name, and no two terms are one. (Salton and Buckley 1988 for
weights of 1 + ln tf; Deerwester and others 1990 for the singular value decomposition of them.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mixture.clusters.vectors import Sampled, Vectors
from mixture.errors import ClusterError
from mixture.extras import install_hint

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DIMENSIONS = 128
_TERMS = 1 << 16
_LEAST_DOCUMENTS = 2  # a term of one document says nothing of others
_OVERSAMPLES, _ITERATIONS = 16, 3  # with 7 iterations purity is the same to the third digit


@dataclass(frozen=True, slots=True)
class TfIdf:
    """A fitted vocabulary: terms, the weight of each, and the axes [terms, dimensions]."""

    terms: tuple[str, ...]
    weights: NDArray[np.float32]
    axes: NDArray[np.float32]

    def transform(self, vectors: Vectors, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Unit vectors [rows, dimensions]; all zero where a document has no known term."""
        counts = _matrix(vectors, _places(vectors, self.terms), len(self.terms), rows)
        return unit(np.asarray(_weighted(counts, self.weights) @ self.axes, np.float32))


def fit_tfidf(sample: Sequence[Sampled], *, seed: int) -> TfIdf:
    """The vocabulary and axes of a sample. Of terms there are in memory those of its documents, not the partitions'.

    Without a term where no two documents have a word in common. Errors: ClusterError `no-sklearn`.
    """
    extmath = _sklearn()
    from scipy.sparse import vstack

    frequency: dict[str, int] = {}
    for part in sample:
        vectors = part.vectors
        own = vectors.vocabulary
        local = _matrix(vectors, np.arange(len(own), dtype=np.int32), len(own), part.rows)
        counts = np.bincount(local.indices, minlength=len(own))
        there = np.flatnonzero(counts)
        for term, count in zip(own.take(there).to_pylist(), counts[there].tolist(), strict=True):
            frequency[term] = frequency.get(term, 0) + count
    kept = [(-count, term) for term, count in frequency.items() if count >= _LEAST_DOCUMENTS]
    if not kept:
        return TfIdf((), np.empty(0, np.float32), np.empty((0, 1), np.float32))
    terms = sorted(term for _, term in sorted(kept)[:_TERMS])
    total = sum(len(part.rows) for part in sample)
    weights = np.array([np.log((1 + total) / (1 + frequency[term])) + 1 for term in terms], np.float32)
    matrices = []
    for part in sample:
        vectors = part.vectors
        matrices.append(_weighted(_matrix(vectors, _places(vectors, terms), len(terms), part.rows), weights))
    matrix = vstack(matrices, format="csr", dtype=np.float32)
    dimensions = max(1, min(DIMENSIONS, min(matrix.shape) - 1))
    # scikit-learn fixes the signs; its generator is the one that this seed makes, on any machine.
    _, _, axes = extmath.randomized_svd(
        matrix, dimensions, n_oversamples=_OVERSAMPLES, n_iter=_ITERATIONS, power_iteration_normalizer="QR",
        random_state=seed % 2**32,
    )  # fmt: skip
    return TfIdf(tuple(terms), weights, np.ascontiguousarray(axes.T, np.float32))


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows divided by their lengths; those of length 0 stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def _places(vectors: Vectors, terms: Sequence[str]) -> NDArray[np.int32]:
    """For each of a partition's own terms its place among these, or -1."""

    found = pc.index_in(vectors.vocabulary, value_set=pa.array(terms, pa.string())).fill_null(-1)
    places: NDArray[np.int32] = found.to_numpy(zero_copy_only=False)
    return places


def _matrix(vectors: Vectors, known: NDArray[np.int32], columns: int, rows: NDArray[np.int64] | None) -> csr_matrix:
    """Counts [rows, columns]; known: the column of each of the partition's own terms, or -1."""
    from scipy.sparse import csr_matrix

    counts, terms, ends = vectors.counts()
    local = csr_matrix((counts.astype(np.float32), terms, ends), shape=(vectors.rows, len(known)))
    if rows is not None:
        local = local[rows]
    place = known[local.indices] if len(known) else local.indices
    keep = place >= 0
    new_ends = np.concatenate([[0], np.cumsum(keep)])[local.indptr]
    made = csr_matrix((local.data[keep], place[keep], new_ends), shape=(local.shape[0], columns))
    made.sort_indices()  # sums of floats depend on their order
    return made


def _weighted(counts: csr_matrix, weights: NDArray[np.float32]) -> csr_matrix:
    """(1 + ln count) x weight, rows of length 1."""
    from scipy.sparse import diags

    weighted = counts.copy()
    weighted.data = (1 + np.log(counts.data)) * weights[counts.indices]
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return (diags(1 / np.where(lengths > 0, lengths, 1)) @ weighted).astype(np.float32).tocsr()


def _sklearn() -> Any:  # noqa: ANN401 a module of an extra
    try:
        from sklearn.utils import extmath
    except ImportError as error:
        raise ClusterError(
            "scikit-learn is not installed, which the vectors of words are made with",
            code="no-sklearn",
            hint=install_hint("cluster"),
        ) from error
    return extmath
