"""Chosen draws of many domains: the sequences that they yield, window by window and in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mixture.schedule.order import DomainOrder
from mixture.schedule.permute import I64, SORTED_LIMIT
from mixture.schedule.windows import Windows

DRAWS_AT_ONCE = 1 << 9
"""Each may have its window made, of up to 16,384 sequences."""


def picked_sequences(windows: Windows, orders: Mapping[int, DomainOrder], domain: I64, draw: I64) -> I64:
    """The sequence of draw [n] of domain [n], both int64, in the order given: int64 [n].

    orders: by domain, of the windows' length
    """
    out = np.empty_like(draw)
    order = np.lexsort((draw, domain))
    for start in range(0, order.size, DRAWS_AT_ONCE):
        some = order[start : start + DRAWS_AT_ONCE]
        out[some] = _near(windows, orders, domain[some], draw[some])
    return out


def _near(windows: Windows, orders: Mapping[int, DomainOrder], domain: I64, draw: I64) -> I64:
    """The same of draws in order of domain and draw: those that lie in one window, or in the next, are one range."""
    sizes = [orders[d].window * orders[d].per_block for d in domain.tolist()]
    reach = np.array([size if size <= SORTED_LIMIT else 0 for size in sizes], dtype=np.int64)
    apart = np.flatnonzero((np.diff(domain) != 0) | (np.diff(draw) > reach[1:])) + 1
    first, last = np.concatenate([[0], apart]), np.concatenate([apart, [draw.size]]) - 1
    low, high = draw[first].tolist(), (draw[last] + 1).tolist()
    ranges = [(orders[d], a, b) for d, a, b in zip(domain[first].tolist(), low, high, strict=True)]
    flat, starts = windows.sequences(ranges)
    of = np.repeat(np.arange(first.size), last - first + 1)
    found: I64 = flat[starts[of] + draw - draw[first][of]]
    return found
