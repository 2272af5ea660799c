"""Values that are made once by key: by one thread for all that ask at once, and again where it failed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mixture.api.middleware.cache import Kept

THREADS = 8


def test_the_ones_asked_for_last_are_kept():
    kept: Kept[str, object] = Kept(2)
    first, second = kept.get("a", object), kept.get("b", object)
    assert kept.get("a", object) is first
    kept.get("c", object)
    assert kept.get("a", object) is first, "it was asked for after b"
    assert kept.get("b", object) is not second


def test_what_is_kept_weighs_no_more_than_it_may():
    kept: Kept[str, bytes] = Kept(10, weigh=len)
    kept.get("a", lambda: b"123456")
    kept.get("b", lambda: b"1234")
    assert (kept.peek("a"), kept.peek("b")) == (b"123456", b"1234")
    kept.get("c", lambda: b"1")
    assert (kept.peek("a"), kept.peek("b"), kept.peek("c")) == (None, b"1234", b"1")
    assert kept.get("too much", lambda: b"12345678901") == b"12345678901"
    assert kept.peek("too much") is None


class Making:
    """Makes a value, or raises, once somebody lets it go on; counts how often."""

    def __init__(self, outcome: object) -> None:
        self.times = 0
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._outcome = outcome

    def __call__(self) -> object:
        self.times += 1
        self.begun.set()
        assert self.go_on.wait(60)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def asked_at_once(kept: Kept[str, object], making: Making) -> list[object]:
    """What every thread gets that asks for one key, all of them before it is made."""
    asking = threading.Barrier(THREADS)

    def ask(i: int) -> object:
        if i:
            assert making.begun.wait(60)
            asking.wait(60)
        try:
            return kept.get("key", making)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(THREADS) as threads:
        found = [threads.submit(ask, i) for i in range(THREADS)]
        assert making.begun.wait(60)
        asking.wait(60)
        making.go_on.set()
        return [one.result() for one in found]


def test_threads_that_ask_at_once_get_the_one_value_that_was_made():
    kept, value = Kept[str, object](2), object()
    making = Making(value)
    assert asked_at_once(kept, making) == [value] * THREADS
    assert making.times == 1


def test_others_are_not_kept_waiting_by_a_value_that_is_being_made():
    kept, making = Kept[str, object](2), Making(1)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(kept.get, "slow", making)
        assert making.begun.wait(60)
        assert kept.get("other", lambda: 2) == 2
        assert not slow.done()
        making.go_on.set()
        assert slow.result() == 1


def test_an_error_goes_to_whoever_asked_meanwhile_and_is_not_kept():
    kept, error = Kept[str, object](2), ValueError("not now")
    found = asked_at_once(kept, Making(error))
    assert found == [error] * THREADS
    with pytest.raises(ValueError, match="again"):
        kept.get("key", _raises)
    assert kept.get("key", lambda: 3) == 3


def _raises() -> object:
    raise ValueError("again")
