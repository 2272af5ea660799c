"""Batches as torch tensors, in DataLoader and in torchdata's StatefulDataLoader.

Fastest is no worker and a thread that reads ahead, which is the default: reading a batch costs less than sending it
from another process. Of 64 rows of 4,096 tokens a step, on two busy cores, no workers give 150 million tokens a second,
one or two workers 50. A trainer that works 20 ms a step waits 0.3 ms for a batch that was read ahead, 3 for one that
was not, and 2 to 4 for one of workers. input_ids alone as int32, which need no conversion where the store has uint32,
come 1.4 times as fast as input_ids and labels in int64 (`python -m benchmarks.loaders`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from mixture.adapters.columns import DEFAULT, Columns, Values
from mixture.adapters.guards import (
    check_sampler,
    check_steps_reader,
    check_worker_sampler,
    map_fetcher,
    sampler_reorders,
    steps_batched,
)
from mixture.adapters.rank_reader import OpenStream, RankReader, StepSource
from mixture.errors import StreamError
from mixture.stream import Ahead

Tensors = dict[str, torch.Tensor | int]


def tensors(values: Values) -> Tensors:
    """Arrays as tensors of the same memory."""
    return {k: v if isinstance(v, int) else torch.from_numpy(v) for k, v in values.items()}


class MixtureBatches(IterableDataset[Tensors]):
    """One rank's batches in order, a step each: dicts of tensors, with the integer `step`.

    rank, world_size, replicas: of all processes, of which each `replicas` in a row read the same rows, as tensor,
                 context and pipeline parallelism want it. Default: one process that reads all rows, which is refused
                 where torch.distributed runs more than one
    first_step:  where to begin
    columns:     what a batch has
    steps_ahead: steps that a thread reads ahead where there are no workers, in memory; 0: none

    In a DataLoader it takes `batch_size=None`, as it yields batches; `MixtureLoader` sets that. With W workers, worker
    w reads every W-th step from the w-th on, and batches come in the order and with the content of no workers at all.
    An error of a worker comes as torch wraps it: a RuntimeError whose text has the error and its place.

    A second iteration begins again where the dataset does. `load_state_dict` sets that, before the first batch.

    Iteration raises StreamError `steps-batched`, `split-again`, `ranks-differ` where a loader would give a process
    other rows than its own of each step.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        replicas: int = 1,
        first_step: int = 0,
        columns: Columns = DEFAULT,
        steps_ahead: int = 2,
    ) -> None:
        self.processes = _Processes(rank, world_size)
        self._reader = RankReader(open_stream, *self.processes.ranks, replicas, first_step, columns)
        self._steps_ahead = steps_ahead
        self._start: int | None = None
        self._place: _Place | None = None
        self._worker_next: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_place": None}

    def __len__(self) -> int:
        """Steps from where it begins to the end of the run."""
        return self._reader.steps - self._reader.first_step

    @property
    def domains(self) -> tuple[str, ...]:
        """Names that `domain` counts in."""
        return self._reader.stream.domains

    @property
    def first_step(self) -> int:
        """Where it begins."""
        return self._reader.first_step

    @property
    def steps(self) -> int:
        """Where the run ends."""
        return self._reader.steps

    def __iter__(self) -> Iterator[Tensors]:
        check_steps_reader("MixtureBatches")
        self.processes.check()
        if get_worker_info() is not None:
            self._place = None  # of the process that this worker was forked from
        return _Iteration(self)

    def state_at(self, step: int) -> dict[str, Any]:
        """The state behind step - 1, for who counts: `state_at(batch["step"] + 1)` when a step has been trained on.

        It is right however far workers have read ahead, small JSON, and loads with any number of workers and ranks.
        """
        return self._reader.state_at(step)

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration of this process is: a stream's state; of a worker, with the worker's own next step.

        StatefulDataLoader asks its workers for it. It takes 3 ms for 200 domains: give a fast run
        `snapshot_every_n_steps`. In the main process of a loader with workers it is where the dataset begins.
        """
        worker, workers = _worker()
        step = self._begins_at() if self._place is None else self._place.next_step
        state = self._reader.state_at(min(step, self._reader.steps))
        if get_worker_info() is None:
            return state
        return {"worker": worker, "workers": workers, "next_step": step, "stream": state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin at a state: a stream's, of whatever ranks and workers, or this worker's own.

        Raises StreamError: `stream-started` after the first batch of this process, `workers-differ`, and what
        `Stream.load_state_dict` raises.
        """
        # A forked worker has the place of the process that it was forked from, and begins its own iteration.
        if self._place is not None and get_worker_info() is None:
            raise _started("the dataset", self._place.next_step)
        if not isinstance(state, Mapping) or "next_step" not in state:
            self._reader.load(state)
            self._place = self._start = self._worker_next = None
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
        self._place = self._start = None
        self._worker_next = state["next_step"]

    def resume_at(self, step: int) -> None:
        """Begin the next iteration at a step of the run; for `MixtureLoader`, which counts steps."""
        self._start = step

    def _begins_at(self) -> int:
        if self._worker_next is not None:
            return self._worker_next
        return (self._reader.first_step if self._start is None else self._start) + _worker()[0]

    def _begin(self) -> tuple[_Place, Callable[[], Iterator[Tensors]]]:
        """The place of an iteration whose first batch is requested, and what reads from there."""
        place = self._place = _Place(self._begins_at(), _worker()[1])
        # Workers are ahead by DataLoader's own rule.
        steps_ahead = self._steps_ahead if get_worker_info() is None else 0

        def read() -> Iterator[Tensors]:
            items = map(tensors, self._reader.read(range(place.next_step, self._reader.steps, place.stride)))
            return Ahead(items, steps_ahead) if steps_ahead else items

        return place, read


