"""Batches in torch's loaders: the same for any number of workers, states that resume anywhere, tensors as asked for."""

from __future__ import annotations

import json
import pickle
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import with_masks

from mixture.adapters.columns import Column, Columns
from mixture.data.store import Store
from mixture.errors import MixtureError, StreamError
from mixture.lock import Lock, write_lock
from mixture.lock.lock import Mask
from mixture.stream import open_stream
from mixture.testing import check_ranks, check_resume, difference

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(
        find_spec("torch") is None or find_spec("torchdata") is None,
        reason="torch is not installed: pip install 'mixture-lock[torch]'",
    ),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # this machine has fewer cores than workers
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata 0.11 calls it
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),  # forking, Python 3.12
]

STEPS = 17


def same(expected: list, found: list) -> bool:
    return len(expected) == len(found) and all(difference(a, b) is None for a, b in zip(expected, found, strict=True))


def test_any_number_of_workers_gives_the_batches_of_none_in_order(opener: partial, lock: Lock, store: Store) -> None:
    """20 workers are more than the run has steps."""
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    expected = list(MixtureBatches(opener))
    for batch, plain in zip(expected, open_stream(lock, store, next_token=True), strict=True):
        assert batch["step"] == plain.step
        assert np.array_equal(batch["input_ids"], plain.input_ids[:, :-1])
        assert np.array_equal(batch["labels"], plain.input_ids[:, 1:])
        assert np.array_equal(batch["domain"], plain.domain)
    for workers in (0, 1, 2, 7, 20):
        assert same(expected, list(MixtureLoader(MixtureBatches(opener), num_workers=workers)))
    for steps_ahead in (0, 1, 30):
        assert same(expected, list(MixtureBatches(opener, steps_ahead=steps_ahead)))


def test_map_style_is_the_same_at_any_step(opener: partial) -> None:
    from torch.utils.data import DataLoader

    from mixture.adapters.torch import MixtureBatches, MixtureSteps

    expected = list(MixtureBatches(opener, rank=1, world_size=2))
    dataset = MixtureSteps(opener, rank=1, world_size=2)
    assert len(dataset) == STEPS
    assert same(expected[5:], list(DataLoader(dataset, batch_size=None, sampler=range(5, STEPS), num_workers=2)))
    assert difference(expected[3], dataset[3]) is None
    assert difference(expected[-1], dataset[-1]) is None
    assert dataset.state_at(4) == MixtureBatches(opener).state_at(4)
    with pytest.raises(IndexError):
        dataset[STEPS]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_resumes_at_every_step_though_workers_have_read_ahead(opener: partial, workers: int) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    steps = None if workers == 0 else 4
    checked = check_resume(lambda: MixtureLoader(MixtureBatches(opener), num_workers=workers), steps=steps)
    assert checked == (STEPS if steps is None else steps) + 1


def test_a_state_resumes_with_other_workers_and_ranks(opener: partial) -> None:
    """One rank and two workers, then four ranks with none, then two with three."""
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    whole = list(MixtureBatches(opener))
    loader = MixtureLoader(MixtureBatches(opener), num_workers=2)
    assert same(whole[:5], list(islice(loader, 5)))
    state = json.loads(json.dumps(loader.state_dict()))
    assert state == MixtureBatches(opener).state_at(5)
    for world_size, workers, until in ((4, 0, 11), (2, 3, STEPS)):
        states = []
        for rank in range(world_size):
            loader = MixtureLoader(MixtureBatches(opener, rank=rank, world_size=world_size), num_workers=workers)
            loader.load_state_dict(state)
            found = list(islice(loader, until - state["step"]))
            for batch in found:
                rows = len(whole[batch["step"]]["position"]) // world_size
                part = slice(rank * rows, (rank + 1) * rows)
                assert np.array_equal(batch["input_ids"], whole[batch["step"]]["input_ids"][part])
            assert [batch["step"] for batch in found] == list(range(state["step"], until))
            states.append(loader.state_dict())
        assert all(one == states[0] for one in states)
        state = states[0]


