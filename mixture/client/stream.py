"""A stream that a service reads: the interface, batches and states of `mixture.stream.Stream`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy.typing as npt

from mixture.client.address import mixture_address
from mixture.client.body import Body
from mixture.client.served import ServedStore, fetch_lock, fetch_store
from mixture.client.service import (
    OPENING_SECONDS,
    PATIENCE_SECONDS,
    TIMEOUT_SECONDS,
    InterruptedRequestError,
    Service,
)
from mixture.client.steps import Expected, read_steps
from mixture.data.store import disagreements
from mixture.errors import ServiceError, StreamError
from mixture.lock import Lock
from mixture.names import DIGEST_MARK
from mixture.stream import MEDIA_TYPE, MOST_STEPS, Batch, Stream, StreamOptions, stream_metadata


class RemoteStream(Stream):
    """Batches of one rank, a step at a time, from a service: an iterator, made by `open_remote_stream`.

    It has what a local stream has, states included: a state of one is loaded by the other. Schedule, history and
    content are worked out here, from the lock and the contents that the service stated when the stream was opened; the
    service is asked for rows only, and refused when they are not of that run. A step is given once, and whole, whatever
    happens to the connection. To be closed, or used as a context: `close` leaves the service; asked for another batch,
    the stream connects again and goes on.
    """

    def __init__(self, service: Service, lock: Lock, store: ServedStore, options: StreamOptions) -> None:
        super().__init__(lock, store, options)
        self._service = service

    def _read(self, steps: range) -> Iterator[Batch]:
        attempts = self._service.attempts()
        for part in _parts(steps):
            step = part.start
            while step < part.stop:
                try:
                    for batch in self._receive(range(step, part.stop)):
                        attempts.succeeded()
                        step = batch.step + 1
                        yield batch
                except InterruptedRequestError as error:
                    attempts.failed(error)

    def _receive(self, steps: range) -> Iterator[Batch]:
        """The steps of one answer. Raises InterruptedRequestError where it does not end as it should."""
        expected = Expected(
            metadata=stream_metadata(self, steps.start),
            schedule=self._schedule,
            dtype=self.store.dtype,
            options=self.options,
            masks=self._masks,
            hidden=self.store.end_of_document,
        )
        query = {
            "first_step": steps.start,
            "last_step": steps.stop - 1,
            "rank": self.rank,
            "world_size": self.world_size,
            "next_token": self.options.next_token,
            "uneven": self.options.uneven,
        }
        if self.options.documents:
            query["documents"] = True  # only where it is asked for: a service that has it not yet refuses it
        said = {name: str(value).lower() for name, value in query.items()}
        try:
            with self._service.open("/batches", accept=MEDIA_TYPE, query=said) as body:
                yield from read_steps(Body(body), expected, steps)
        except ServiceError as error:
            if error.code != "unknown-mixture":
                raise
            raise StreamError(
                f"the service no longer has the lock {self.lock.digest}",
                code="lock-differs",
                place=error.place,
                hint="open the stream anew and load its state: it goes on where what was read before is the same",
                expected=self.lock.digest,
            ) from error


def _parts(steps: range) -> Iterator[range]:
    """Steps as requests ask for them: consecutive ones, at most `MOST_STEPS`."""
    if len(steps) > 1 and steps.step > 1:
        yield from (range(step, step + 1) for step in steps)
        return
    for first in range(steps.start, steps.stop, MOST_STEPS):
        yield range(first, min(first + MOST_STEPS, steps.stop))


def open_remote_stream(
    url: str,
    rank: int = 0,
    world_size: int = 1,
    first_step: int = 0,
    *,
    next_token: bool = False,
    documents: bool = False,
    uneven: bool = False,
    dtype: npt.DTypeLike | None = None,
    accept_content: str | None = None,
    token: str | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    patience_seconds: float = PATIENCE_SECONDS,
    opening_seconds: float = OPENING_SECONDS,
) -> RemoteStream:
    """Open the batches of one rank at a service, from a step on; all else is as `mixture.stream.open_stream` has it.

    url:     of the mixture: http://HOST:PORT/v1/mixtures/NAME. What the name points to now is what is streamed, also
             when the name moves; NAME@sha256:DIGEST says which it has to be.
    token:   where reading takes one
    timeout_seconds: without a byte, after which a connection is given up and made anew
    patience_seconds: without progress, after which it is given up: the service may be restarted or replaced meanwhile
    opening_seconds: the same for a service that has not answered yet, whose address may be wrong

    Raises ServiceError: `url-invalid`, `service-unreachable`, `unknown-mixture`, `token-missing`, `store-missing` where
    the service has no store for the mixture, and others as it says; StreamError: `rank-invalid`, `batch-not-divisible`.
    Later a batch may raise StreamError `lock-differs`, `content-differs`, ServiceError `service-unreachable`,
    `store-replaced` where another store lies in the place of the service's.
    """
    opening = min(opening_seconds, patience_seconds)
    named = Service(mixture_address(url), token, timeout_seconds, opening)
    lock = fetch_lock(named)
    name, _, _ = named.url.partition(DIGEST_MARK)
    pinned = Service(f"{name}{DIGEST_MARK}{lock.digest}", token, timeout_seconds, patience_seconds)
    store = fetch_store(pinned)
    for error in disagreements(store, lock):
        raise error
    options = StreamOptions(
        rank=rank, world_size=world_size, first_step=first_step, next_token=next_token, documents=documents,
        uneven=uneven, dtype=dtype, accept_content=accept_content,
    )  # fmt: skip
    return RemoteStream(pinned, lock, store, options)
