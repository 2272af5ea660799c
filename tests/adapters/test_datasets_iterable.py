"""A Hugging Face dataset of a run: its order, its states, and torch's loader over it."""

from __future__ import annotations

import copy
import json
import pickle
from functools import partial
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest
from datasets.distributed import split_dataset_by_node

from mixture.adapters.columns import Column, Columns
from mixture.adapters.datasets import iterable_dataset
from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.stream import open_stream

FEW_CORES = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # this machine has fewer than workers


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


REFUSED = {
    "split by node, by shards": lambda rows: split_dataset_by_node(rows, 0, 1),
    "split by node, by examples": lambda rows: split_dataset_by_node(rows, 1, 3),
    "split by shards": lambda rows: rows.shard(2, 0),
    "split by shards that take turns": lambda rows: rows.shard(2, 1, contiguous=False),
}


@pytest.mark.needs_torch  # datasets give tensors of torch where numbers are asked for in its format
@pytest.mark.parametrize("way", REFUSED)
@pytest.mark.parametrize("ranked", [True, False])
def test_splitting_it_by_other_means_is_refused_where_it_is_done(opener: partial, way: str, ranked: bool) -> None:
    rows = iterable_dataset(opener, rank=1, world_size=2) if ranked else iterable_dataset(opener)
    for dataset in (rows, rows.with_format("torch"), rows.map(lambda row: row)):
        with pytest.raises(StreamError, match="rank and world_size") as refused:
            REFUSED[way](dataset)
        assert refused.value.code == "split-again"


def test_another_order_is_refused_and_a_second_epoch(opener: partial) -> None:
    with pytest.raises(StreamError) as refused:
        iterable_dataset(opener).shuffle(seed=1, buffer_size=8)
    assert refused.value.code == "steps-reordered"
    rows = iterable_dataset(opener)
    rows.set_epoch(1)
    with pytest.raises(StreamError) as refused:
        next(iter(rows))
    assert refused.value.code == "steps-reordered"


def test_it_goes_to_other_processes_and_copies_with_its_place(opener: partial, tokens: list[list[int]]) -> None:
    rows = iterable_dataset(opener, first_step=1)
    for there in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows)):
        assert [row["input_ids"].tolist() for row in islice(there, 30)] == tokens[24:54]


@pytest.mark.needs_torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'")
@pytest.mark.parametrize("workers", [0, 2])
def test_torchs_loader_gives_whole_steps_in_order(opener: partial, workers: int, lock: Lock, store: Store) -> None:
    from torch.utils.data import DataLoader

    dataset = iterable_dataset(opener).with_format("torch")
    batches = DataLoader(dataset, batch_size=24, num_workers=workers)
    for found, batch in islice(zip(batches, open_stream(lock, store), strict=False), 9):
        assert np.array_equal(found["input_ids"], batch.input_ids)


