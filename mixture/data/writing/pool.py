"""Running jobs in this process or in several, with progress, and with an error when one dies."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from mixture.data.writing.tokenizer import Tokenizer, TokenizerChoice
from mixture.errors import IngestError

_POLL_SECONDS = 0.1

Advance = Callable[[int, int], None]
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Job(Protocol[R_co]):
    """Something to do in some process. domain: the number of the domain that it works for."""

    def run(self, tokenizer: Tokenizer, advance: Advance) -> R_co:
        """Do it; advance(domain, bytes) says how far it is."""
        ...


def run_jobs(
    jobs: Sequence[Job[R]],
    *,
    processes: int,
    tokenizer: TokenizerChoice,
    domains: int,
    moved: Callable[[int, int], None],
) -> Iterator[R]:
    """The results of all jobs, in any order. moved(domain, bytes) is called here when a domain has got further.

    Errors: what a job raises; IngestError `process-died`.
    """
    if processes == 1 or len(jobs) < 2:
        made = tokenizer.make()
        for job in jobs:
            yield job.run(made, moved)
        return
    yield from _run_apart(jobs, processes, tokenizer, domains, moved)


def _run_apart(
    jobs: Sequence[Job[R]], processes: int, tokenizer: TokenizerChoice, domains: int, moved: Callable[[int, int], None]
) -> Iterator[R]:
    # Spawned, not forked: a fork copies locks that threads of this process may hold.
    context = multiprocessing.get_context("spawn")
    counters = context.Array(ctypes.c_int64, domains)
    stop = context.Value(ctypes.c_bool, False, lock=False)
    idle = context.Value(ctypes.c_bool, False, lock=False)
    seen = [0] * domains
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, _enter, (tokenizer, counters, stop, idle, processes))
    try:
        waiting: set[Future[Any]] = {pool.submit(_run, job) for job in jobs}
        while waiting:
            idle.value = ctypes.c_bool(len(waiting) < processes)
            done, waiting = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for number, count in enumerate(counters[:]):
                if count > seen[number]:
                    moved(number, count - seen[number])
                    seen[number] = count
            for future in done:
                yield future.result()
    except BrokenProcessPool as error:
        raise IngestError(
            "a process of the ingest died before its work was done",
            code="process-died",
            hint="it may have run out of memory: try fewer processes; a script that ingests must guard its start with "
            "`if __name__ == '__main__':`",
        ) from error
    finally:
        stop.value = ctypes.c_bool(True)
        pool.shutdown(cancel_futures=True)


_tokenizer: Tokenizer
_counters: Any
_stop: Any
_idle: Any


class _Stopped(Exception):  # noqa: N818 it is no error
    """Another job has failed."""


def _enter(choice: TokenizerChoice, counters: Any, stop: Any, idle: Any, processes: int) -> None:  # noqa: ANN401 ctypes
    """What a process does first."""
    global _tokenizer, _counters, _stop, _idle
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    threading.Thread(target=leave_with_parent, daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
    os.environ["RAYON_NUM_THREADS"] = str(processes)
    _tokenizer, _counters, _stop, _idle = choice.make(), counters, stop, idle


def leave_with_parent() -> None:
    """End this process when the one that started it ends: a killed run may leave none behind that goes on writing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _advance(domain: int, count: int) -> None:
    if _stop.value:
        raise _Stopped
    if _idle.value:  # while there are fewer jobs than processes, the tokenizer has threads
        os.environ["TOKENIZERS_PARALLELISM"] = "true"
    with _counters.get_lock():
        _counters[domain] += count


def _run(job: Job[R]) -> R:
    return job.run(_tokenizer, _advance)
