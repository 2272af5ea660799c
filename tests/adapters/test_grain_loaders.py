"""Grain's loaders over the sources: the order of the run, and its states."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from mixture.adapters.grain import SequenceSource, StepSource, rank_steps, sharded_sequences
from mixture.data.store import Store
from mixture.errors import ScheduleError, StreamError
from mixture.lock import Lock
from mixture.stream import open_stream
from mixture.testing import difference

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(find_spec("grain") is None, reason="Grain is not installed: pip install 'mixture-lock[grain]'"),
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


@pytest.mark.parametrize("kind", [StepSource, SequenceSource])
def test_another_order_is_refused_and_a_second_epoch(opener: partial, kind: type) -> None:
    import grain

    source = grain.MapDataset.source(kind(opener))
    for changed in (source.shuffle(seed=1), source.repeat(2), source[2:9].shuffle(seed=1).map(lambda each: each),
                    grain.MapDataset.mix([source, source])):  # fmt: skip
        for read in (lambda: changed[0], lambda: next(iter(changed.to_iter_dataset()))):  # noqa: B023
            with pytest.raises(StreamError) as refused:
                read()
            assert refused.value.code == "steps-reordered"
    assert source[2:9].map(lambda each: each["step"])[0] == (2 if kind is StepSource else 0)


def test_several_steps_are_no_batch_and_sequences_of_two_steps_neither(opener: partial) -> None:
    import grain

    with pytest.raises(StreamError) as refused:
        grain.MapDataset.source(StepSource(opener)).batch(2)[0]
    assert refused.value.code == "steps-batched"
    source = SequenceSource(opener)  # steps of 24, later of 48 sequences
    for world_size, batch in ((4, 12), (5, 2), (2, 24), (2, 0)):
        with pytest.raises(StreamError) as refused:
            sharded_sequences(source, rank=0, world_size=world_size, batch=batch)
        assert refused.value.code == "batch-differs"
    with pytest.raises(StreamError) as refused:
        sharded_sequences(source, rank=2, world_size=2, batch=12)
    assert refused.value.code == "rank-invalid"
    assert sharded_sequences(source, rank=1, world_size=2, batch=6)[0]["input_ids"].shape == (6, 64)


def test_a_source_of_the_users_own_reads_steps_in_any_order(opener: partial) -> None:
    import grain

    class Every:
        def __init__(self) -> None:
            self.steps = StepSource(opener)

        def __len__(self) -> int:
            return len(self.steps)

        def __getitem__(self, index: int) -> int:
            return self.steps[index]["step"]

    assert sorted(grain.MapDataset.source(Every()).shuffle(seed=1)) == list(range(17))
