"""Reading ahead in a thread: the next steps are there before they are asked for."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from mixture.errors import StreamError
from mixture.stream.stream import Stream

T = TypeVar("T")
S = TypeVar("S", bound=Stream)


class _Shared(Generic[T]):
    """What a reader's thread and its consumer share: what is ready, in order, and how it ended."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.ready: deque[T] = deque()
        self.error: BaseException | None = None
        self.has_ended = False
        self.is_closed = False
        self.changed = threading.Condition()

    def close(self) -> None:
        with self.changed:
            self.is_closed = True
            self.ready.clear()
            self.changed.notify_all()


class Ahead(Iterator[T]):
    """What an iterator gives, in its order, taken in a thread and at most `most` ahead of who asks.

    An error comes where it would have come: behind all that was given before it. The thread ends with the iterator,
    with an error, when this is closed, and when nobody holds it any more.
    """

    def __init__(self, items: Iterator[T], most: int) -> None:
        self._shared: _Shared[T] = _Shared(most)
        self._thread = threading.Thread(target=_run, args=(items, self._shared), name="mixture-ahead", daemon=True)
        self._finalizer = weakref.finalize(self, self._shared.close)
        self._thread.start()

    def __next__(self) -> T:
        shared = self._shared
        with shared.changed:
            shared.changed.wait_for(lambda: shared.ready or shared.has_ended or shared.is_closed)
            if shared.ready:
                item = shared.ready.popleft()
                shared.changed.notify_all()
                return item
            error, shared.error = shared.error, None
        if error is not None:
            raise error
        raise StopIteration

    def close(self) -> None:
        """Stop reading; returns when the thread has ended, behind what it is reading."""
        self._finalizer()
        self._thread.join()


def _run(items: Iterator[T], shared: _Shared[T]) -> None:
    error: BaseException | None = None
    try:
        while not shared.is_closed:
            item = next(items, shared)
            if item is shared:
                break
            with shared.changed:
                shared.ready.append(item)  # type: ignore[arg-type]
                shared.changed.notify_all()
                del item  # else the thread would hold one more while it waits
                shared.changed.wait_for(lambda: len(shared.ready) < shared.most or shared.is_closed)
    except BaseException as caught:  # noqa: BLE001 (the consumer gets it)
        error = caught
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()
        with shared.changed:
            shared.error, shared.has_ended = error, True
            shared.changed.notify_all()


def read_ahead(stream: S, *, steps: int = 4) -> S:
    """The same stream, whose next steps a thread reads while the trainer works: at most `steps` wait, in memory.

    All else stays: its state is that of what was consumed, an error comes at its step and asking again reads that step
    again. Close the stream, or use it as a context, to end the thread; one that is dropped ends it, too. Raises
    StreamError `stream-started` where the stream has begun, `steps-ahead-invalid` below 1.

    This is the fastest way into a trainer that works outside of Python's lock, as torch and JAX do. Beside one that
    works 20 ms a step, 64 rows of 4,096 tokens are waited for 0.07 ms instead of 0.9 (`python -m benchmarks.loaders`).
    """
    if steps < 1:
        raise StreamError(f"{steps:,} steps can not be read ahead", code="steps-ahead-invalid", hint="1 or more")
    stream.wrap_reading(lambda batches: Ahead(batches, steps))
    return stream
