"""The steps of a rank, and the sequences of a run, as plain objects that loaders index, in any process and thread."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from mixture.adapters.columns import DEFAULT, Columns, Values
from mixture.adapters.guards import check_grain
from mixture.errors import StreamError
from mixture.stream import Batch, LocalStream, Stream, data_rank, read_state


class OpenStream(Protocol):
    """What opens a stream: `partial(open_stream, lock, store)`, `partial(open_remote_stream, url)`."""

    def __call__(self, *, rank: int, world_size: int, first_step: int, next_token: bool, documents: bool) -> Stream: ...


class RankReader:
    """Reads any steps of one data-parallel rank, as columns.

    It goes to other processes without what it has open, and opens it there anew; what can not be opened is refused
    when this is made, and a process that finds another lock than the first one did refuses it. Not to be forked while
    it is being used in another thread.
    """

    def __init__(
        self, open_stream: OpenStream, rank: int, world_size: int, replicas: int, first_step: int, columns: Columns
    ) -> None:
        self._open, self.columns = open_stream, columns
        self.rank, self.world_size = data_rank(rank, world_size, replicas)
        self._state: Mapping[str, Any] | None = None
        self._digest: str | None = None
        self.first_step = first_step
        self._here: tuple[int, Stream] | None = None
        columns.check(self.stream)
        self._digest = self.stream.lock.digest

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_here": None}

    @property
    def stream(self) -> Stream:
        """The stream of this process, which is never moved."""
        if self._here is None or self._here[0] != os.getpid():
            self._here = (os.getpid(), self._opened())
        return self._here[1]

    @property
    def steps(self) -> int:
        """Where the run ends."""
        return self.stream.steps

    def load(self, state: Mapping[str, Any]) -> None:
        """Begin where a saved state stands. Raises what `Stream.load_state_dict` does."""
        before = self._state, self.first_step, self._here
        self._state, self.first_step, self._here = state, read_state(state).step, None
        try:
            self.stream  # noqa: B018 (opened here, to be refused here)
        except BaseException:
            self._state, self.first_step, self._here = before
            raise

    def state_at(self, step: int) -> dict[str, Any]:
        """The stream's state at a step."""
        return self.stream.state_at(step)

    def read(self, steps: range) -> Iterator[Values]:
        """Steps as columns, in order."""
        return map(self.columns_of, self.stream.read(steps))

    def columns_of(self, batch: Batch) -> Values:
        """The columns of a batch of the stream."""
        return self.columns.of(batch, self.stream.store.vocabulary)

    def _opened(self) -> Stream:
        columns = self.columns
        stream = self._open(
            rank=self.rank,
            world_size=self.world_size,
            first_step=self.first_step,
            next_token=columns.next_token,
            documents=columns.documents,
        )
        if self._digest not in (None, stream.lock.digest):
            raise StreamError(
                f"the lock is {stream.lock.digest} here, and {self._digest} where the loader was made",
                code="lock-differs",
                hint="name the lock by its digest, or make the loader anew and load its state",
            )
        if self._state is not None:
            stream.load_state_dict(self._state)
        return stream


class StepSource:
    """A rank's batches by step: source[step] is a dict of columns. Plain: no loader's library is needed.

    rank, world_size, replicas: of all processes, of which each `replicas` in a row read the same rows
    columns: what a batch has
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
        self._reader = RankReader(open_stream, rank, world_size, replicas, 0, columns)

    def __len__(self) -> int:
        """Steps of the run."""
        return self._reader.steps

    def __getitem__(self, step: int) -> Values:
        """The rank's rows of a step. Raises IndexError where there is none."""
        check_grain("StepSource", is_step=True)
        step = _index(step, len(self))
        return next(self._reader.read(range(step, step + 1)))

    def state_at(self, step: int) -> dict[str, Any]:
        """The state of a stream before a step, for checkpoints."""
        return self._reader.state_at(step)

    def __repr__(self) -> str:
        return f"StepSource({self._reader.stream.lock.digest}, {self._reader.rank}/{self._reader.world_size})"


class SequenceSource:
    """The sequences of a run by position: source[position] is one row, in the order of the run, for whatever shards it.

    Columns of rows [L], numbers of a row, `step`. Only a store at hand is read so. Where every `world_size`-th position
    from the rank on is taken and batched by batch ÷ world_size, each step holds the sequences that it does in a stream.
    """

    def __init__(self, open_stream: OpenStream, *, columns: Columns = DEFAULT) -> None:
        self._reader = RankReader(open_stream, 0, 1, 1, 0, columns)
        if not isinstance(self._reader.stream, LocalStream):
            raise StreamError(
                "a service gives steps, not single sequences", code="stream-remote", hint="use StepSource there"
            )

    def __len__(self) -> int:
        """Sequences of the run."""
        return self._reader.stream.lock.schedule().num_sequences

    def __getitem__(self, position: int) -> Values:
        """The sequence at a position. Raises IndexError where there is none."""
        check_grain("SequenceSource", is_step=False)
        stream = self._reader.stream
        assert isinstance(stream, LocalStream)
        values = self._reader.columns_of(stream.at(_index(position, len(self))))
        single = {"step", "cu_seqlens", "max_seqlen"}
        return {name: value if name in single or isinstance(value, int) else value[0] for name, value in values.items()}

    @property
    def batches(self) -> tuple[int, ...]:
        """Sequences of a step, in order of the steps from which on each is so."""
        return tuple(batch.sequences for batch in self._reader.stream.lock.data.batches)

    def __repr__(self) -> str:
        return f"SequenceSource({self._reader.stream.lock.digest})"


def _index(asked: int, count: int) -> int:
    found = asked + count if asked < 0 else asked
    if not 0 <= found < count:
        raise IndexError(f"{asked} is not among {count}")
    return int(found)
