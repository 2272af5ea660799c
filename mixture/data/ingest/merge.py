"""Merging a domain's runs: ranges of keys, one after the other, each sorted in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mixture.data.ingest.sorted_runs import ATTRIBUTE, CHANCE, ORIGIN, Run

_RANGE_BYTES = 1 << 27
_RANGE_DOCUMENTS = 1 << 17
_OPENED = 16  # files of runs: what is read of one that is mapped counts as this process's memory
_TOGETHER = 1 << 22  # bytes of tokens that are handed on together


@dataclass(frozen=True, slots=True)
class Range:
    """The documents of a range of keys, in order of key, no key twice.

    table:       tokens int64, id, the attributes under `ATTRIBUTE` + name, and `CHANCE` where a run has it
    run, start:  int64 [documents], in which run a document's tokens lie, and from which token of it
    duplicates:  id and `ORIGIN` of the documents that were left out, in order of where they are from
    """

    table: pa.Table
    run: NDArray[np.int64]
    start: NDArray[np.int64]
    duplicates: pa.Table


class Indices:
    """The files of runs, in the folder `parts`. Of small domains, of which many are in a run, each is opened once."""

    def __init__(self, parts: Path) -> None:
        self._parts = parts
        self._opened = lru_cache(_OPENED)(_index)

    def of(self, run: Run) -> pa.Table:
        """What is said of each document of a run, and of all others in its file."""
        return self._opened(self._parts / run.path)

    def tokens(self, run: Run) -> Path:
        """The file of a run's tokens."""
        return (self._parts / run.path).with_suffix(".tokens")


class MergedRuns:
    """The documents of all runs of a domain, in order of key. Of several with one key, which have the same id and text,
    the one with the first attributes, compared as JSON, is kept, and of those the one in the first place.

    chances: of runs of documents that may be held out, only those with a chance in this range are there
    """

    def __init__(self, indices: Indices, runs: Sequence[Run], dtype: np.dtype[Any], chances: range) -> None:
        self._indices = indices
        self._runs = runs
        self._chances = chances
        self._dtype = dtype
        num_bytes = sum(run.tokens for run in runs) * dtype.itemsize
        num_documents = sum(run.documents for run in runs)
        self._num_ranges = 1 + max(num_bytes // _RANGE_BYTES, num_documents // _RANGE_DOCUMENTS)
        self._only: list[Range] | None = None

    def ranges(self) -> Iterator[Range]:
        """What is in each range of keys, in order; the tokens are not read."""
        if self._num_ranges > 1:
            return self._read_ranges()
        if self._only is None:
            self._only = list(self._read_ranges())
        return iter(self._only)

    def _read_ranges(self) -> Iterator[Range]:
        edges = [number * 2**64 // self._num_ranges for number in range(self._num_ranges)]
        for low, high in zip(edges, [*edges[1:], None], strict=True):
            tables, runs = [], []
            for number, run in enumerate(self._runs):
                table = self._indices.of(run).slice(run.first, run.documents)
                highs = table["key_high"].to_numpy()
                first = int(np.searchsorted(highs, np.uint64(low)))
                last = len(highs) if high is None else int(np.searchsorted(highs, np.uint64(high)))
                table = table.slice(first, last - first)
                if run.held:
                    table = table.filter(_within(table[CHANCE].to_numpy(), self._chances))
                if len(table):
                    tables.append(table)
                    runs.append(np.full(len(table), number))
            if tables:
                # Rows that name their domain may have other attributes than a domain's own.
                yield _sorted(pa.concat_tables(tables, promote_options="default"), np.concatenate(runs))

    def tokens(self, part: Range) -> Iterator[bytes]:
        """The tokens of the documents of a range, one behind the other, some at a time."""
        lengths = part.table["tokens"].to_numpy()
        data: dict[int, tuple[int, memoryview]] = {}
        for number in np.unique(part.run).tolist():
            mine = part.run == number
            first, last = int(part.start[mine].min()), int((part.start + lengths)[mine].max())
            with self._indices.tokens(self._runs[number]).open("rb") as file:
                file.seek(first * self._dtype.itemsize)
                data[number] = (first, memoryview(file.read((last - first) * self._dtype.itemsize)))
        size = self._dtype.itemsize
        pieces, waiting = [], 0
        for number, start, length in zip(part.run.tolist(), part.start.tolist(), lengths.tolist(), strict=True):
            first, view = data[number]
            pieces.append(view[(start - first) * size : (start - first + length) * size])
            waiting += length * size
            if waiting >= _TOGETHER:
                yield b"".join(pieces)
                pieces, waiting = [], 0
        yield b"".join(pieces)


def _within(chance: NDArray[np.uint64], chances: range) -> NDArray[np.bool_]:
    """Whether chances are in a range that holds some; its stop, 2^64, may be no chance itself."""
    return (chance >= np.uint64(chances[0])) & (chance <= np.uint64(chances[-1]))


def _index(path: Path) -> pa.Table:
    with pa.memory_map(str(path.with_suffix(".arrow"))) as source:
        return pa.ipc.open_file(source).read_all()


def _sorted(table: pa.Table, run: NDArray[np.int64]) -> Range:
    high, low = table["key_high"].to_numpy(), table["key_low"].to_numpy()
    order = np.lexsort((low, high))
    again = _equals_before(high, low, order)
    chosen = order
    if again.any():
        order = np.lexsort((*_origins(table), low, high))
        chosen = _chosen(table, order, again)
    kept = table.take(pa.array(chosen))
    left = np.setdiff1d(order, chosen)
    left = left[np.lexsort(tuple(origin[left] for origin in _origins(table)))] if len(left) else left
    return Range(
        kept.drop_columns(["key_high", "key_low", "start"]),
        run[chosen],
        kept["start"].to_numpy(),
        table.select(["id", *ORIGIN]).take(pa.array(left)),
    )


def _equals_before(high: NDArray[np.uint64], low: NDArray[np.uint64], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    again = np.zeros(len(order), bool)
    again[1:] = (high[order][1:] == high[order][:-1]) & (low[order][1:] == low[order][:-1])
    return again


def _origins(table: pa.Table) -> tuple[NDArray[np.int64], ...]:
    """What orders documents by where they are from, the least first, as `lexsort` takes it."""
    numbers = tuple(table[name].fill_null(-1).to_numpy() for name in ("byte", "row"))
    return (*numbers, pc.rank(table["file"], tiebreaker="dense").to_numpy().astype(np.int64))


def _chosen(table: pa.Table, order: NDArray[np.int64], again: NDArray[np.bool_]) -> NDArray[np.int64]:
    """One document of each run of equal keys in the order; `again` where a key is the one before."""
    chosen = order[~again]
    attributes = table.select([name for name in table.column_names if name.startswith(ATTRIBUTE)])
    if attributes.num_columns == 0:
        return chosen
    group = np.cumsum(~again) - 1
    several = again.copy()
    several[:-1] |= again[1:]
    first: dict[int, tuple[str, int]] = {}
    rows = order[several].tolist()
    values = attributes.take(pa.array(rows)).to_pylist()
    for number, (place, value) in zip(group[several].tolist(), enumerate(values), strict=True):
        candidate = (json.dumps(value, sort_keys=True), place)
        first[number] = min(first.get(number, candidate), candidate)
    for number, (_, place) in first.items():
        chosen[number] = rows[place]
    return chosen
