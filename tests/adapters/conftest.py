"""A small store and a run over it whose batch and length change, as files, for loaders in other processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.data.store import Store
from mixture.lock import Lock, write_lock
from mixture.stream import open_stream

KEYS = {"tokenizer": "bytes", "sequence_length": "64", "shuffle": "{block: 256 tokens, window: 2 blocks}"}
PHASES = """
  - phase: first
    until: step 9
    weights: {code: 60%, notes: 40%}
  - phase: second
    batch: 48 sequences
    sequence_length: 128
    weights: {code: 50%, web: 50%}
"""


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("adapters") / "made", DOMAINS)


@pytest.fixture(scope="session")
def spec_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run's spec is."""
    return tmp_path_factory.mktemp("lock") / "m"


@pytest.fixture(scope="session")
def lock(spec_folder: Path, store: Store) -> Lock:
    """Seventeen steps of two phases."""
    return lock_over(store, spec_folder, PHASES, batch="24 sequences", budget="17 steps", **KEYS)


@pytest.fixture(scope="session")
def lock_path(tmp_path_factory: pytest.TempPathFactory, lock: Lock) -> Path:
    path = tmp_path_factory.mktemp("written") / "mixture.lock.json"
    write_lock(lock, path)
    return path


@pytest.fixture(scope="session")
def opener(lock_path: Path, store: Store) -> partial:
    """Opens streams of the run in any process."""
    return partial(open_stream, str(lock_path), str(store.path))
