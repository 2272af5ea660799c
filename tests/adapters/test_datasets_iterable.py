"""A Hugging Face dataset of a run: its order, its states, and torch's loader over it."""

from __future__ import annotations

import json
from functools import partial
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from mixture.adapters.columns import Column, Columns
from mixture.adapters.datasets import iterable_dataset
from mixture.errors import StreamError
from mixture.plan import Lock
from mixture.store import Store
from mixture.stream import open_stream


@pytest.fixture(scope="module")
def tokens(lock: Lock, store: Store) -> list[list[int]]:
    return [row for batch in open_stream(lock, store) for row in batch.input_ids.tolist()]


def test_rows_come_in_the_order_of_the_run(opener: partial, tokens: list[list[int]]) -> None:
    found = list(iterable_dataset(opener))
    assert [row["input_ids"].tolist() for row in found] == tokens
    assert [int(row["position"]) for row in found] == list(range(len(tokens)))
    assert (found[0]["step"], found[-1]["step"]) == (0, 16)


def test_its_own_state_goes_on_inside_a_step(opener: partial, tokens: list[list[int]]) -> None:
    for taken in (0, 1, 30, len(tokens) - 1):
        dataset = iterable_dataset(opener)
        rows = iter(dataset)
        assert [row["input_ids"].tolist() for row in islice(rows, taken)] == tokens[:taken]
        again = iterable_dataset(opener)
        again.load_state_dict(json.loads(json.dumps(dataset.state_dict())))
        assert [row["input_ids"].tolist() for row in again] == tokens[taken:]


def test_it_begins_where_a_streams_state_stands(opener: partial, lock: Lock, store: Store) -> None:
    state = open_stream(lock, store).state_at(10)
    found = [int(row["position"]) for row in iterable_dataset(opener, rank=1, world_size=2, state=state)]
    first = 9 * 24 + 48
    assert found[:24] == list(range(first + 24, first + 48))
    with pytest.raises(StreamError) as caught:
        iterable_dataset(opener, state=state | {"history": "0" * 64})
    assert caught.value.code == "history-differs"


def test_what_is_of_a_batch_is_no_column_of_rows(opener: partial) -> None:
    with pytest.raises(StreamError) as caught:
        iterable_dataset(opener, columns=Columns((Column.CU_SEQLENS,)))
    assert caught.value.code == "unknown-column"


@pytest.mark.needs_torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture[torch]'")
@pytest.mark.parametrize("workers", [0, 2])
def test_torchs_loader_gives_whole_steps_in_order(opener: partial, workers: int, lock: Lock, store: Store) -> None:
    from torch.utils.data import DataLoader

    dataset = iterable_dataset(opener).with_format("torch")
    batches = DataLoader(dataset, batch_size=24, num_workers=workers)
    for found, batch in islice(zip(batches, open_stream(lock, store), strict=False), 9):
        assert np.array_equal(found["input_ids"], batch.input_ids)
