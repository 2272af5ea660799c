"""Conditions on catalogs, worked out in the sealed database by a few threads at a time, each once."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence

from mixture.api.middleware import Kept, Problem
from mixture.planning.catalog import Catalog

WAIT_SECONDS = 5.0
KEPT_BYTES = 2**26
ENTRY_BYTES = 500
"""Of a condition beside what it selects."""


class Conditions:
    """What conditions select, by what the catalog says. Safe from any number of threads."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._seconds = seconds
        self._kept: Kept[tuple[str, str], array[int]] = Kept(KEPT_BYTES, weigh=_bytes_of)

    def select(self, catalog: Catalog, where: str) -> Sequence[int]:
        """`catalog.select(where)`: the indices of the domains for which a condition is true.

        Raises CatalogError, and Problem 503 `busy` where too many conditions are being worked out.
        """
        return self._kept.get((catalog.digest, where), lambda: self._work_out(catalog, where))

    def _work_out(self, catalog: Catalog, where: str) -> array[int]:
        if not self._places.acquire(timeout=WAIT_SECONDS):
            raise Problem(503, "too many conditions are being worked out", code="busy", headers={"Retry-After": "1"})
        try:
            return array("i", catalog.select(where, seconds=self._seconds))
        finally:
            self._places.release()


def _bytes_of(rows: array[int]) -> int:
    return ENTRY_BYTES + len(rows) * rows.itemsize
