"""Who does the tasks: this process, several, or a Ray cluster. What comes of them is the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from mixture.data.writing import leave_with_parent
from mixture.errors import ClusterError

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Task(Protocol[R_co]):
    """Something to do in some process; it, and its result, can be sent there and back."""

    def run(self) -> R_co:
        """Do it."""
        ...


class Engine(Protocol):
    """Does tasks."""

    def results(self, tasks: Sequence[Task[R]]) -> Iterator[R]:
        """The results of all tasks, in any order. Errors: what a task raises; ClusterError `process-died`."""
        ...

    def close(self) -> None:
        """End what was started for the tasks. If there are more, it is started anew."""
        ...


def run_task(task: Task[R]) -> R:
    """Do a task with one thread: sums of floats depend on how many threads share them."""
    with one_thread():
        return task.run()


def one_thread() -> AbstractContextManager[Any]:
    """Within it the numeric libraries that are loaded use one thread."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it comes with scikit-learn, whose absence is told where it is needed
        return nullcontext()
    import scipy.sparse.linalg  # noqa: F401 its library of linear algebra is one of them

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


class Processes:
    """This process, or several on this machine."""

    def __init__(self, processes: int) -> None:
        self._processes = processes

    def results(self, tasks: Sequence[Task[R]]) -> Iterator[R]:
        """See `Engine`."""
        if self._processes == 1 or len(tasks) < 2:
            yield from map(run_task, tasks)
            return
        # Spawned, not forked: a fork copies locks that threads of this process may hold.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(self._processes, len(tasks)), context, _enter)
        try:
            for future in as_completed([pool.submit(run_task, task) for task in tasks]):
                yield future.result()
        except BrokenProcessPool as error:
            raise process_died() from error
        finally:
            pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """See `Engine`; processes end with their tasks."""


def process_died() -> ClusterError:
    """The error for a process that ended before its work was done."""
    return ClusterError(
        "a process died before its work was done",
        code="process-died",
        hint="it may have run out of memory: try fewer processes; started again, it goes on where it was",
    )


def _enter() -> None:
    """What a process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    threading.Thread(target=leave_with_parent, daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
