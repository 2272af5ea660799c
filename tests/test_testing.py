"""The helpers that others test their own loaders with find what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.data.store import Store
from mixture.lock import Lock
from mixture.stream import open_stream
from mixture.testing import check_ranks, check_resume, difference


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lock, Store]:
    folder = tmp_path_factory.mktemp("testing")
    store = make_store(folder / "text", DOMAINS)
    phases = "  - {phase: one, until: step 7, weights: proportional}\n  - {phase: two, weights: uniform}"
    keys = {"sequence_length": "32", "batch": "12 sequences", "budget": "15 steps"}
    return lock_over(store, folder / "spec", phases, **keys), store


def test_this_librarys_streams_resume_at_every_step_and_share_every_step(made: tuple[Lock, Store]) -> None:
    assert check_resume(lambda: open_stream(*made, next_token=True)) == 16
    assert check_resume(lambda: open_stream(*made, rank=1, world_size=3), steps=4, ahead=3) == 5
    assert check_ranks(lambda rank, world: open_stream(*made, rank=rank, world_size=world), [1, 2, 3, 12]) == 15


class Loader:
    """A loader as somebody may write it: it keeps the number of its next batch."""

    def __init__(self, batches: list[dict[str, Any]]) -> None:
        self.batches, self.next = batches, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while self.next < len(self.batches):
            self.next += 1
            yield self.batches[self.next - 1]

    def state_dict(self) -> dict[str, Any]:
        return {"next": self.next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.next = state["next"]


class OneLate(Loader):
    """The commonest fault: what was prefetched counts as read."""

    def state_dict(self) -> dict[str, Any]:
        return {"next": self.next + (self.next > 2)}


class Forgets(Loader):
    """Loads nothing."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass


class ReadsOn(Loader):
    """Goes on behind the end after a resume."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.next = min(state["next"], len(self.batches) - 1)

    def state_dict(self) -> dict[str, Any]:
        return {"next": len(self.batches) if self.next == len(self.batches) - 1 else self.next}


BATCHES = [{"ids": np.arange(6, dtype=np.uint16).reshape(2, 3) + i, "step": i} for i in range(5)]


def test_a_loader_that_resumes_passes_and_those_that_do_not_are_told_where() -> None:
    assert check_resume(lambda: Loader(BATCHES)) == 6
    with pytest.raises(AssertionError, match="after 3 batches"):
        check_resume(lambda: OneLate(BATCHES))
    with pytest.raises(AssertionError, match="saved after 1 batches, loaded and saved again"):
        check_resume(lambda: Forgets(BATCHES))
    with pytest.raises(AssertionError, match="after 5 batches: 1 batches came, expected were 0"):
        check_resume(lambda: ReadsOn(BATCHES))
    with pytest.raises(AssertionError, match="nothing was checked"):
        check_resume(lambda: Loader([]))


def shared(batches: list[dict[str, Any]], rank: int, world: int) -> Iterator[dict[str, Any]]:
    return ({"ids": batch["ids"][rank::world], "step": batch["step"]} for batch in batches)


def test_ranks_that_read_too_little_too_much_or_another_order_are_told() -> None:
    def parts(rank: int, world: int) -> Iterator[dict[str, Any]]:
        return shared(BATCHES, rank, world)

    assert check_ranks(parts, [1, 2]) == 5
    with pytest.raises(AssertionError, match=r"step 0 is another one on 2 ranks: ids\[0, 0\] is 0, and 3"):
        check_ranks(lambda rank, world: parts(world - 1 - rank, world), [2])
    with pytest.raises(AssertionError, match="rank 1 ends before step 3"):
        check_ranks(lambda rank, world: iter(list(parts(rank, world))[: 3 if rank else None]), [2])
    longer = [*BATCHES, BATCHES[0]]
    with pytest.raises(AssertionError, match="go on behind step 4"):
        check_ranks(lambda rank, world: shared(longer if world > 1 else BATCHES, rank, world), [2])


def test_a_difference_is_said_by_field_dtype_shape_and_place() -> None:
    assert difference({"a": np.zeros(2)}, {"a": np.zeros(2)}) is None
    assert difference({"a": 1}, {"b": 1}) == "the batch has fields a, and b"
    assert difference((np.zeros(2), 1), (np.zeros(2), 2)) == "1 is 1, and 2"
    assert "uint16" in str(difference(np.zeros(2, np.uint16), np.zeros(2, np.uint32)))
    assert "(2,)" in str(difference(np.zeros(2), np.zeros(3)))