@dataclass(slots=True)
class _Place:
    """Where an iteration is, and how far apart its steps are; the dataset keeps it when the iteration is gone."""

    next_step: int
    stride: int


class _Iteration(Iterator[Tensors]):
    """A dataset's steps as tensors, from where it begins when the first is requested; one that failed is read again."""

    def __init__(self, dataset: MixtureBatches) -> None:
        self._dataset = dataset
        self._begun: tuple[_Place, Callable[[], Iterator[Tensors]]] | None = None
        self._items: Iterator[Tensors] | None = None

    def __next__(self) -> Tensors:
        if self._begun is None:
            self._begun = self._dataset._begin()
        place, read = self._begun
        if self._items is None:
            self._items = read()
        try:
            item = next(self._items)
        except StopIteration:
            raise
        except BaseException:
            self._items = None
            raise
        place.next_step += place.stride
        return item


@dataclass(frozen=True)
class _Processes:
    """The rank and world size that a dataset was given, compared with those of torch.distributed and accelerate."""

    rank: int | None
    world_size: int | None

    @property
    def ranks(self) -> tuple[int, int]:
        return (0 if self.rank is None else self.rank, 1 if self.world_size is None else self.world_size)

    def check(self) -> None:
        """Raise StreamError, `ranks-differ`, where processes would read rows of others, or leave some unread."""
        distributed = torch.distributed
        running = distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1
        if self.rank is None and self.world_size is None and running > 1:
            raise self._differ(f"{running} processes run, and each of them would read all rows", running)
        if running % self.ranks[1] and running > 1:
            raise self._differ(f"{running} processes run, and the dataset is made for {self.ranks[1]}", running)

    def check_accelerate(self) -> None:
        """The same for a loader that `Accelerator.prepare` was given, which splits rows for its processes otherwise."""
        from accelerate.state import PartialState

        state = PartialState()
        if self.ranks != (state.process_index, state.num_processes):
            place = f"accelerate's process {state.process_index} of {state.num_processes}"
            raise self._differ(f"{place} has a loader for rank {self.ranks[0]} of {self.ranks[1]}", state.num_processes)

    def _differ(self, message: str, processes: int) -> StreamError:
        return StreamError(
            message,
            code="ranks-differ",
            hint=f"give rank and world_size={processes} of all processes; replicas={processes} where all of them read "
            "the same rows",
        )


