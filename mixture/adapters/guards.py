"""Refusals of loaders that would batch, split or reorder a run again.

A loader does not tell a dataset how it is wrapped. Only the stack shows it, at the moment when reading begins: the
fetcher of torch's DataLoader, Accelerate's dispatcher, a dataset of `datasets` that was split by node. They are found
by the names of their classes, so that no library is imported for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from types import FrameType
from typing import TYPE_CHECKING, Any

from mixture.errors import StreamError

if TYPE_CHECKING:
    from mixture.adapters.rank_reader import RankReader

_DISPATCHER, _SHARD, _STEPPED = "DataLoaderDispatcher", "IterableDatasetShard", "StepExamplesIterable"
_SHUFFLERS = ("RandomSampler", "DistributedSampler")
_LIBRARIES = frozenset({
    "accelerate", "datasets", "grain", "lightning", "lightning_fabric", "pytorch_lightning", "torch", "torchdata",
    "transformers",
})  # fmt: skip
_OF_GRAIN = frozenset({"ShuffleMapDataset", "WindowShuffleMapDataset", "MixedMapDataset", "RepeatMapDataset"})
PAGE = "docs/loaders.md"


def readers() -> Iterator[tuple[FrameType, Any, frozenset[str]]]:
    """Whose methods are running, from the caller of the dataset's outwards: the frame, the object, its classes' names.

    For a check that a dataset's method calls. The object is None where the method is of no loader's library.
    """
    frame = sys._getframe(2).f_back
    while frame is not None:
        if "self" in frame.f_code.co_varnames or "self" in frame.f_code.co_freevars:
            owner = _owner(frame)
            yield frame, owner, frozenset(kind.__name__ for kind in type(owner).__mro__)
        frame = frame.f_back


def check_steps_reader(name: str) -> None:
    """Refuse what reads whole steps, and would make batches of them, or split them among processes again.

    name: of the dataset's class. Raises StreamError, `steps-batched`, `split-again`
    """
    for _, owner, kinds in readers():
        if "_IterableDatasetFetcher" in kinds and owner.auto_collation:
            raise steps_batched(name)
        if kinds & {_DISPATCHER, _SHARD}:
            raise StreamError(
                f"{_named(owner, kinds)} would split the batches of {name} among processes again",
                code="split-again",
                hint="prepare a MixtureLoader, which accelerate leaves as it is: MixtureLoader("
                f"{name}(…, rank=accelerator.process_index, world_size=accelerator.num_processes))",
            )


def steps_batched(name: str) -> StreamError:
    """The refusal of a DataLoader that makes one batch of several steps."""
    return StreamError(
        f"a DataLoader with a batch_size would make one batch of several steps: each item of {name} is a whole batch",
        code="steps-batched",
        hint=f"use batch_size=None; for the Trainer of transformers override get_train_dataloader, as {PAGE} shows",
    )


def check_sampler(name: str) -> None:
    """Refuse a sampler that shuffles or splits, when it or its loader uses a map-style dataset.

    Raises StreamError, `steps-reordered`
    """
    for _, owner, kinds in readers():
        sampler = getattr(owner, "_index_sampler", owner) if "_BaseDataLoaderIter" in kinds else owner
        if not {kind.__name__ for kind in type(sampler).__mro__}.isdisjoint(_SHUFFLERS):
            sampler_name = type(sampler).__name__
            raise StreamError(
                f"{sampler_name} would change the order of the steps of {name}, or split them among processes",
                code="steps-reordered",
                hint=f"use sampler=range(first_step, len(dataset)), and give rank and world_size to {name}; where a "
                "trainer brings its own sampler, use MixtureLoader (Lightning: or use_distributed_sampler=False)",
            )


def check_worker_sampler(name: str, workers: int) -> None:
    """Refuse a sampler whose first steps, one for each worker, do not follow each other.

    To its worker each of them is only a first step, and then `workers` steps lie between two. The sampler is seen where
    the worker was forked; an iterator, which can be read once, is not looked at. Raises StreamError, `steps-reordered`
    """
    for _, owner, kinds in readers():
        sampler = getattr(owner, "_index_sampler", None) if "_BaseDataLoaderIter" in kinds else None
        if sampler is None:
            continue
        steps = iter(sampler)
        if steps is sampler:
            return
        first = [int(step) for step in islice(steps, workers)]
        for before, after in pairwise(first):
            if after != before + 1:
                raise sampler_reorders(name, before, after, workers)
        return


def sampler_reorders(name: str, before: int, after: int, workers: int) -> StreamError:
    """The refusal of a sampler that gives a step after another that is not the one before it."""
    return StreamError(
        f"the loader's sampler asks {name} for step {after:,} after step {before:,}"
        + (f" with {workers} workers" if workers > 1 else ""),
        code="steps-reordered",
        hint="use sampler=range(first_step, len(dataset)); where a trainer brings its own sampler, use "
        "MixtureLoader (Lightning: or use_distributed_sampler=False)",
    )


def map_fetcher() -> object | None:
    """What of torch's DataLoader asked a map-style dataset for an item; None where something else did."""
    owner = _owner(sys._getframe(2))
    return owner if type(owner).__name__ == "_MapDatasetFetcher" else None


