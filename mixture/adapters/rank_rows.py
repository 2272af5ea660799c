"""The rows of a rank for a `datasets.IterableDataset`, whose only shards are the workers of a DataLoader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from datasets.iterable_dataset import _BaseExamplesIterable

from mixture.adapters.guards import check_rows_reader, num_workers, shuffled, split_by_others
from mixture.adapters.rank_reader import RankReader
from mixture.errors import StreamError

_TYPE = "RankRows/2"
"""Of a state. The first version's, which has no workers, leaves those of the dataset that it is loaded into."""


class RankRows(_BaseExamplesIterable):  # type: ignore[misc]
    """A rank's rows of ascending steps, one by one. Its state is the next step, the row in it, and whose state it is.

    A state without workers resumes with any number of workers; a worker's own state only in that worker of as many.

    `from_generator` would have a shard a step, which `shard`, `shuffle` and `split_dataset_by_node` deal out in other
    orders than the run's; here they are refused.
    """

    def __init__(self, reader: RankReader, steps: range, worker: int = 0, workers: int = 1) -> None:
        super().__init__()
        self._reader, self._steps, self._worker, self._workers = reader, steps, worker, workers
        self._state_dict: dict[str, Any] | None
        self._sleep_on_threads_shutdown = False

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        state: dict[str, Any] = self._state_dict or self._init_state_dict()
        self._take_over(state)
        for values in self._reader.read(range(state["step"], self._steps.stop, self._steps.step)):
            columns = {name: value for name, value in values.items() if name != "step"}
            rows = list(zip(*columns.values(), strict=True))
            check_rows_reader(self._reader, len(rows) - state["row"])
            for row in range(state["row"], len(rows)):
                # After a step's last row the state is at the next step, which workers can share out.
                if row + 1 < len(rows):
                    state["row"] = row + 1
                else:
                    state["step"], state["row"] = state["step"] + self._steps.step, 0
                yield f"{values['step']}_{row}", {"step": values["step"], **dict(zip(columns, rows[row], strict=True))}

    def _take_over(self, state: dict[str, Any]) -> None:
        """Make a loaded state this worker's own. Raises StreamError, `workers-differ`, `state-invalid`.

        It is done here, for datasets that wrap this one load its state without calling `load_state_dict`.
        """
        if state["type"] != _TYPE:
            raise StreamError(
                "the state was saved by an earlier version, and does not say of which worker it is",
                code="state-invalid",
                hint="begin at a stream's state, iterable_dataset(…, state=…), or at a step, iterable_dataset(…, "
                "first_step=…)",
            )
        if (state["worker"], state["workers"]) == (self._worker, self._workers):
            return
        if state["workers"] != 1:
            raise StreamError(
                f"the state is of worker {state['worker']} of {state['workers']}, "
                f"and was loaded in worker {self._worker} of {self._workers}",
                code="workers-differ",
                hint="use as many workers as when it was saved, or begin at a stream's state, which fits any number of "
                "workers: iterable_dataset(…, state=…)",
            )
        if self._worker:
            state["step"], state["row"] = state["step"] + self._worker, 0
        state["worker"], state["workers"] = self._worker, self._workers

    def _init_state_dict(self) -> dict[str, Any]:
        check_rows_reader(self._reader)
        place = {"step": self._steps.start, "row": 0, "worker": self._worker, "workers": self._workers}
        state = {**place, "type": _TYPE}
        self._state_dict = state
        return state

    @property
    def num_shards(self) -> int:
        return num_workers()

    def shard_data_sources(self, num_shards: int, index: int, contiguous: bool = True) -> RankRows:
        """Every num_shards-th step for one of so many workers. Raises StreamError, `split-again`, elsewhere."""
        check_rows_reader(self._reader)
        if num_workers() != num_shards or (num_shards > 1 and contiguous):
            raise split_by_others("shard")
        return RankRows(self._reader, self._steps[index::num_shards], index, num_shards)

    def reshard_data_sources(self) -> RankRows:
        return self

    def shuffle_data_sources(self, *_: object) -> RankRows:
        """Raises StreamError, `steps-reordered`."""
        raise shuffled()