class MixtureSteps(Dataset[Tensors]):
    """One rank's batches by step, map-style: dataset[step] is what `MixtureBatches` yields there.

    For `DataLoader(dataset, batch_size=None, sampler=range(first_step, len(dataset)))`, with any number of workers; the
    arguments are those of `MixtureBatches`. A loader that shuffles, splits or batches steps is refused: StreamError
    `steps-reordered`, `steps-batched`, `ranks-differ`. Of workers that are spawned, and not forked, one cannot see that
    the steps of another do not lie beside its own. Other orders are read by index, without a DataLoader.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        replicas: int = 1,
        columns: Columns = DEFAULT,
    ) -> None:
        self._processes = _Processes(rank, world_size)
        self._source = StepSource(
            open_stream, rank=self._processes.ranks[0], world_size=self._processes.ranks[1], replicas=replicas,
            columns=columns,
        )  # fmt: skip
        self._latest: tuple[weakref.ref[object], int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_latest": None}

    def __len__(self) -> int:
        """Steps of the run."""
        check_sampler("MixtureSteps")
        return len(self._source)

    def __getitem__(self, step: int) -> Tensors:
        """The rank's rows of a step. Raises IndexError where there is none."""
        fetcher = map_fetcher()
        if fetcher is not None:
            self._check_order(fetcher, step)
        return tensors(self._source[step])

    def __getitems__(self, steps: list[int]) -> list[Tensors]:
        """Raises StreamError, `steps-batched`: torch's DataLoader calls it where it has a batch_size."""
        raise steps_batched("MixtureSteps")

    def state_at(self, step: int) -> dict[str, Any]:
        """The state of a stream before a step, for checkpoints."""
        return self._source.state_at(step)

    def _check_order(self, fetcher: object, step: int) -> None:
        """A loader's steps follow each other; its workers take turns."""
        latest, workers = self._latest, _worker()[1]
        if latest is None or latest[0]() is not fetcher:
            check_sampler("MixtureSteps")
            if workers > 1:
                check_worker_sampler("MixtureSteps", workers)
            self._processes.check()
        elif step != latest[1] + workers:
            raise sampler_reorders("MixtureSteps", latest[1], step, workers)
        self._latest = weakref.ref(fetcher), step


class MixtureLoader(DataLoader[Tensors]):
    """A DataLoader over `MixtureBatches` whose state is that of what was consumed: small JSON, fit for any workers.

    dataset, num_workers, and all else that DataLoader takes but batching, sampling and order.

    A run is read once: a second `for` continues after the last batch of the first. To begin again, make a new
    `MixtureLoader` over a new `MixtureBatches`, which has `first_step`. After the run's last step a further `for`
    raises StreamError `run-ended`.

    `Accelerator.prepare` leaves it as it is: each process reads the rows of the dataset's rank, which have to be
    accelerate's (`ranks-differ`), and moves tensors to its device itself.
    """

    _is_accelerate_prepared = True
    """What accelerate's `prepare` looks at; it sets this on what it was given."""

    def __init__(self, dataset: MixtureBatches, *, num_workers: int = 0, **options: Any) -> None:  # noqa: ANN401 (DataLoader's own)
        # Torch's own looks through each batch for what is no tensor yet.
        super().__init__(dataset, batch_size=None, num_workers=num_workers, **{"collate_fn": _as_it_is} | options)
        self._batches = dataset
        self._next_step: int | None = None
        self._iterations = 0

    def __iter__(self) -> Iterator[Tensors]:  # type: ignore[override]
        self._batches.processes.check()  # in workers torch.distributed does not run
        if "_is_accelerate_prepared" in vars(self):
            self._batches.processes.check_accelerate()
        if self._next_step is None:
            self._next_step = self._batches.first_step
        elif self._next_step >= self._batches.steps:
            raise StreamError(
                f"the run has ended at step {self._next_step:,}",
                code="run-ended",
                hint="to begin again, make a new MixtureLoader(MixtureBatches(…)); to end training with the run, limit "
                "it to one epoch or to the run's steps",
                step=self._next_step,
            )
        else:
            self._batches.resume_at(self._next_step)
            self._iterator = None  # persistent workers have a dataset that begins where the first `for` did
        self._iterations += 1
        # A generator would hold a batch while it reads the next one.
        return map(partial(self._counted, self._iterations), super().__iter__())

    def _counted(self, iteration: int, batch: Tensors) -> Tensors:
        if iteration != self._iterations:
            raise _started("a later iteration", self._next_step or 0)
        self._next_step = int(batch["step"]) + 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The stream's state behind the last batch that was handed out."""
        return self._batches.state_at(self._batches.first_step if self._next_step is None else self._next_step)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin at a state; only before the first batch. Raises what `MixtureBatches` does."""
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
        f"{what} has begun: its next step is {step:,}",
        code="stream-started",
        hint="load the state before the first batch, into a new dataset and a new loader",
        step=step,
    )


def _worker() -> tuple[int, int]:
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)