def test_ranks_and_replicas_share_every_step(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches

    assert check_ranks(lambda rank, world: MixtureBatches(opener, rank=rank, world_size=world), [1, 2, 8]) == STEPS

    def second_replica(rank: int, world: int) -> MixtureBatches:
        return MixtureBatches(opener, rank=2 * rank + 1, world_size=2 * world, replicas=2)

    assert check_ranks(second_replica, [4]) == STEPS


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("every", [1, 3])
def test_torchdatas_loader_resumes_by_its_state_and_by_the_streams(opener: partial, workers: int, every: int) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    from mixture.adapters.torch import MixtureBatches, MixtureLoader, stream_state

    def loader(dataset: MixtureBatches) -> StatefulDataLoader:
        return StatefulDataLoader(dataset, batch_size=None, num_workers=workers, snapshot_every_n_steps=every)

    expected = list(MixtureBatches(opener))
    for taken in (0, 1, 7):
        first = loader(MixtureBatches(opener))
        batches = iter(first)
        assert same(expected[:taken], list(islice(batches, taken)))
        state = json.loads(json.dumps(first.state_dict()))
        again = loader(MixtureBatches(opener))
        again.load_state_dict(state)
        assert same(expected[taken:], list(again))
        plain = stream_state(state, MixtureBatches(opener))
        assert plain == MixtureBatches(opener).state_at(taken)
        dataset = MixtureBatches(opener)
        dataset.load_state_dict(plain)
        assert same(expected[taken:], list(MixtureLoader(dataset, num_workers=1)))


def test_a_workers_own_state_is_refused_elsewhere_with_the_way_out(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches, stream_state

    own = {"worker": 1, "workers": 2, "next_step": 5, "stream": MixtureBatches(opener).state_at(5)}
    with pytest.raises(StreamError, match="stream_state") as caught:
        MixtureBatches(opener).load_state_dict(own)
    assert caught.value.code == "workers-differ"
    for state in ({}, {"_snapshot": {}}, {"dataset_state": None, "_snapshot": 3}):
        with pytest.raises(StreamError) as caught:
            stream_state(state, MixtureBatches(opener))
        assert caught.value.code == "state-invalid"


def test_a_state_is_refused_after_iteration_began_and_from_another_history(opener: partial, tmp_path: Path) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    dataset = MixtureBatches(opener)
    state = dataset.state_at(3)
    batches = iter(dataset)
    next(batches)
    with pytest.raises(StreamError) as caught:
        dataset.load_state_dict(state)
    assert caught.value.code == "stream-started"
    del batches
    with pytest.raises(StreamError) as caught:  # though nothing iterates any more, as streams and loaders do
        dataset.load_state_dict(state)
    assert caught.value.code == "stream-started"
    dataset = MixtureBatches(opener)
    batches = iter(dataset)  # has not begun
    dataset.load_state_dict(state)
    assert next(batches)["step"] == 3
    assert dataset.state_dict() == dataset.state_at(4)
    loader = MixtureLoader(MixtureBatches(opener), num_workers=1)
    next(iter(loader))
    with pytest.raises(StreamError) as caught:
        loader.load_state_dict(state)
    assert caught.value.code == "stream-started"
    fresh = MixtureBatches(opener)
    with pytest.raises(StreamError) as caught:
        fresh.load_state_dict(state | {"history": "0" * 64})
    assert caught.value.code == "history-differs"
    assert next(iter(fresh))["step"] == 0  # as before


def test_what_can_not_be_opened_is_refused_where_the_dataset_is_made(opener: partial, tmp_path: Path) -> None:
    from mixture.adapters.torch import MixtureBatches

    for arguments, code in (
        ({"world_size": 5}, "batch-not-divisible"),
        ({"rank": 3, "world_size": 2}, "rank-invalid"),
        ({"world_size": 4, "replicas": 3}, "replicas-invalid"),
        ({"columns": Columns(dtype="uint8")}, "dtype-unfit"),
        ({"columns": Columns(cp_size=5)}, "length-not-divisible"),
    ):
        with pytest.raises(MixtureError) as caught:
            MixtureBatches(opener, **arguments)
        assert caught.value.code == code
    with pytest.raises(StreamError):
        Columns(cp_rank=2, cp_size=2)
    with pytest.raises(StreamError):
        Columns(("tokens",))


def test_columns_may_be_named_by_plain_texts(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches

    names = ("cu_seqlens", "input_ids", "document_ids")
    (plain, named) = (
        next(iter(MixtureBatches(opener, columns=Columns(one))))  # type: ignore[arg-type]
        for one in (names, tuple(map(Column, names)))
    )
    assert plain.keys() == named.keys()
    assert plain["cu_seqlens"].tolist() == named["cu_seqlens"].tolist()


@pytest.mark.parametrize("state", [None, [], {}, {"next_step": 3}, {"step": "3"}])
def test_what_is_no_state_is_refused(opener: partial, state: object) -> None:
    from mixture.adapters.torch import MixtureBatches

    with pytest.raises(StreamError) as refused:
        MixtureBatches(opener).load_state_dict(state)  # type: ignore[arg-type]
    assert refused.value.code == "state-invalid"


def test_a_worker_that_finds_another_lock_refuses_it(opener: partial, lock: Lock, store: Store, tmp_path: Path) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    path = tmp_path / "mixture.lock.json"
    write_lock(lock, path)
    dataset = MixtureBatches(partial(open_stream, str(path), str(store.path)))
    path.unlink()
    write_lock(with_masks(lock, Mask(3, "web", 0, 10)), path)
    with pytest.raises(RuntimeError, match="StreamError: the lock is"):
        list(MixtureLoader(dataset, num_workers=1))


def test_a_dataset_goes_to_another_process_without_what_it_has_open(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches

    dataset = MixtureBatches(opener, rank=1, world_size=2)
    dataset.load_state_dict(dataset.state_at(4))
    batches = iter(dataset)
    next(batches)
    there = pickle.loads(pickle.dumps(dataset))
    assert same(list(there), list(MixtureBatches(opener, rank=1, world_size=2, first_step=4)))


ALL = tuple(Column)


def test_columns_are_tensors_of_their_types_and_the_shapes_that_losses_and_attention_take(
    opener: partial, lock: Lock, store: Store
) -> None:
    import torch

    from mixture.adapters.torch import MixtureBatches

    dataset = MixtureBatches(opener, columns=Columns(ALL, dtype="int32", across_documents=False))
    plain = open_stream(lock, store, next_token=True, documents=True)
    for found, batch in zip(dataset, plain, strict=True):
        n, length = batch.position.size, batch.length
        bounds, longest = batch.cu_seqlens()
        assert found.keys() == {"step", "max_seqlen", *ALL}
        assert {name: value.dtype for name, value in found.items() if isinstance(value, torch.Tensor)} == {
            "input_ids": torch.int32, "labels": torch.int64, "loss_mask": torch.bool, "position_ids": torch.int64,
            "document_ids": torch.int32, "cu_seqlens": torch.int32, "domain": torch.int32, "position": torch.int64,
            "epoch": torch.int64, "first_token": torch.int64,
        }  # fmt: skip
        for name in ("input_ids", "labels", "loss_mask", "position_ids", "document_ids"):
            assert found[name].shape == (n, length)
            assert found[name].is_contiguous()
        taken = batch.loss_mask(across_documents=False)
        assert not taken.all()
        assert np.array_equal(found["loss_mask"], taken)
        assert np.array_equal(found["labels"], np.where(taken, batch.input_ids[:, 1:].astype(np.int64), -100))
        assert np.array_equal(found["position_ids"], batch.position_ids())
        assert np.array_equal(found["document_ids"], batch.document_ids())
        assert (found["cu_seqlens"].tolist(), found["max_seqlen"]) == (bounds.tolist(), longest)


def test_parts_of_context_parallelism_are_those_of_whole_rows(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches

    along = (Column.INPUT_IDS, Column.LABELS, Column.LOSS_MASK, Column.POSITION_IDS, Column.DOCUMENT_IDS)
    names = (*along, Column.CU_SEQLENS, Column.POSITION)
    whole = list(MixtureBatches(opener, columns=Columns(names)))
    parts = [
        list(MixtureBatches(opener, rank=r, world_size=4, replicas=4, columns=Columns(names, cp_rank=r, cp_size=4)))
        for r in range(4)
    ]
    for step, batch in enumerate(whole):
        for name in along:
            assert np.array_equal(np.concatenate([part[step][name] for part in parts], axis=1), batch[name])
        for name in ("cu_seqlens", "position"):
            assert all(np.array_equal(part[step][name], batch[name]) for part in parts)


@pytest.mark.parametrize("across", [True, False])
def test_labels_that_are_not_shifted_are_the_tokens_themselves_and_give_a_shifting_model_the_same_losses(
    opener: partial, across: bool
) -> None:
    from mixture.adapters.torch import MixtureBatches

    names = (Column.INPUT_IDS, Column.LABELS, Column.LOSS_MASK)
    columns = [Columns(names, across_documents=across, shifted=shifted) for shifted in (True, False)]
    for ours, theirs in zip(*(MixtureBatches(opener, columns=each) for each in columns), strict=True):
        labels, ids = np.asarray(theirs["labels"]), np.asarray(theirs["input_ids"])
        taken = np.asarray(theirs["loss_mask"])
        assert np.array_equal(ids, ours["input_ids"])
        assert (labels[:, 0] == -100).all()
        assert np.array_equal(labels, np.where(taken, ids, -100))
        assert np.array_equal(labels[:, 1:], np.asarray(ours["labels"])[:, :-1])  # what a model makes of them
        assert taken[:, 1:].all() == across


def test_labels_that_a_model_shifts_are_refused_in_parts_of_rows(opener: partial, lock: Lock, store: Store) -> None:
    with pytest.raises(StreamError) as refused:
        Columns(cp_size=2, shifted=False)
    assert refused.value.code == "columns-conflict"
    assert Columns((Column.INPUT_IDS,), cp_size=2, shifted=False).next_token is False
    # What was read with the token after each row serves, too.
    columns = Columns((Column.INPUT_IDS, Column.LABELS), across_documents=False, shifted=False)
    masked = with_masks(lock, Mask(2, "code", 0, 40))
    for batch, more in zip(
        open_stream(masked, store, documents=True), open_stream(masked, store, documents=True, next_token=True),
        strict=True,
    ):  # fmt: skip
        assert difference(columns.of(batch), columns.of(more)) is None


def test_labels_leave_out_what_is_taken_down(lock: Lock, store: Store) -> None:
    from mixture.adapters.torch import MixtureBatches

    masked = with_masks(lock, Mask(2, "code", 0, store.domains["code"].tokens))
    dataset = MixtureBatches(partial(open_stream, masked, store))
    code = dataset.domains.index("code")
    for batch in dataset:
        is_code = np.asarray(batch["domain"]) == code
        assert is_code.any()
        left_out = np.asarray(batch["labels"]) == -100
        assert not left_out[~is_code].any()
        assert left_out[is_code].all() == (batch["step"] >= 2)
