"""The second look at a partition: its documents go to their clusters and levels, in files of their own."""

from __future__ import annotations

import hashlib
import heapq
import json
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mixture.clusters.model import Model, Placed, read_model
from mixture.clusters.names import cell_folder
from mixture.clusters.options import Labels
from mixture.clusters.partitions import Partition, PartitionResult, Read, documents
from mixture.clusters.vectors import Vectors
from mixture.clusters.words import excerpt, phrases, words, written_forms
from mixture.errors import ClusterError, Place
from mixture.planning.catalog import MOST_TYPICAL
from mixture.whole_file import whole_file

SOURCE, SCORE = "source", "quality_score"
_TOGETHER = 1 << 25  # bytes of text that are held, and then make a row group of each domain
_PHRASES = 4000  # kept of a cluster and partition


@dataclass(slots=True)
class _Cell:
    """What is known of a domain in this partition; rows: those in memory; spilled: the batches of all before them."""

    documents: int = 0
    bytes: int = 0
    typical: list[tuple[float, str]] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    spilled: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Write a partition's documents below `out`, then its receipt."""

    partition: Partition
    vectors: Path
    model: Path
    out: Path
    receipt: Path
    seed: int
    labels: Labels

    def run(self) -> PartitionResult:
        """Errors: ClusterError `sources-changed` where the sources are not those of the first look."""
        part = Vectors(self.vectors)
        model = read_model(self.model)
        receipt = _Writing(self, part, model, model.place(part)).run()
        with whole_file(self.receipt) as beside:
            beside.write_text(json.dumps(receipt, ensure_ascii=False), encoding="utf-8")
        return PartitionResult(self.partition.number)


