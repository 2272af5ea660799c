"""Reading a store's tables for an answer: what fails is a problem 503."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from mixture.api.middleware import Problem


@contextmanager
def reading_store() -> Iterator[None]:
    """Raises Problem 503 `store-unreadable` where a file can not be read; StoreErrors go on as they are."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise Problem(503, "the store's table of documents can not be read", code="store-unreadable") from error
