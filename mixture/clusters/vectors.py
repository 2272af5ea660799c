"""What is kept of a partition once it is read: of each document its words, counted, and what else decides its place.

An Arrow file: id, key (the first 64 bits of the document's keyed place), bytes, score, cluster and quality where labels
are taken, terms with their counts, and the vector that a model gave, if one did.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.whole_file import whole_file


@dataclass(slots=True)
class VectorRows:
    """Rows to be written; a term gets a number when it is first seen."""

    ids: list[str] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    clusters: list[str | None] = field(default_factory=list)
    qualities: list[str | None] = field(default_factory=list)
    vocabulary: dict[str, int] = field(default_factory=dict)
    terms: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0])

    def add_terms(self, counted: dict[str, int]) -> None:
        """The words of the next document."""
        number = self.vocabulary
        self.terms += [number.setdefault(term, len(number)) for term in counted]
        self.counts += counted.values()
        self.ends.append(len(self.terms))

    def write(self, path: Path, dense: NDArray[np.float32] | None) -> None:
        """Write them by rename. dense: [rows, dimensions], or None."""
        offsets = pa.array(self.ends, pa.int32())
        words = pa.DictionaryArray.from_arrays(
            pa.array(self.terms, pa.int32()), pa.array(list(self.vocabulary), pa.string())
        )
        columns: dict[str, Any] = {
            "id": pa.array(self.ids, pa.string()),
            "key": pa.array(self.keys, pa.uint64()),
            "bytes": pa.array(self.sizes, pa.int64()),
            "score": pa.array(self.scores, pa.float64()),
            "cluster": pa.array(self.clusters, pa.string()),
            "quality": pa.array(self.qualities, pa.string()),
            "terms": pa.ListArray.from_arrays(offsets, words),
            "counts": pa.ListArray.from_arrays(offsets, pa.array(self.counts, pa.int32())),
        }
        if dense is not None:
            flat = pa.array(np.ascontiguousarray(dense, np.float32).reshape(-1))
            columns["dense"] = pa.FixedSizeListArray.from_arrays(flat, dense.shape[1])
        table = pa.table(columns)
        with (
            whole_file(path) as beside,
            pa.OSFile(str(beside), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as writer,
        ):
            writer.write_table(table, max(1, len(table)))


class Vectors:
    """The rows of a partition, mapped; arrays are read when asked for."""

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            self._batch: Any = reader.get_batch(0) if reader.num_record_batches else None
        self.rows: int = 0 if self._batch is None else self._batch.num_rows

    def column(self, name: str, rows: NDArray[np.int64] | None = None) -> list[Any]:
        """A column as Python values, of all rows or of these."""
        if self._batch is None:
            return []
        column = self._batch.column(name)
        values: list[Any] = (column if rows is None else column.take(pa.array(rows))).to_pylist()
        return values

    def numbers(self, name: str) -> NDArray[Any]:
        """A column of numbers without gaps."""
        if self._batch is None:
            return np.empty(0, np.uint64)
        array: NDArray[Any] = self._batch.column(name).to_numpy(zero_copy_only=False)
        return array

    @property
    def vocabulary(self) -> Any:  # noqa: ANN401 pyarrow has no types
        """The partition's own terms, by number: an Arrow array, mapped, as Python strings would fill the memory."""
        return pa.array([], pa.string()) if self._batch is None else self._batch.column("terms").values.dictionary

    def counts(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Terms by document, in rows that stand one behind the other: counts, numbers of terms, ends of rows."""
        if self._batch is None:
            return np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(1, np.int32)
        terms, counts = self._batch.column("terms"), self._batch.column("counts")
        return counts.values.to_numpy(), terms.values.indices.to_numpy(), terms.offsets.to_numpy()

    def dense(self) -> NDArray[np.float32] | None:
        """[rows, dimensions], or None: no model made vectors of them."""
        if self._batch is None or "dense" not in self._batch.schema.names:
            return None
        column = self._batch.column("dense")
        values: NDArray[np.float32] = column.values.to_numpy()
        return values.reshape(self.rows, column.type.list_size)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Rows of a partition that are in a sample. It is mapped while it is looked at, so that not all are at once."""

    path: Path
    rows: NDArray[np.int64]

    @property
    def vectors(self) -> Vectors:
        return Vectors(self.path)


def sampled(paths: Iterable[Path], limit: int) -> list[Sampled]:
    """The documents up to this key, of the partitions that have any."""
    made = []
    for path in paths:
        rows = np.flatnonzero(Vectors(path).numbers("key") <= np.uint64(limit))
        if len(rows):
            made.append(Sampled(path, rows))
    return made


def sample_limit(parts: Iterable[Vectors], count: int) -> int:
    """The key up to which documents are a keyed, even sample of about `count`, however they are cut into partitions."""
    least = np.empty(0, np.uint64)
    for vectors in parts:
        least = np.sort(np.concatenate([least, vectors.numbers("key").astype(np.uint64)]))[:count]
    return int(least[-1]) if len(least) else 0