class _Writing:
    """A partition on its way."""

    def __init__(self, task: WriteTask, part: Vectors, model: Model, placed: Placed) -> None:
        self._task = task
        self._model = model
        self._placed = placed
        self._scores: list[float | None] = part.column("score")
        self._keys: list[int] = part.column("key")
        self._cells: dict[tuple[int, str], _Cell] = defaultdict(_Cell)
        self._waiting = 0
        self._batches = 0  # on the disk
        columns = task.partition.columns
        own = columns.attributes[: len(columns.attributes) - len(task.labels.columns)]
        replaced = {SOURCE, SCORE} if task.labels.quality.is_made else {SOURCE}
        self._kept = [name for name in own if name not in replaced]
        self._places = {name: number for number, name in enumerate(own)}
        fields = [(name, pa.string()) for name in self._kept]
        scored = [(SCORE, pa.float64())] if task.labels.quality.is_made else []
        self._schema = pa.schema(
            [("id", pa.string()), ("text", pa.large_string()), (SOURCE, pa.string()), *scored, *fields]
        )

    def run(self) -> dict[str, Any]:
        """Write all, and give the receipt."""
        dropped: Counter[str] = Counter()
        sources: dict[str, list[int]] = {}
        titled: Counter[int] = Counter()
        found: dict[int, Counter[str]] = defaultdict(Counter)
        forms: Counter[str] = Counter()
        digest = hashlib.sha256()
        row = 0
        # Named as what a killed run leaves is. A writer open for each domain would be too many files: rows that do not
        # fit in memory wait here, in their order, and each domain is written at the end.
        with tempfile.NamedTemporaryFile(dir=self._task.receipt.parent, prefix=".", suffix=".tmp") as file:
            spill = pa.ipc.new_file(file, self._schema)
            for read in documents(self._task.partition, seed=self._task.seed):
                if not isinstance(read, Read):
                    dropped[read.value] += 1
                    continue
                if row >= len(self._keys) or int.from_bytes(read.key[:8], "big") != self._keys[row]:
                    raise self._changed(read)
                cluster, quality = int(self._placed.clusters[row]), self._placed.qualities[row]
                source = self._source(read)
                counted = sources.setdefault(source, [0, 0])
                counted[0] += 1
                counted[1] += len(read.data)
                digest.update(f"{source}\x1f{read.id}\x1f{self._model.ids[cluster]}\x1f{quality}\n".encode())
                self._add(row, read, source, (cluster, quality))
                if self._keys[row] <= self._model.title_limit:
                    titled[cluster] += 1
                    text = excerpt(read.text)
                    found[cluster].update(set(phrases(words(text))))
                    forms.update(written_forms(text))
                if self._waiting >= _TOGETHER:
                    self._spill(spill)
                row += 1
            if row != len(self._keys):
                raise self._changed(None)
            spill.close()
            file.flush()
            self._write(Path(file.name))
        ids = self._model.ids
        return {
            "digest": digest.hexdigest(),
            "dropped": dropped,
            "sources": sources,
            "cells": [
                {
                    "cluster": ids[cluster],
                    "quality": quality,
                    "documents": cell.documents,
                    "bytes": cell.bytes,
                    "typical": sorted(cell.typical, reverse=True),
                }
                for (cluster, quality), cell in sorted(self._cells.items())
            ],
            "titled": {ids[cluster]: count for cluster, count in sorted(titled.items())},
            "forms": _most_common(forms),
            "phrases": {ids[cluster]: _most_common(counted) for cluster, counted in sorted(found.items())},
        }

    def _source(self, read: Read) -> str:
        """The source that a document says it is of, else the partition's."""
        place = self._places.get(SOURCE)
        return (read.attributes[place] if place is not None else None) or self._task.partition.source

    def _add(self, row: int, read: Read, source: str, key: tuple[int, str]) -> None:
        cell = self._cells[key]
        cell.documents += 1
        cell.bytes += len(read.data)
        near = (round(float(self._placed.cosines[row]), 6), read.id)
        if len(cell.typical) < MOST_TYPICAL:
            heapq.heappush(cell.typical, near)
        else:
            heapq.heappushpop(cell.typical, near)
        score = [self._scores[row]] if self._task.labels.quality.is_made else []
        cell.rows.append(
            (read.id, read.text, source, *score, *(read.attributes[self._places[name]] for name in self._kept))
        )
        self._waiting += len(read.data)

    def _spill(self, spill: pa.RecordBatchFileWriter) -> None:
        """Put what is in memory on the disk, a batch a domain."""
        for _, cell in sorted(self._cells.items()):
            if cell.rows:
                cell.spilled.append(self._batches)
                spill.write_batch(self._batch(cell))
                self._batches += 1
        self._waiting = 0

    def _write(self, spill: Path) -> None:
        """Write the domains, one after the other."""
        with pa.memory_map(str(spill)) as mapped:
            reader = pa.ipc.open_file(mapped)
            for (cluster, quality), cell in sorted(self._cells.items()):
                folder = self._task.out / cell_folder(self._model.ids[cluster], quality)
                folder.mkdir(parents=True, exist_ok=True)
                with (
                    whole_file(folder / f"part-{self._task.partition.number:05d}.parquet") as path,
                    pq.ParquetWriter(path, self._schema, compression="zstd") as writer,
                ):
                    for number in cell.spilled:
                        writer.write_batch(reader.get_batch(number))
                    if cell.rows:
                        writer.write_batch(self._batch(cell))

    def _batch(self, cell: _Cell) -> pa.RecordBatch:
        """The rows of a domain that are in memory, which then are there no longer."""
        columns = zip(*cell.rows, strict=True)
        arrays = [pa.array(list(column), f.type) for column, f in zip(columns, self._schema, strict=True)]
        cell.rows = []
        return pa.record_batch(arrays, schema=self._schema)

    def _changed(self, read: Read | None) -> ClusterError:
        partition = self._task.partition
        file = read.file if read is not None else str(partition.pieces[-1].file.path)
        return ClusterError(
            "the documents are not those that were read at first",
            code="sources-changed",
            place=Place(file=file),
            hint="sources must stay as they are until it is done; remove the output, and begin anew",
        )


def _most_common(counted: Counter[str]) -> dict[str, int]:
    """The most frequent, ties by term, so that a receipt stays small."""
    kept = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:_PHRASES]
    return dict(kept)
