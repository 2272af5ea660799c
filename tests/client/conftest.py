"""A small store, and runs over it as a service shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from api_helpers import serving
from service_process import NAME, Shown, shown
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.data.store import Store

KEYS = {"tokenizer": "bytes", "sequence_length": "64", "shuffle": "{block: 256 tokens, window: 2 blocks}"}
PHASES = """
  - phase: first
    until: step 17
    weights: {code: 60%, notes: 40%}
  - phase: second
    batch: 48 sequences
    sequence_length: 128
    weights: {code: 50%, web: 50%}
"""

MakeShown = Callable[..., Shown]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("client") / "made", DOMAINS)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Shown:
    """Forty steps of two phases."""
    folder = tmp_path_factory.mktemp("run") / NAME
    lock = lock_over(store, folder, PHASES, batch="24 sequences", budget="40 steps", **KEYS)
    return shown(lock, folder, store)


@pytest.fixture(scope="session")
def url(run: Shown) -> Iterator[str]:
    """The address of that run at a service, for tests that only read."""
    with serving(create_app(Settings(**run.settings))) as address:
        yield f"{address}/v1/mixtures/{NAME}"


@pytest.fixture
def make(tmp_path: Path, store: Store) -> MakeShown:
    """Other runs, in a folder of the test: make(phases, steps=…, over=…)."""

    def of(phases: str = PHASES, *, steps: int = 40, over: Store = store, **keys: str) -> Shown:
        lock = lock_over(
            over, tmp_path / NAME, phases, **{"batch": "24 sequences", "budget": f"{steps} steps"} | KEYS | keys
        )
        return shown(lock, tmp_path / NAME, over)

    return of
