"""How often each token of a domain has been read by some draws, as a function that sums over any range of tokens.

What an epoch has read is whole windows, which are whole blocks, and parts of at most two windows, sequence by sequence.
So what is held is ranges of blocks: an epoch that is through is one, whatever it has of sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from mixture.schedule.permute import I64
from mixture.schedule.reads import Draws, drawn_sequences, whole_epochs


class Coverage:
    """What draws of one domain have read of its tokens.

    Memory: some 100 bytes for each range of tokens that have been read equally often. Of an epoch that is begun these
    are blocks, those that are neighbours in storage put together, and sequences of the windows that are begun.
    """

    def __init__(self, draws: Iterable[Draws], block_tokens: int) -> None:
        parts = [part for joined in _joined(draws) for part in _parts(joined, block_tokens)]
        starts = np.concatenate([start for start, _, _ in parts] or [np.empty(0, np.int64)])
        ends = np.concatenate([end for _, end, _ in parts] or [np.empty(0, np.int64)])
        times = np.concatenate([np.full(start.size, times) for start, _, times in parts] or [np.empty(0, np.int64)])
        places = np.concatenate([starts, ends])
        order = np.argsort(places, kind="stable")
        self._places: I64 = places[order]
        self._depth: I64 = np.cumsum(np.concatenate([times, -times])[order])
        gaps = np.diff(self._places)
        self._reads = _sums(self._depth[:-1] * gaps)
        self._tokens = _sums(np.where(self._depth[:-1] > 0, gaps, 0))

    def before(self, tokens: I64) -> tuple[I64, I64]:
        """Of the first `tokens` [n] tokens of the domain: how many have been read, and how often in all; int64 [n]."""
        if not self._places.size:
            return np.zeros(tokens.size, np.int64), np.zeros(tokens.size, np.int64)
        at = np.searchsorted(self._places, tokens, side="right") - 1
        inside = at >= 0
        at = np.maximum(at, 0)
        ahead = tokens - self._places[at]
        read = self._tokens[at] + (self._depth[at] > 0) * ahead
        in_all = self._reads[at] + self._depth[at] * ahead
        return np.where(inside, read, 0), np.where(inside, in_all, 0)


def _sums(values: I64) -> I64:
    """What comes before each value, and all of them."""
    sums = np.zeros(values.size + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _joined(draws: Iterable[Draws]) -> Iterator[Draws]:
    """Draws that follow each other put together, so that a run of many stretches is not many begun epochs."""
    last: Draws | None = None
    for draw in draws:
        if last is not None and last.order is draw.order and last.first + last.count == draw.first:
            last = replace(last, count=last.count + draw.count)
            continue
        if last is not None:
            yield last
        last = draw
    if last is not None:
        yield last


Part = tuple[I64, I64, int]
"""Ranges of tokens (starts, ends: int64 [n]), and how often they have been read."""


def _parts(draws: Draws, block_tokens: int) -> Iterator[Part]:
    order, size = draws.order, draws.order.per_epoch
    whole = whole_epochs(draws.first, draws.first + draws.count, size)
    if whole:
        yield from _blocks(draws, order.stored_blocks(np.arange(order.blocks)), block_tokens, len(whole))
    for epoch, low, high in _begun(draws, whole):
        first, last = order.window_of(epoch, low), order.window_of(epoch, high - 1)
        for window in sorted({first, last}):
            begin, end = order.before_window(epoch, window), order.before_window(epoch, window + 1)
            a, b = max(low, begin), min(high, end)
            sequences = drawn_sequences(draws, epoch * size + a, epoch * size + b)
            yield sequences * order.length, (sequences + 1) * order.length, 1
        if last - first > 1:
            yield from _blocks(draws, order.window_blocks(epoch, range(first + 1, last)), block_tokens, 1)


def _begun(draws: Draws, whole: range) -> Iterator[tuple[int, int, int]]:
    """(epoch, low, high) of the epochs that are read in part: the draws low to high - 1 of the epoch, from 0."""
    size, end = draws.order.per_epoch, draws.first + draws.count
    if whole:
        pieces = ((whole.start - 1, draws.first, whole.start * size), (whole.stop, whole.stop * size, end))
    else:
        middle = (draws.first // size + 1) * size
        epoch = draws.first // size
        pieces = ((epoch, draws.first, min(middle, end)), (epoch + 1, middle, end))
    return ((epoch, low - epoch * size, high - epoch * size) for epoch, low, high in pieces if low < high)


def _blocks(draws: Draws, stored: I64, block_tokens: int, times: int) -> Iterator[Part]:
    """Whole blocks in storage, neighbours put together; of the last block of the order its whole sequences."""
    order = draws.order
    last = int(order.stored_blocks(np.array([order.blocks - 1]))[0])
    full = np.sort(stored[stored != last])
    if full.size < stored.size:
        start = last * block_tokens
        yield np.array([start]), np.array([start + order.in_last * order.length]), times
    breaks = np.flatnonzero(np.diff(full) != 1) + 1
    if full.size:
        starts = full[np.concatenate([[0], breaks])] * block_tokens
        ends = (full[np.concatenate([breaks - 1, [full.size - 1]])] + 1) * block_tokens
        yield starts, ends, times
