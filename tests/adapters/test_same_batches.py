"""One lock, several trainers' loaders: the same 1,000 global batches, and the same after a resume on other ranks."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_helpers import lock_over

from mixture.adapters.columns import Columns
from mixture.adapters.datasets import iterable_dataset
from mixture.adapters.rank_reader import SequenceSource, StepSource
from mixture.data.store import Store
from mixture.lock import Lock
from mixture.stream import open_stream

STEPS, BATCH, RESUMED = 1000, 8, 400
COLUMNS = Columns(("input_ids", "position"))
Batches = Iterator[dict[str, Any]]


def stream_batches(opener: partial, rank: int, world_size: int, state: dict | None) -> Batches:
    """A loop of one's own, over a stream."""
    stream = opener(rank=rank, world_size=world_size)
    if state is not None:
        stream.load_state_dict(state)
    return ({"input_ids": batch.input_ids, "position": batch.position} for batch in stream)


def jax_batches(opener: partial, rank: int, world_size: int, state: dict | None) -> Batches:
    """The same, to JAX's devices and back."""
    jax = pytest.importorskip("jax")
    return (jax.tree.map(jax.numpy.asarray, batch) for batch in stream_batches(opener, rank, world_size, state))


def torch_batches(opener: partial, rank: int, world_size: int, state: dict | None) -> Batches:
    pytest.importorskip("torch")
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    loader = MixtureLoader(MixtureBatches(opener, rank=rank, world_size=world_size, columns=COLUMNS))
    if state is not None:
        loader.load_state_dict(state)
    return iter(loader)


def rows_batches(opener: partial, rank: int, world_size: int, state: dict | None) -> Batches:
    """Rows of `datasets`, put together by torch's loader."""
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    rows = iterable_dataset(opener, rank=rank, world_size=world_size, state=state, columns=COLUMNS)
    return iter(DataLoader(rows.with_format("torch"), batch_size=BATCH // world_size))


def grain_steps(opener: partial, rank: int, world_size: int, state: dict | None) -> Batches:
    pytest.importorskip("grain")
    from mixture.adapters.grain import rank_steps

    source = StepSource(opener, rank=rank, world_size=world_size, columns=COLUMNS)
    return iter(rank_steps(source, first_step=state["step"] if state else 0))


def levanter_batches(opener: partial, rank: int, world_size: int, state: dict | None) -> Batches:
    """Batches by the indices of their sequences, awaited, as Levanter's loader asks an AsyncDataset for them."""
    source = SequenceSource(opener, columns=COLUMNS)

    async def get_batch(indices: Sequence[int]) -> list[dict[str, Any]]:
        return [source[index] for index in indices]

    rows = BATCH // world_size
    for step in range(state["step"] if state else 0, STEPS):
        first = step * BATCH + rank * rows
        batch = asyncio.run(get_batch(range(first, first + rows)))
        yield {name: np.stack([row[name] for row in batch]) for name in COLUMNS.names}


WAYS: list[Callable[..., Batches]] = [
    jax_batches, torch_batches, rows_batches, grain_steps, levanter_batches,
]  # fmt: skip


def digests(ranks: Iterable[Batches]) -> list[str]:
    """Of each step: the SHA-256 of all ranks' tokens and positions, in order of ranks."""
    found = []
    for parts in zip(*ranks, strict=True):
        step = hashlib.sha256()
        for name, dtype in (("input_ids", "<i4"), ("position", "<i8")):
            step.update(np.concatenate([np.asarray(part[name]) for part in parts]).astype(dtype).tobytes())
        found.append(step.hexdigest())
    return found


@pytest.fixture(scope="module")
def opener(store: Store, tmp_path_factory: pytest.TempPathFactory) -> partial:
    keys = {"tokenizer": "bytes", "sequence_length": "64", "shuffle": "{block: 256 tokens, window: 2 blocks}"}
    phases = "  - {phase: a, until: step 617, weights: {code: 60%, web: 40%}}\n"
    phases += "  - {phase: b, weights: {notes: 9%, web: 91%}}"
    lock: Lock = lock_over(
        store, Path(tmp_path_factory.mktemp("thousand")), phases, batch=f"{BATCH} sequences", budget=f"{STEPS} steps",
        max_epochs="100", **keys,
    )  # fmt: skip
    return partial(open_stream, lock, store)


@pytest.fixture(scope="module")
def expected(opener: partial) -> list[str]:
    found = digests([stream_batches(opener, 0, 1, None)])
    assert len(set(found)) == STEPS
    return found


@pytest.mark.needs_torch
@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_steps_are_the_same_and_after_a_resume_on_other_ranks(
    way: Callable[..., Batches], opener: partial, expected: list[str]
) -> None:
    assert digests(way(opener, rank, 2, None) for rank in range(2)) == expected
    state = opener(rank=1, world_size=2).state_at(RESUMED)
    for world_size in (1, 4):
        assert digests(way(opener, rank, world_size, state) for rank in range(world_size)) == expected[RESUMED:]


@pytest.mark.needs_torch
def test_a_run_may_move_between_trainers(opener: partial, expected: list[str]) -> None:
    """Each takes 100 steps where the one before stopped, from its state, on other ranks."""
    found: list[str] = []
    ways = [way for way in WAYS if way is not jax_batches or find_spec("jax")]
    for number in range(10):
        way, world_size = ways[number % len(ways)], (1, 2, 4, 8)[number % 4]
        state = opener().state_at(len(found))
        ranks = [way(opener, rank, world_size, state) for rank in range(world_size)]
        found += digests((batch for batch, _ in zip(each, range(100), strict=False)) for each in ranks)
    assert found == expected