def check_grain(name: str, *, is_step: bool) -> None:
    """Refuse what of Grain reads a source in another order, again from its beginning, or several steps as one.

    Raises StreamError, `steps-reordered`, `steps-batched`
    """
    for _, owner, kinds in readers():
        if not type(owner).__module__.startswith("grain."):
            return
        if kinds & _OF_GRAIN:
            raise StreamError(
                f"{type(owner).__name__} would read {name} in another order than the lock's, or again",
                code="steps-reordered",
                hint="do not shuffle, mix or repeat it; a longer run is a longer lock",
            )
        if is_step and "BatchMapDataset" in kinds:
            raise StreamError(
                f"each item of {name} is a whole batch, and Grain would make one batch of several steps",
                code="steps-batched",
                hint="leave batch() out, or use sharded_sequences",
            )


def check_rows_reader(reader: RankReader, rows: int | None = None) -> None:
    """Refuse what would shuffle a rank's rows, split them among processes again, or batch them across steps.

    rows: left of the step that is read next; None: reading begins
    Raises StreamError, `steps-reordered`, `split-again`, `batch-differs`
    """
    batch, processes, whole = None, 1, None
    for frame, owner, kinds in readers():
        if "BufferShuffledExamplesIterable" in kinds:
            raise shuffled()
        if _STEPPED in kinds or ("IterableDataset" in kinds and getattr(owner, "_distributed", None)):
            raise split_by_others("split_dataset_by_node")
        if kinds & {_DISPATCHER, _SHARD}:
            if reader.world_size > 1:
                raise StreamError(
                    f"{_named(owner, kinds)} would split the rows of rank {reader.rank} of {reader.world_size} among "
                    "processes again",
                    code="split-again",
                    hint="give accelerate the rows of all ranks, iterable_dataset(…) without rank and world_size, or "
                    f"prepare a MixtureLoader of the rank ({PAGE})",
                )
            if _SHARD in kinds:
                whole = owner.batch_size if owner.split_batches else owner.batch_size * owner.num_processes
            elif not owner.split_batches:
                processes = owner.state.num_processes
        if "_IterableDatasetFetcher" in kinds and owner.auto_collation:
            batch = len(frame.f_locals.get("possibly_batched_index", ())) or None
    if rows is None or (batch is None and whole is None):
        return
    taken = whole or (batch or 1) * processes
    workers = num_workers()
    # Each of several workers reads other steps: a batch of one is a whole step, or rows of two steps alternate.
    if rows % taken or (workers > 1 and (rows != taken or processes > 1)):
        message = f"the loader takes {taken:,} rows at a time" + (f" from {workers} workers" if workers > 1 else "")
        hint = f"over all processes it takes {rows:,}" if workers > 1 else f"over all processes it divides {rows:,}"
        raise StreamError(
            f"{message}, and a step has {rows:,} left: batches would mix steps",
            code="batch-differs",
            hint=f"choose the loader's batch size so that {hint}" + (", or no workers" if workers > 1 else ""),
        )


def shuffled() -> StreamError:
    """The refusal of another order, and of a second epoch, for which `datasets` shuffles, too."""
    return StreamError(
        "the run is read once, in the order of its lock: shuffling, or a second epoch, would change it",
        code="steps-reordered",
        hint="do not shuffle; end training with the run, at max_steps; a longer run is a longer lock",
    )


def split_by_others(what: str) -> StreamError:
    """The refusal of splits by shards or by node, which know nothing of steps."""
    return StreamError(
        f"{what} would not give each process its part of each step",
        code="split-again",
        hint="give rank and world_size to iterable_dataset instead",
    )


def num_workers() -> int:
    """Worker processes of the DataLoader that this process is one of; 1 where it is none."""
    if "torch" not in sys.modules:
        return 1
    from torch.utils.data import get_worker_info

    info = get_worker_info()
    return 1 if info is None else int(info.num_workers)


def _owner(frame: FrameType) -> Any:  # noqa: ANN401 (any library's)
    """The object whose method a frame runs; None where it runs none, or one of no loader's library.

    In Python 3.11 a frame's `f_locals` keep the objects of its variables alive until they are read again. A training
    loop's are the user's to delete, so its frame is not read.
    """
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return frame.f_locals.get("self") if package in _LIBRARIES else None


def _named(owner: object, kinds: frozenset[str]) -> str:
    name = next(kind for kind in (_DISPATCHER, _SHARD) if kind in kinds)
    return f"{type(owner).__module__.partition('.')[0]}'s {name}"
