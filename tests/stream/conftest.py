"""A store of three domains made from real text by ingest, and locks over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stream_helpers import DOMAINS, make_store

from mixture.plan import Lock, make_lock, make_plan
from mixture.spec import load_spec
from mixture.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("stream") / "made", DOMAINS)


SPEC = """
mixture: small
catalog: {catalog}
tokenizer: bytes
sequence_length: 64
batch: 24 sequences
budget: {steps} steps
shuffle: {{block: 256 tokens, window: 2 blocks}}
phases:
{phases}
"""
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
        spec = tmp_path / "mixture.yaml"
        spec.write_text(SPEC.format(catalog=over.path, steps=steps, phases=phases), encoding="utf-8")
        contents = {name: domain.content for name, domain in over.domains.items()}
        return make_lock(make_plan(load_spec(spec)), content=contents)

    return of
