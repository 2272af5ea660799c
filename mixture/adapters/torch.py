"""Batches as torch tensors, in DataLoader and in torchdata's StatefulDataLoader.

Fastest is no worker and a thread that reads ahead, which is the default: reading a batch costs less than sending it
from another process. Of 64 rows of 4,096 tokens a step, on two busy cores, no workers give 150 million tokens a second,
one or two workers 50. A trainer that works 20 ms a step waits 0.3 ms for a batch that was read ahead, 3 for one that
was not, and 2 to 4 for one of workers. input_ids alone as int32, which need no conversion where the store has uint32,
come 1.4 times as fast as input_ids and labels in int64 (`python -m benchmarks.loaders`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from mixture.adapters.columns import DEFAULT, Columns, Values
from mixture.adapters.sources import OpenStream, RankReader, StepSource
from mixture.errors import StreamError
from mixture.stream.ahead import Ahead

Tensors = dict[str, torch.Tensor | int]


def tensors(values: Values) -> Tensors:
    """Arrays as tensors of the same memory."""
    return {k: v if isinstance(v, int) else torch.from_numpy(v) for k, v in values.items()}


class MixtureBatches(IterableDataset[Tensors]):
    """One rank's batches in order, a step each: dicts of tensors, with the integer `step`.

    rank, world_size, replicas: of all processes, of which each `replicas` in a row read the same rows, as tensor,
                 context and pipeline parallelism want it
    first_step:  where to begin
    columns:     what a batch has
    steps_ahead: steps that a thread reads ahead where there are no workers, in memory; 0: none

    In a DataLoader it takes `batch_size=None`, as it yields batches; `MixtureLoader` sets that. With W workers, worker
    w reads every W-th step from the w-th on, and batches come in the order and with the content of no workers at all.
    An error of a worker comes as torch wraps it: a RuntimeError whose text has the error and its place.

    A run is read once: a second iteration begins again where the dataset does. `load_state_dict` says where that is.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        *,
        rank: int = 0,
        world_size: int = 1,
        replicas: int = 1,
        first_step: int = 0,
        columns: Columns = DEFAULT,
        steps_ahead: int = 2,
    ) -> None:
        self._reader = RankReader(open_stream, rank, world_size, replicas, first_step, columns)
        self._steps_ahead = steps_ahead
        self._latest: weakref.ref[_Iteration] | None = None
        self._place: _Place | None = None
        self._worker_next: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_latest": None, "_place": None}

    def __len__(self) -> int:
        """Steps that are still to come where it begins."""
        return self._reader.steps - self._reader.first_step

    @property
    def domains(self) -> tuple[str, ...]:
        """Names that `domain` counts in."""
        return self._reader.stream.domains

    @property
    def first_step(self) -> int:
        """Where it begins."""
        return self._reader.first_step

    def __iter__(self) -> Iterator[Tensors]:
        worker, workers = _worker()
        start = self._reader.first_step + worker if self._worker_next is None else self._worker_next
        self._place = _Place(start)
        steps = range(start, self._reader.steps, workers)
        # Workers are ahead by DataLoader's own rule.
        steps_ahead = self._steps_ahead if get_worker_info() is None else 0
        iteration = _Iteration(self._reader, steps, steps_ahead, self._place)
        self._latest = weakref.ref(iteration)
        return iteration

    def state_at(self, step: int) -> dict[str, Any]:
        """The state behind step - 1, for who counts: `state_at(batch["step"] + 1)` when a step has been trained on.

        It is right however far workers have read ahead, small JSON, and loads with any number of workers and ranks.
        """
        return self._reader.state_at(step)

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration of this process stands: a stream's state; of a worker, with the worker's own next step.

        StatefulDataLoader asks its workers for it. It takes 3 ms for 200 domains: give a fast run
        `snapshot_every_n_steps`. In the main process of a loader with workers it is where the dataset begins.
        """
        worker, workers = _worker()
        if self._place is not None:
            step = self._place.next_step
        else:
            step = self._reader.first_step + worker if self._worker_next is None else self._worker_next
        state = self._reader.state_at(min(step, self._reader.steps))
        if get_worker_info() is None:
            return state
        return {"worker": worker, "workers": workers, "next_step": step, "stream": state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin where a state stands: a stream's, of whatever ranks and workers, or this worker's own.

        Raises StreamError: `stream-started` while an iteration of this process has begun and not ended,
        `workers-differ`, and what `Stream.load_state_dict` raises.
        """
        # A forked worker has what was running where it came from, and begins its own.
        if self._place is not None and get_worker_info() is None and self._is_running():
            raise _started("an iteration", self._place.next_step)
        self._latest = self._place = None
        if not isinstance(state, Mapping) or "next_step" not in state:
            self._reader.load(state)
            self._worker_next = None
            return
        if not {"worker", "workers", "stream"} <= state.keys():
            raise StreamError("this is neither a stream's state nor a worker's", code="state-invalid")
        found = (state["worker"], state["workers"])
        if get_worker_info() is None or found != _worker():
            raise StreamError(
                f"the state is of worker {found[0]} of {found[1]}",
                code="workers-differ",
                hint="load stream_state(loader.state_dict()) into the dataset instead: it fits any number of workers",
            )
        self._reader.load(state["stream"])
        self._worker_next = state["next_step"]

    def _is_running(self) -> bool:
        iteration = None if self._latest is None else self._latest()
        return iteration is not None and iteration.is_running


