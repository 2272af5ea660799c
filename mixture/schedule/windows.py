"""Whole ranges of draws at once: the sequences of many domains, window by window.

A window's sequences come from one sort. Windows of one size are made together, in groups that stay within the
processor's cache; the window that a range ends inside is kept for the range that goes on from there. Windows too large
to sort are never made whole, however large blocks are: each draw asked for is computed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mixture.schedule.cache import ByteCache
from mixture.schedule.order import DomainOrder, Permutations
from mixture.schedule.permute import I64, SORTED_LIMIT, U64, FeistelKeys, sorted_tables

GROUP_ELEMENTS = 1 << 16
WINDOW_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Window:
    """A window of one domain's epoch: `size` draws that lie in `blocks` blocks from place `first_place` on.

    `begin` and `end` bound the draws that are wanted: all of them, except in a large window.
    """

    order: DomainOrder
    epoch: int
    number: int
    size: int
    begin: int
    end: int

    @property
    def first_place(self) -> int:
        return self.number * self.order.window

    @property
    def blocks(self) -> int:
        return min(self.order.window, self.order.blocks - self.first_place)

    @property
    def large(self) -> bool:
        return self.size > SORTED_LIMIT

    @property
    def short_draw(self) -> int:
        """The draw in storage order from which on the last block's missing sequences are passed over."""
        place = self.order.short_place(self.epoch) - self.first_place
        return place * self.order.per_block + self.order.in_last if 0 <= place < self.blocks else self.size

    @property
    def key(self) -> tuple[str, int, int]:
        return self.order.name, self.epoch, self.number


