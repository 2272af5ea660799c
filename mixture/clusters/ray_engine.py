"""Tasks over a Ray cluster, whose machines see sources and output at the same paths."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from mixture.clusters.engine import Task, process_died, run_task
from mixture.errors import ClusterError, MixtureError
from mixture.extras import install_hint

R = TypeVar("R")

_SECONDS = 10  # to wait for an answer: Ray itself asks for minutes
_WAITING = 4  # tasks handed over for each processor: Ray keeps them, and starts the next as one ends


class Ray:
    """A Ray cluster, left as it was; without an address one is started on this machine, and ended by `close`.

    address: as Ray has it, `auto` for the one that this machine is part of. Errors: ClusterError `ray-not-installed`,
    `ray-unreachable`.
    """

    def __init__(self, address: str | None, processes: int) -> None:
        try:
            import ray
        except ImportError as error:
            message = "Ray is not installed"
            raise ClusterError(message, code="ray-not-installed", hint=install_hint("ray")) from error
        self._ray: Any = ray
        self._address = address
        self._processes = processes
        self._own = False

    def results(self, tasks: Sequence[Task[R]]) -> Iterator[R]:
        """See `Engine`."""
        if not tasks:
            return
        if not self._ray.is_initialized():
            self._start()
        yield from self._results(list(tasks))

    def close(self) -> None:
        """See `Engine`. A connection that was there before is left as it was."""
        if self._own:
            self._ray.shutdown()
            self._own = False

    def _start(self) -> None:
        if self._address:
            _knock(self._address)
        local: dict[str, Any] = {} if self._address else {"num_cpus": self._processes, "include_dashboard": False}
        try:
            self._ray.init(address=self._address or "local", log_to_driver=False, logging_level="error", **local)
        except (OSError, RuntimeError, ValueError) as error:
            raise _unreachable(self._address or "this machine", error) from error
        self._own = True

    def _results(self, tasks: list[Task[R]]) -> Iterator[R]:
        remote = self._ray.remote(num_cpus=1, max_retries=3)(run_task)
        most = _WAITING * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        waiting: list[Any] = []
        while tasks or waiting:
            while tasks and len(waiting) < most:
                waiting.append(remote.remote(tasks.pop(0)))
            done, waiting = self._ray.wait(waiting, num_returns=1)
            yield self._get(done[0])

    def _get(self, reference: object) -> Any:  # noqa: ANN401 Ray has no types for it
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, MixtureError):
                raise error.cause from None
            raise
        except (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError) as error:
            raise process_died() from error


def _knock(address: str) -> None:
    """Refuse an address HOST:PORT at which nothing answers."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return  # a name of Ray's own, such as `auto`
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> ClusterError:
    return ClusterError(
        f"no Ray cluster answers at {address}: {error}",
        code="ray-unreachable",
        hint="`ray start --head` starts one; without --ray-address it is started and ended here",
    )
