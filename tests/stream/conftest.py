"""A store of three domains made from real text by ingest, and locks over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.data.store import Store
from mixture.lock import Lock


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("stream") / "made", DOMAINS)


KEYS = {
    "tokenizer": "bytes",
    "sequence_length": "64",
    "batch": "24 sequences",
    "shuffle": "{block: 256 tokens, window: 2 blocks}",
}
TWO_PHASES = """
  - phase: first
    until: step 17
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: second
    weights: {code: 50%, notes: 0, web: 50%}
"""

MakeLock = Callable[..., Lock]


@pytest.fixture
def make(tmp_path: Path, store: Store) -> MakeLock:
    """Locks of specs over the store: make(phases, steps=…)."""

    def of(phases: str = TWO_PHASES, *, steps: int = 40, over: Store = store) -> Lock:
        return lock_over(over, tmp_path / "spec", phases, budget=f"{steps} steps", **KEYS)

    return of