class Windows:
    """Ranges of draws of all domains, for one sequence length."""

    def __init__(self, length: int, permutations: Permutations) -> None:
        self.length = length
        self._permutations = permutations
        self._unfinished: ByteCache[I64] = ByteCache(WINDOW_BYTES)

    def sequences(self, ranges: list[tuple[DomainOrder, int, int]]) -> tuple[I64, I64]:
        """The sequences of draws low..high-1 of each (order, low, high), one range after the other.

        Gives (sequences, starts), both int64: draw k of range i is ``sequences[starts[i] + k - low]``.
        """
        windows: list[_Window] = []
        starts = np.empty(len(ranges), dtype=np.int64)
        kept: list[int] = []
        total = 0
        for i, (order, low, high) in enumerate(ranges):
            epoch, r = divmod(low, order.per_epoch)
            number = order.window_of(epoch, r)
            before = order.before_window(epoch, number)
            draw = low - r + before
            starts[i] = total + low - draw
            while draw < high:
                after = order.before_window(epoch, number + 1)
                size = after - before
                window = _Window(order, epoch, number, size, 0, size)
                if window.large:
                    window = replace(window, begin=max(0, low - draw), end=min(size, high - draw))
                    if draw <= low:
                        starts[i] = total
                windows.append(window)
                total += window.end - window.begin
                draw += size
                before, number = after, number + 1
                if after == order.per_epoch:
                    epoch, number, before = epoch + 1, 0, 0
            if draw > high and not windows[-1].large:
                kept.append(len(windows) - 1)
        flat = self._fill(windows, total)
        self._keep(windows, kept, flat)
        return flat, starts

    def _fill(self, windows: list[_Window], total: int) -> I64:
        flat = np.empty(total, dtype=np.int64)
        groups: dict[tuple[int, int], list[tuple[int, _Window]]] = {}
        large: dict[int, list[tuple[int, _Window]]] = {}
        start = 0
        for window in windows:
            if window.large:
                large.setdefault(window.blocks, []).append((start, window))
                start += window.end - window.begin
                continue
            known = self._unfinished.get(window.key)
            if known is not None:
                flat[start : start + window.size] = known
            elif window.size:
                groups.setdefault((window.size, window.blocks), []).append((start, window))
            start += window.size
        for (size, blocks), members in groups.items():
            step = max(1, GROUP_ELEMENTS // size)
            for i in range(0, len(members), step):
                part = members[i : i + step]
                made = self._make([window for _, window in part], size, blocks)
                if part[-1][0] - part[0][0] == (len(part) - 1) * size:
                    flat[part[0][0] : part[-1][0] + size] = made.reshape(-1)
                else:
                    for (start, _), row in zip(part, made, strict=True):
                        flat[start : start + size] = row
        for blocks, members in large.items():
            picked, begin = self._pick([window for _, window in members], blocks), 0
            for start, window in members:
                end = begin + window.end - window.begin
                flat[start : start + end - begin] = picked[begin:end]
                begin = end
        return flat

    def _keep(self, windows: list[_Window], kept: list[int], flat: I64) -> None:
        ends = np.cumsum([window.end - window.begin for window in windows])
        for i in kept:
            window = windows[i]
            self._unfinished.put(window.key, flat[ends[i] - window.size : ends[i]].copy())

    def _make(self, windows: list[_Window], size: int, blocks: int) -> I64:
        """The sequences of windows of one size and number of blocks: int64 [len(windows), size]."""
        per_block = windows[0].order.per_block
        stored = self._stored_blocks(windows, blocks)
        if per_block == 1 and size == blocks:
            return stored
        y = self._permuted(windows, size) if per_block > 1 else np.tile(np.arange(size), (len(windows), 1))
        if size < blocks * per_block:
            for row, window in zip(y, windows, strict=True):
                row[row >= window.short_draw] += window.order.deficit
        width = min(per_block, size)  # a single block may have fewer sequences than a full one
        in_order = stored[:, :, None] * per_block + np.arange(width)
        y += np.arange(len(windows))[:, None] * (blocks * width)
        return in_order.reshape(-1)[y]

    def _permuted(self, windows: list[_Window], size: int) -> I64:
        return sorted_tables(size, self._window_keys(windows)).view(np.int64)

    def _pick(self, windows: list[_Window], blocks: int) -> I64:
        """The sequences of the draws that are wanted of large windows of one number of blocks, end to end: int64."""
        per_block = windows[0].order.per_block
        of = np.repeat(np.arange(len(windows)), [window.end - window.begin for window in windows])
        y = np.concatenate([np.arange(window.begin, window.end) for window in windows])
        if per_block > 1:
            sizes = np.array([window.size for window in windows])
            y = FeistelKeys(sizes, self._window_keys(windows)).pick(of, y)
        deficit = np.array([window.order.deficit for window in windows])
        y += deficit[of] * (y >= np.array([window.short_draw for window in windows])[of])
        place, chunk = np.divmod(y, per_block)
        if len(windows) * blocks <= max(y.size, GROUP_ELEMENTS):
            stored = self._stored_blocks(windows, blocks)[of, place]
        else:
            ends = np.cumsum([window.end - window.begin for window in windows])[:-1]
            parts = zip(windows, np.split(place, ends), strict=True)
            stored = np.concatenate([self._stored_at(window, part) for window, part in parts])
        return stored * per_block + chunk

    def _stored_at(self, window: _Window, places: I64) -> I64:
        """The blocks at some places of a window: int64 of the places' shape."""
        order = window.order
        numbers = self._permutations.of_pass(order.name, window.epoch, order.blocks).many(places + window.first_place)
        return order.stored_blocks(numbers)

    def _stored_blocks(self, windows: list[_Window], blocks: int) -> I64:
        """The blocks of each window in the order of its places: int64 [len(windows), blocks]."""
        places = np.array([window.first_place for window in windows])[:, None] + np.arange(blocks)
        out = np.empty_like(places)
        large = [i for i, window in enumerate(windows) if window.order.blocks > SORTED_LIMIT]
        if large:
            sizes = np.array([windows[i].order.blocks for i in large])
            out[large] = FeistelKeys(sizes, self._pass_keys([windows[i] for i in large]))(places[large])
        for i, window in enumerate(windows):
            order = window.order
            if order.blocks <= SORTED_LIMIT:
                out[i] = self._stored_at(window, np.arange(blocks))
            elif order.pooled:
                out[i] = order.stored_blocks(out[i])
        return out

    def _window_keys(self, windows: list[_Window]) -> U64:
        return self._permutations.window_keys.many(
            [f"{w.order.name}\x1f{self.length}\x1f{w.epoch}\x1f{w.number}" for w in windows]
        )

    def _pass_keys(self, windows: list[_Window]) -> U64:
        return self._permutations.pass_keys.many([f"{w.order.name}\x1f{w.epoch}" for w in windows])
