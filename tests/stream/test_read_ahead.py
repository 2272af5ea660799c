"""A thread that reads ahead: the same batches, the state of what was consumed, errors in their place, and an end."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
from stream_helpers import DOMAINS, bytes_of, make_store

from mixture.data.store import Store
from mixture.errors import StoreError, StreamError
from mixture.stream import open_stream, read_ahead
from mixture.stream.ahead import Ahead
from mixture.testing import check_ranks, check_resume


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "mixture-ahead"]


def none_is_left() -> bool:
    """Waits for those that were told to end."""
    for thread in threads():
        thread.join(30)
    return not threads()


@pytest.mark.parametrize("steps", [1, 3, 100])
def test_the_same_batches_come_and_the_state_is_that_of_what_was_consumed(store: Store, make, steps: int) -> None:
    lock = make(steps=18)
    assert check_resume(lambda: read_ahead(open_stream(lock, store, documents=True), steps=steps)) == 19
    assert check_ranks(lambda r, w: read_ahead(open_stream(lock, store, r, w), steps=steps), [1, 3]) == 18
    plain = open_stream(lock, store)
    with read_ahead(open_stream(lock, store), steps=steps) as ahead:
        for batch in ahead:
            assert bytes_of([batch]) == bytes_of([next(plain)])
            assert ahead.state_dict() == plain.state_dict()
    gc.collect()
    assert none_is_left()


def test_a_stream_that_has_begun_does_not_read_ahead_nor_load_a_state_afterwards(store: Store, make) -> None:
    lock = make()
    stream = open_stream(lock, store)
    next(stream)
    with pytest.raises(StreamError) as caught:
        read_ahead(stream)
    assert caught.value.code == "stream-started"
    with read_ahead(open_stream(lock, store)) as ahead:
        state = ahead.state_dict()
        next(ahead)
        with pytest.raises(StreamError) as caught:
            ahead.load_state_dict(state)
        assert caught.value.code == "stream-started"
    with pytest.raises(StreamError) as caught:
        read_ahead(open_stream(lock, store), steps=0)
    assert caught.value.code == "steps-ahead-invalid"


def test_closed_it_goes_on_where_it_was_when_it_is_asked_again(store: Store, make) -> None:
    stream = read_ahead(open_stream(make(), store), steps=5)
    for expected in range(6):
        assert next(stream).step == expected
        stream.close()
        assert none_is_left()


def test_a_stream_that_is_dropped_leaves_no_thread(store: Store, make) -> None:
    lock = make()
    for _ in range(20):
        next(read_ahead(open_stream(lock, store), steps=2))
    gc.collect()
    assert none_is_left()


class Breaks:
    """Numbers, and what goes wrong in the middle of them."""

    def __init__(self, at: int) -> None:
        self.at, self.given = at, 0
        self.taken = threading.Semaphore(0)

    def __iter__(self) -> Iterator[int]:
        for i in range(10):
            if i == self.at:
                raise OSError(f"not {i}")
            self.given += 1
            self.taken.release()
            yield i


def test_an_error_comes_behind_all_that_was_read_before_it_and_not_sooner() -> None:
    source = Breaks(at=4)
    ahead = Ahead(iter(source), 8)
    for _ in range(4):
        assert source.taken.acquire(timeout=30)  # the thread has met the error or is about to
    assert [next(ahead) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="not 4"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)
    assert none_is_left()


def test_no_more_is_read_than_may_wait() -> None:
    source = Breaks(at=99)
    ahead = Ahead(iter(source), 3)
    for i in range(5):
        assert next(ahead) == i
        assert source.given <= i + 1 + 3
    ahead.close()
    assert none_is_left()


def test_a_step_that_can_not_be_read_is_refused_in_its_place_however_often_it_is_asked_for(
    store: Store, make, tmp_path
) -> None:
    """The store's files are written to in place: what was read before comes, and the stream stays at the next step."""
    own = make_store(tmp_path / "own", DOMAINS)
    lock = make(over=own)
    expected = bytes_of(open_stream(lock, own))
    with read_ahead(open_stream(lock, own), steps=2) as stream:
        found = [next(stream)]
        for path in own.path.glob("tokens/**/*"):
            if path.is_file():
                path.touch()
        with pytest.raises(StoreError) as caught:
            found.extend(stream)
        assert caught.value.code == "store-changed"
        assert [batch.step for batch in found] == list(range(len(found)))
        assert stream.step == len(found)
        assert bytes_of(found) == expected[: len(bytes_of(found))]
        with pytest.raises(StoreError):
            next(stream)
        assert stream.step == len(found)