@pytest.mark.needs_torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'")
@pytest.mark.parametrize(
    ("batch", "workers", "fits"),
    [(24, 0, True), (8, 0, True), (24, 2, True), (8, 1, True), (8, 2, False), (9, 0, False), (48, 1, False)],
)
def test_a_loader_whose_batches_would_mix_steps_is_refused(
    opener: partial, batch: int, workers: int, fits: bool
) -> None:
    """The first nine steps have 24 rows."""
    from torch.utils.data import DataLoader

    loader = DataLoader(iterable_dataset(opener).with_format("torch"), batch_size=batch, num_workers=workers)
    if fits:
        positions = [p for taken in islice(loader, 9 * 24 // batch) for p in taken["position"].tolist()]
        assert positions == list(range(9 * 24))
        return
    with pytest.raises((StreamError, RuntimeError), match="batches would mix steps"):
        next(iter(loader))


@pytest.mark.needs_torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'")
@FEW_CORES
@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize("steps", [0, 3, 4])
def test_a_state_without_workers_resumes_with_any_number_of_workers(opener: partial, steps: int, workers: int) -> None:
    from torch.utils.data import DataLoader

    dataset = iterable_dataset(opener, first_step=1).with_format("torch")
    for _ in islice(DataLoader(dataset, batch_size=24), steps):
        pass
    again = iterable_dataset(opener, first_step=1).with_format("torch")
    again.load_state_dict(json.loads(json.dumps(dataset.state_dict())))
    loader = DataLoader(again, batch_size=24, num_workers=workers)
    found = [position for batch in islice(loader, 8 - steps) for position in batch["position"].tolist()]
    assert found == list(range((1 + steps) * 24, 9 * 24))


@pytest.mark.needs_torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_inside_a_step_is_refused_where_batches_would_mix_steps(opener: partial, workers: int) -> None:
    from torch.utils.data import DataLoader

    dataset = iterable_dataset(opener)
    for _ in islice(dataset, 30):
        pass
    again = iterable_dataset(opener).with_format("torch")
    again.load_state_dict(dataset.state_dict())
    with pytest.raises((StreamError, RuntimeError), match="batches would mix steps"):
        next(iter(DataLoader(again, batch_size=24, num_workers=workers)))
    found = next(iter(DataLoader(again, batch_size=6)))  # 18 rows are left of the step
    assert found["position"].tolist() == list(range(30, 36))


@pytest.mark.needs_torch
@pytest.mark.skipif(
    find_spec("torchdata") is None, reason="torchdata is not installed: pip install 'mixture-lock[torch]'"
)
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
@FEW_CORES
@pytest.mark.parametrize("formatted", [True, False])
def test_a_workers_own_state_resumes_with_as_many_workers_and_is_refused_with_others(
    opener: partial, formatted: bool
) -> None:
    """Saved by two workers that had begun at a state without workers, at a step that was not the second worker's."""
    from datasets import IterableDataset
    from torch.utils.data import DataLoader
    from torchdata.stateful_dataloader import StatefulDataLoader

    def dataset(state: dict | None) -> IterableDataset:
        rows = iterable_dataset(opener)
        rows = rows.with_format("torch") if formatted else rows
        if state is not None:
            rows.load_state_dict(state)
        return rows

    plain = dataset(None)
    for _ in islice(plain, 24):
        pass
    loader = StatefulDataLoader(dataset(plain.state_dict()), batch_size=24, num_workers=2)
    steps = [int(batch["step"][0]) for batch in islice(loader, 3)]
    assert steps == [1, 2, 3]
    state = json.loads(json.dumps(loader.state_dict()))
    again = StatefulDataLoader(dataset(None), batch_size=24, num_workers=2)
    again.load_state_dict(state)
    assert [int(batch["step"][0]) for batch in islice(again, 5)] == [4, 5, 6, 7, 8]
    for worker in state["_snapshot"]["_worker_snapshots"].values():
        own = worker["fetcher_state"]["dataset_iter_state"] or worker["dataset_state"]
        for workers in (0, 2, 3):
            with pytest.raises((StreamError, RuntimeError), match="the state is of worker"):
                list(islice(DataLoader(dataset(own), batch_size=24, num_workers=workers), 2))


def test_a_state_that_does_not_say_of_which_worker_it_is_is_refused(opener: partial) -> None:
    """As an earlier version saved it: a second worker would have read the first one's rows again."""
    for formatted in (False, True):
        dataset = iterable_dataset(opener)
        rows = dataset.with_format("numpy") if formatted else dataset
        for _ in islice(rows, 24):
            pass
        state = json.loads(json.dumps(rows.state_dict()))
        again = iterable_dataset(opener)
        again = again.with_format("numpy") if formatted else again
        again.load_state_dict(state)
        assert next(iter(again))["position"] == 24
        _first_version(state)
        again.load_state_dict(state)
        with pytest.raises(StreamError, match="does not say of which worker") as refused:
            next(iter(again))
        assert refused.value.code == "state-invalid"


def _first_version(state: dict) -> None:
    """Make a state, inside others', one of the first version."""
    for value in state.values():
        if isinstance(value, dict):
            _first_version(value)
    if state.pop("workers", None):
        del state["worker"]
        state["type"] = "RankRows"
