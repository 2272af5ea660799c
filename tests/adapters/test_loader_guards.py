"""Loaders that would give a process other rows than its own of each step are refused before they give any."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import pytest

from mixture.errors import StreamError
from mixture.testing import difference

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


def refused(read: Callable[[], Iterable[Any]], code: str) -> None:
    """Reading raises the code's error, from a worker in torch's wrapping, before the second batch."""
    with pytest.raises((StreamError, RuntimeError)) as caught:
        list(islice(read(), 2))
    assert getattr(caught.value, "code", code) == code
    assert "StreamError" in repr(caught.value)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["DataLoader", "StatefulDataLoader"])
def test_a_loader_that_makes_one_batch_of_several_steps_is_refused(opener: partial, kind: str, workers: int) -> None:
    import torch.utils.data
    import torchdata.stateful_dataloader

    from mixture.adapters.torch import MixtureBatches, MixtureSteps

    loader = getattr(torch.utils.data, kind, None) or getattr(torchdata.stateful_dataloader, kind)
    for dataset in (MixtureBatches(opener), MixtureSteps(opener)):
        for options in ({}, {"batch_size": 8}, {"batch_size": 8, "drop_last": True}):
            refused(lambda: loader(dataset, num_workers=workers, **options), "steps-batched")  # noqa: B023
        assert len(list(loader(dataset, batch_size=None, num_workers=workers))) == STEPS


class _Steps:
    """A sampler as trainers have them: it can be read again, and has a length only when it is asked."""

    def __init__(self, steps: list[int]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[int]:
        yield from self._steps


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_that_shuffles_or_splits_steps_is_refused(opener: partial, workers: int) -> None:
    import torch
    from torch.utils.data import DataLoader, RandomSampler
    from torch.utils.data.distributed import DistributedSampler

    from mixture.adapters.torch import MixtureSteps

    steps = MixtureSteps(opener, rank=0, world_size=2)
    for sampler in (
        lambda: RandomSampler(steps),
        lambda: DistributedSampler(steps, 2, 0),
        lambda: DistributedSampler(steps, 2, 1, shuffle=False),
        lambda: [9, 2, 5, 7, 0, 3],  # as SubsetRandomSampler may give it
        lambda: range(0, STEPS, 2),
        lambda: [3, 3, 4, 4],
        lambda: [0, 5, 2, 7, 4, 9],  # right to each of two workers
        lambda: torch.tensor([6, 1, 8, 3, 10, 5]),
        lambda: _Steps([0, 3, 2, 5, 4, 7]),
    ):
        with pytest.raises((StreamError, RuntimeError), match=r"steps-reordered|sampler"):
            list(islice(DataLoader(steps, batch_size=None, num_workers=workers, sampler=sampler()), 4))
    refused(lambda: DataLoader(steps, batch_size=None, num_workers=workers, shuffle=True), "steps-reordered")
    for start in (0, 5, STEPS - 1):
        for sampler in (lambda s: s, lambda s: torch.tensor(list(s)), lambda s: _Steps(list(s)), iter):
            loader = DataLoader(steps, batch_size=None, num_workers=workers, sampler=sampler(range(start, len(steps))))
            for _ in range(1 if sampler is iter else 2):
                assert [batch["step"] for batch in loader] == list(range(start, STEPS))
    assert [steps[step]["step"] for step in (7, 3, -1)] == [7, 3, STEPS - 1]  # by index any order is right


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
def test_a_second_for_continues_where_the_first_stopped_and_after_the_end_says_how_to_begin_again(
    opener: partial, options: dict[str, Any]
) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    whole = list(MixtureBatches(opener, first_step=2))
    loader = MixtureLoader(MixtureBatches(opener, first_step=2), **options)
    found = []
    for taken in (0, 1, 4, 0, 3, STEPS):
        found += islice(loader, taken)
        assert loader.state_dict() == MixtureBatches(opener).state_at(2 + len(found))
    assert len(whole) == len(found)
    assert all(difference(a, b) is None for a, b in zip(whole, found, strict=True))
    with pytest.raises(StreamError, match="new MixtureLoader") as ended:
        iter(loader)
    assert ended.value.code == "run-ended"


def test_of_two_iterations_of_a_loader_only_the_later_one_goes_on(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    loader = MixtureLoader(MixtureBatches(opener))
    first = iter(loader)
    next(first)
    second = iter(loader)
    assert next(second)["step"] == 1
    with pytest.raises(StreamError) as stale:
        next(first)
    assert stale.value.code == "stream-started"
    assert next(second)["step"] == 2


def test_loaders_and_datasets_go_to_other_processes_and_copies_as_they_were_made(opener: partial) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader, MixtureSteps

    batches, steps = MixtureBatches(opener, rank=1, world_size=2, first_step=3), MixtureSteps(opener)
    loader = MixtureLoader(MixtureBatches(opener, rank=1, world_size=2, first_step=3))
    next(iter(batches))
    for duplicate in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        assert [batch["step"] for batch in duplicate(batches)] == list(range(3, STEPS))
        assert [batch["step"] for batch in duplicate(loader)] == list(range(3, STEPS))
        assert difference(duplicate(steps)[4], steps[4]) is None


def test_processes_that_would_all_read_the_same_rows_are_refused(opener: partial) -> None:
    """With torch's own process group that needs no other process."""
    import torch.distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils.data import DataLoader

    from mixture.adapters.torch import MixtureBatches, MixtureLoader, MixtureSteps

    unranked = MixtureLoader(MixtureBatches(opener))
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        refused(lambda: unranked, "ranks-differ")
        refused(lambda: MixtureBatches(opener), "ranks-differ")
        refused(lambda: DataLoader(MixtureSteps(opener), batch_size=None), "ranks-differ")
        refused(lambda: MixtureBatches(opener, rank=3, world_size=8), "ranks-differ")  # ranks 4 to 7 are nobody's
        for right in ({"rank": 3, "world_size": 4}, {"rank": 1, "world_size": 2}, {"rank": 0, "world_size": 1},
                      {"rank": 3, "world_size": 4, "replicas": 4}):  # fmt: skip
            assert next(iter(MixtureBatches(opener, **right)))["step"] == 0
            assert next(iter(DataLoader(MixtureSteps(opener, **right), batch_size=None)))["step"] == 0
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("kind", ["MixtureBatches", "MixtureLoader", "MixtureSteps", "DataLoader", "iterable_dataset"])
def test_what_a_training_loop_deletes_is_gone_though_the_stack_was_read(opener: partial, kind: str) -> None:
    from torch.utils.data import DataLoader

    from mixture.adapters.datasets import iterable_dataset
    from mixture.adapters.torch import MixtureBatches, MixtureLoader, MixtureSteps

    class Activations:
        """Of a kind that weakref takes."""

    items = {
        "MixtureBatches": lambda: MixtureBatches(opener),
        "MixtureLoader": lambda: MixtureLoader(MixtureBatches(opener)),
        "MixtureSteps": lambda: MixtureSteps(opener),
        "DataLoader": lambda: DataLoader(MixtureSteps(opener), batch_size=None),
        "iterable_dataset": lambda: iterable_dataset(opener),
    }[kind]()
    activations = Activations()
    gone = weakref.ref(activations)
    for batch in islice(items if kind != "MixtureSteps" else [items[0]], 1):
        assert batch["step"] == 0
        del activations
        gc.collect()
        assert gone() is None