@dataclass(slots=True)
class _Place:
    """Where an iteration stands; the dataset keeps it when the iteration is gone."""

    next_step: int


class _Iteration(Iterator[Tensors]):
    """Steps of a range as tensors; one that failed is read again when it is asked for again."""

    def __init__(self, reader: RankReader, steps: range, steps_ahead: int, place: _Place) -> None:
        self._reader, self._steps, self._steps_ahead = reader, steps, steps_ahead
        self.place = place
        self.is_running = False
        self._items: Iterator[Tensors] | None = None

    def __next__(self) -> Tensors:
        self.is_running = True
        if self._items is None:
            left = range(self.place.next_step, self._steps.stop, self._steps.step)
            items = map(tensors, self._reader.read(left))
            self._items = Ahead(items, self._steps_ahead) if self._steps_ahead else items
        try:
            item = next(self._items)
        except StopIteration:
            self.is_running = False
            raise
        except BaseException:
            self._items = None
            raise
        self.place.next_step += self._steps.step
        return item


class MixtureSteps(Dataset[Tensors]):
    """One rank's batches by step, map-style: dataset[step] is what `MixtureBatches` yields there.

    For `DataLoader(dataset, batch_size=None, sampler=range(first_step, len(dataset)))`, with any number of workers; the
    arguments are those of `MixtureBatches`.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        *,
        rank: int = 0,
        world_size: int = 1,
        replicas: int = 1,
        columns: Columns = DEFAULT,
    ) -> None:
        self._source = StepSource(open_stream, rank=rank, world_size=world_size, replicas=replicas, columns=columns)

    def __len__(self) -> int:
        """Steps of the run."""
        return len(self._source)

    def __getitem__(self, step: int) -> Tensors:
        """The rank's rows of a step. Raises IndexError where there is none."""
        return tensors(self._source[step])

    def state_at(self, step: int) -> dict[str, Any]:
        """The state of a stream before a step, for checkpoints."""
        return self._source.state_at(step)


class MixtureLoader(DataLoader[Tensors]):
    """A DataLoader over `MixtureBatches` whose state is that of what was consumed: small JSON, fit for any workers.

    dataset, num_workers, and all else that DataLoader takes but batching, sampling and order.
    """

    def __init__(self, dataset: MixtureBatches, *, num_workers: int = 0, **options: Any) -> None:  # noqa: ANN401 (DataLoader's own)
        # Torch's own looks through each batch for what is no tensor yet.
        super().__init__(dataset, batch_size=None, num_workers=num_workers, **{"collate_fn": _as_it_is} | options)
        self._batches = dataset
        self._next_step: int | None = None

    def __iter__(self) -> Iterator[Tensors]:  # type: ignore[override]
        self._next_step = self._batches.first_step
        return map(self._counted, super().__iter__())  # a generator would hold a batch while it reads the next one

    def _counted(self, batch: Tensors) -> Tensors:
        self._next_step = int(batch["step"]) + 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The stream's state behind the last batch that was handed out."""
        return self._batches.state_at(self._batches.first_step if self._next_step is None else self._next_step)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin where a state stands; only before the first batch. Raises what `MixtureBatches` does."""
        if self._next_step is not None:
            raise _started("the loader", self._next_step)
        self._batches.load_state_dict(state)


def _as_it_is(batch: Tensors) -> Tensors:
    return batch


def stream_state(loader_state: Mapping[str, Any], dataset: MixtureBatches) -> dict[str, Any]:
    """The stream's state inside what a StatefulDataLoader over `MixtureBatches` saved, of any number of workers.

    StatefulDataLoader itself resumes with as many workers only. With another number load this into the dataset, and
    give the loader no state.

    dataset: one over the run that was saved, not begun; where the loader does not take a snapshot at each step, it is
             needed to count on from the last one, and stands there afterwards
    Raises StreamError, `state-invalid`, and what `load_state_dict` raises.
    """
    try:
        state: dict[str, Any]
        if "_snapshot" not in loader_state:
            state = loader_state["dataset_state"]
            return state
        snapshot, since = loader_state["_snapshot"], loader_state["_steps_since_snapshot"]
        workers = [worker["dataset_state"] for worker in snapshot["_worker_snapshots"].values()]
        state = min(workers, key=lambda worker: int(worker["next_step"]))["stream"]
        if not since:
            return state
        dataset.load_state_dict(state)  # it is of the dataset's run, or refused
        return dataset.state_at(state["step"] + since)
    except (KeyError, TypeError, ValueError) as error:
        raise StreamError(
            f"this is no state of a StatefulDataLoader over MixtureBatches: {error!r}", code="state-invalid"
        ) from error


def _started(what: str, step: int) -> StreamError:
    return StreamError(
        f"{what} has begun: it stands at step {step:,}",
        code="stream-started",
        hint="load the state before the first batch, into a dataset and a loader made anew",
        step=step,
    )


def _worker() -> tuple[int, int]:
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)
