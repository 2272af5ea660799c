"""Grain's loaders over the sources: the order of the run, and its states."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from mixture.adapters.grain import SequenceSource, StepSource, rank_steps, sharded_sequences
from mixture.errors import ScheduleError
from mixture.plan import Lock
from mixture.store import Store
from mixture.stream import open_stream
from mixture.testing import difference

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(find_spec("grain") is None, reason="Grain is not installed: pip install 'mixture[grain]'"),
]


def test_a_ranks_steps_come_in_order_and_go_on_from_grains_state(opener: partial) -> None:
    source = StepSource(opener, rank=1, world_size=2)
    steps = iter(rank_steps(source, threads=3))
    found = [next(steps) for _ in range(6)]
    state = steps.get_state()
    found += list(steps)
    assert [batch["step"] for batch in found] == list(range(17))
    assert all(difference(source[step], batch) is None for step, batch in enumerate(found))
    again = iter(rank_steps(source, threads=3))
    again.set_state(state)
    assert next(again)["step"] == 6
    assert next(iter(rank_steps(source, first_step=16)))["step"] == 16


def test_sequences_that_grain_shards_are_together_the_steps(opener: partial, lock: Lock, store: Store) -> None:
    ranks = [
        iter(sharded_sequences(SequenceSource(opener), rank=rank, world_size=4, batch=6).to_iter_dataset())
        for rank in range(4)
    ]
    for batch in list(open_stream(lock, store))[:9]:  # of 24 sequences
        parts = [next(rank) for rank in ranks]
        rows = np.stack([part["input_ids"] for part in parts], axis=1).reshape(24, 64)
        assert np.array_equal(rows, batch.input_ids)


def test_a_step_that_the_run_does_not_have_is_refused_instead_of_an_empty_end(opener: partial) -> None:
    with pytest.raises(ScheduleError) as refused:
        rank_steps(StepSource(opener), first_step=18)
    assert refused.value.code == "step-out-of-range"
    assert list(rank_steps(StepSource(opener), first_step=17)) == []
