"""Which sequence of a domain: its endless order of sequences of one length.

A domain's tokens are cut into blocks; each epoch permutes the blocks anew, and within a window of blocks the sequences
are permuted together. A pool is the first blocks of a fixed order of the full blocks. `DomainOrder` says where windows
begin and goes from a sequence to its draw; `mixture.schedule.windows` goes from draws to sequences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mixture.schedule.cache import ByteCache
from mixture.schedule.fields import Domain, ScheduleData
from mixture.schedule.permute import Keys, Permutation

MIN_WINDOWS = 32
TABLE_BYTES = 64 << 20


class Permutations:
    """The permutations that all orders of a schedule share, made when asked for and kept within 64 MiB."""

    def __init__(self, seed: int) -> None:
        self._tables: ByteCache[Permutation] = ByteCache(TABLE_BYTES)
        self.pass_keys = Keys(seed, "pass")
        self.pool_keys = Keys(seed, "pool")
        self.window_keys = Keys(seed, "window")

    def of_pass(self, name: str, epoch: int, blocks: int) -> Permutation:
        """The order of a domain's blocks in an epoch."""
        return self._tables.get_or_make(("pass", name, epoch), lambda: Permutation(blocks, self.pass_keys(name, epoch)))

    def of_pool(self, name: str, full_blocks: int) -> Permutation:
        """The fixed order of a domain's full blocks, whose first ones a pool takes."""
        return self._tables.get_or_make(("pool", name), lambda: Permutation(full_blocks, self.pool_keys(name)))

    def of_window(self, name: str, length: int, epoch: int, window: int, size: int) -> Permutation:
        """The order of the sequences of one window."""
        return self._tables.get_or_make(
            ("window", name, length, epoch, window),
            lambda: Permutation(size, self.window_keys(name, length, epoch, window)),
        )


@dataclass(frozen=True, slots=True)
class Handoff:
    """The next draw's window after some draws: its epoch, its number, and the draws that are skipped to get there."""

    epoch: int
    window: int
    skipped: int


class DomainOrder:
    """The order of one domain's sequences of one length.

    per_block:   sequences in a full block
    blocks:      blocks of the domain or pool, the last one perhaps short
    per_epoch:   sequences of a full pass; 0 where the domain has no whole sequence
    window:      blocks whose sequences are permuted together
    deficit:     sequences that the last block lacks
    """

    __slots__ = (
        "_permutations", "_short_places", "blocks", "deficit", "full_blocks", "in_last", "length", "name",
        "per_block", "per_epoch", "pooled", "window",
    )  # fmt: skip

    def __init__(self, data: ScheduleData, domain: Domain, length: int, permutations: Permutations) -> None:
        self.name, self.length = domain.name, length
        self._permutations = permutations
        self._short_places: dict[int, int] = {}
        self.per_block = data.block_tokens // length
        full = domain.tokens // data.block_tokens
        self.pooled = domain.pool_tokens is not None and full > 0
        self.full_blocks = full
        tokens = domain.held
        self.blocks = -(-tokens // data.block_tokens)
        self.in_last = (tokens - (self.blocks - 1) * data.block_tokens) // length if tokens else 0
        self.deficit = self.per_block - self.in_last if tokens else 0
        self.per_epoch = self.blocks * self.per_block - self.deficit
        self.window = min(data.window_blocks, max(1, self.blocks // MIN_WINDOWS))

    def short_place(self, epoch: int) -> int:
        """Where in an epoch's order of blocks the last, possibly short, block stands."""
        place = self._short_places.get(epoch)
        if place is None:
            place = self._permutations.of_pass(self.name, epoch, self.blocks).inverse(self.blocks - 1)
            if len(self._short_places) >= 64:
                self._short_places.clear()
            self._short_places[epoch] = place
        return place

    def before_window(self, epoch: int, window: int) -> int:
        """Draws of the epoch that come before a window."""
        blocks = min(window * self.window, self.blocks)
        short = self.deficit if self.deficit and self.short_place(epoch) < blocks else 0
        return blocks * self.per_block - short

    def window_of(self, epoch: int, r: int) -> int:
        """The window that holds draw r of an epoch."""
        window = r // (self.window * self.per_block)
        while self.before_window(epoch, window + 1) <= r:
            window += 1
        return window

    def next_window(self, k: int) -> Handoff:
        """The first window that draws 0 to k - 1, at least one, have not touched; past the last one, the next epoch's.

        A window without a whole sequence of this length is one, too: in another length it may have some.
        """
        epoch, r = divmod(k - 1, self.per_epoch)
        window = self.window_of(epoch, r) + 1
        skipped = self.before_window(epoch, window) - (r + 1)
        if window * self.window >= self.blocks:
            return Handoff(epoch + 1, 0, skipped)
        return Handoff(epoch, window, skipped)

    def first_draw(self, epoch: int, window: int) -> int:
        """The draw with which a window of an epoch begins."""
        return epoch * self.per_epoch + self.before_window(epoch, window)

    def draw(self, epoch: int, sequence: int) -> int | None:
        """The draw of an epoch that yields a sequence; None where the pool does not hold it."""
        block, chunk = divmod(sequence, self.per_block)
        number = self._number(block)
        if number is None or (number == self.blocks - 1 and chunk >= self.in_last):
            return None
        place = self._permutations.of_pass(self.name, epoch, self.blocks).inverse(number)
        window = place // self.window
        y = (place - window * self.window) * self.per_block + chunk
        if self.deficit and window * self.window <= self.short_place(epoch) < place:
            y -= self.deficit
        first = self.before_window(epoch, window)
        if self.per_block > 1:
            size = self.before_window(epoch, window + 1) - first
            y = self._permutations.of_window(self.name, self.length, epoch, window, size).inverse(y)
        return epoch * self.per_epoch + first + y

    def _number(self, block: int) -> int | None:
        """The number in the pool of a block in storage."""
        if self.pooled:
            if block >= self.full_blocks:
                return None
            block = self._permutations.of_pool(self.name, self.full_blocks).inverse(block)
        return block if block < self.blocks else None

    def window_blocks(self, epoch: int, windows: range) -> np.ndarray:
        """The blocks in storage of consecutive windows of an epoch, in order of place: int64."""
        places = np.arange(windows.start * self.window, min(windows.stop * self.window, self.blocks))
        return self.stored_blocks(self._permutations.of_pass(self.name, epoch, self.blocks).many(places))

    def stored_blocks(self, numbers: np.ndarray) -> np.ndarray:
        """The blocks in storage of blocks of the pool, int64 of any shape."""
        if not self.pooled:
            return numbers
        pool = self._permutations.of_pool(self.name, self.full_blocks)
        return pool.many(numbers)
