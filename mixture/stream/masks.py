"""Text that was taken down: where it stands in the rows of a step, and how it is hidden there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from mixture.json_text import digest
from mixture.lock import Lock
from mixture.stream.dtypes import Ids

Bools = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

ALWAYS = (1 << 63) - 1
"""A step behind every mask's first."""


class Masks:
    """A lock's masks, sorted to be looked up in for the rows of a batch. Threads may share it.

    Inside they are in order of domain and token, where masks of a lock never overlap. Tokens count over the domains
    that have masks, laid one behind the other, with a token of room for the one that follows a domain's last row.
    """

    def __init__(self, lock: Lock) -> None:
        index = {name: d for d, name in enumerate(lock.schedule().names)}
        n = len(lock.masks)
        domain = np.fromiter((index[mask.domain] for mask in lock.masks), np.int64, n)
        first = np.fromiter((mask.first_token for mask in lock.masks), np.int64, n)
        tokens = np.fromiter((mask.tokens for mask in lock.masks), np.int64, n)
        steps = np.fromiter((mask.first_step for mask in lock.masks), np.int64, n)
        self._lock = lock
        self._begins = steps  # in the lock's order, which is by step
        self._index = index
        self._has = np.zeros(len(index), np.bool_)
        self._has[domain] = True
        self._before = np.zeros(len(index), np.int64)
        masked = np.flatnonzero(self._has).tolist()
        room = [0, *(lock.data.domains[d].tokens + 1 for d in masked)]
        self._before[masked] = np.array(list(accumulate(room))[:-1], np.int64)  # no overflow passes in silence
        order = np.lexsort((first, domain))
        self._steps = steps[order]
        self._first = (self._before[domain] + first)[order]
        self._end = self._first + tokens[order]
        self._known: tuple[int, str | None] = (0, None)

    def hide(self, step: int, domain: npt.NDArray[np.integer], first_token: I64, ids: Ids, hidden: int) -> Bools:
        """Overwrite what is taken down at a step in rows of tokens, ids [n, width], with the id `hidden`.

        domain, first_token: [n], of the lock's domains, and where each row begins there
        Gives where that is: bool [n, width].
        """
        masked = np.zeros(ids.shape, np.bool_)
        rows, begin, stop = self._overlaps(step, domain, first_token, ids.shape[1])
        if not len(rows):
            return masked
        hit, row = np.unique(rows, return_inverse=True)
        # Up by one where a mask begins and down where it ends: masks do not overlap, so the sums are 0 and 1.
        edges = np.zeros((len(hit), ids.shape[1] + 1), np.int8)
        edges[row, begin] += 1
        edges[row, stop] -= 1
        found = np.cumsum(edges[:, :-1], axis=1, dtype=np.int8).view(np.bool_)
        masked[hit] = found
        ids[hit] = np.where(found, ids.dtype.type(hidden), ids[hit])
        return masked

    def count(self, step: int, domain: str, first_token: I64, tokens: I64) -> I64:
        """How many tokens are down at a step of ranges of a domain: int64 [n], of first_token [n] and tokens [n]."""
        down = np.zeros(len(first_token), np.int64)
        if domain in self._index:
            of = np.full(len(first_token), self._index[domain])
            rows, begin, stop = self._overlaps(step, of, first_token, tokens)
            np.add.at(down, rows, stop - begin)
        return down

    def _overlaps(
        self, step: int, domain: npt.NDArray[np.integer], first_token: I64, width: int | I64
    ) -> tuple[I64, I64, I64]:
        """Each mask in each row that it overlaps at a step: the row, and from where to where in it.

        width: of all rows, or of each
        """
        rows = np.flatnonzero(self._has[domain])
        start = self._before[domain[rows]] + first_token[rows]
        size = np.broadcast_to(width, domain.shape)[rows]
        low = np.searchsorted(self._end, start, side="right")
        counts = np.searchsorted(self._first, start + size, side="left") - low
        of = np.repeat(np.arange(len(rows)), counts)
        mask = low[of] + np.arange(len(of)) - (np.cumsum(counts) - counts)[of]
        is_down = self._steps[mask] <= step
        of, mask = of[is_down], mask[is_down]
        begin = np.maximum(self._first[mask] - start[of], 0)
        stop = np.minimum(self._end[mask] - start[of], size[of])
        return rows[of], begin, stop

    def parts(self, step: int, domain: str, first_token: int, tokens: int) -> Iterator[tuple[int, int, int | None]]:
        """A range of a domain in parts, from the first token to the end: (from, to, the step since which it is down).

        from, to: counted from first_token; the step is None where the text is there.
        """
        if domain not in self._index:  # text that is held out, of which no lock knows
            yield 0, tokens, None
            return
        d = np.array([self._index[domain]])
        start = int(self._before[d[0]]) + first_token
        at = 0
        _, begins, stops = self._overlaps(step, d, np.array([first_token], np.int64), tokens)
        for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True):
            if at < begin:
                yield at, begin, None
            since = self._steps[np.searchsorted(self._end, start + begin, side="right")]
            yield begin, stop, int(since)
            at = stop
        if at < tokens:
            yield at, tokens, None

    def text(self, step: int, domain: str, first_token: int, ids: Ids, decode: Callable[[Ids], str]) -> str:
        """The text of a domain's tokens, ids [n] from first_token on; a mark stands in place of what is down."""
        parts = self.parts(step, domain, first_token, len(ids))
        return "".join(
            decode(ids[begin:stop]) if since is None else f"[taken down at step {since}]"
            for begin, stop, since in parts
        )

    def digest(self, step: int) -> str | None:
        """What of the masks decided what was read before a step; None where none had begun.

        The SHA-256 (lower-case hex) of the canonical JSON of a list [first_step, domain's name, first_token, tokens] a
        mask that begins before the step, in the lock's order.
        """
        count = int(np.searchsorted(self._begins, step, side="left"))
        if not count:
            return None
        known, held = self._known
        if known != count:
            begun = self._lock.masks[:count]
            held = digest([[mask.first_step, mask.domain, mask.first_token, mask.tokens] for mask in begun])
            self._known = (count, held)
        return held


class _Held:
    """A lock to look its masks up by: it is the same for as long as they are the same object."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock

    def __hash__(self) -> int:
        return hash((id(self.lock.masks), id(self.lock.data)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self.lock.masks is other.lock.masks and self.lock.data is other.lock.data


@lru_cache(maxsize=16)
def _made(held: _Held) -> Masks:
    return Masks(held.lock)


def masks_for(lock: Lock) -> Masks | None:
    """A lock's masks to look up in, made once; None where it has none."""
    return _made(_Held(lock)) if lock.masks else None
