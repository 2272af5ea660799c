"""Reading objects whole or not at all: tried again where that may help, for so long and no longer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from mixture.data.storage.address import Address
from mixture.data.storage.clients import Client, client_of
from mixture.data.storage.facts import InterruptedReadError, ObjectFacts, StoredObject, stored_object
from mixture.data.storage.options import ObjectOptions
from mixture.data.storage.spans import Span
from mixture.errors import Place, StoreError

FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 10.0
LONGEST_ASKED_SECONDS = 60.0
"""Of what a server asks to wait."""

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Objects:
    """Objects of any bucket and server. Any number of threads may ask.

    Errors of all methods: StoreError `file-missing`, `store-changed`, `object-forbidden`, `object-unreachable` when
    attempts or patience have ended; they name the object and the range of bytes.
    """

    def __init__(self, options: ObjectOptions) -> None:
        self._options = options
        self._clients: dict[str, Client] = {}
        self._guard = threading.Lock()

    def facts(self, address: Address) -> ObjectFacts:
        """What an object is now."""
        client = self._client(address.root)
        return self._until_done(lambda: client.facts(address), address)

    def is_there(self, address: Address) -> bool:
        """Whether there is an object."""
        try:
            self.facts(address)
        except StoreError as error:
            if error.code != "file-missing":
                raise
            return False
        return True

    def listed(self, folder: Address) -> dict[str, ObjectFacts] | None:
        """All objects below a folder by path; None where that can not be asked."""
        client = self._client(folder.root)
        return self._until_done(lambda: client.listed(folder), folder)

    def look(self, address: Address) -> StoredObject:
        """An object as it is now."""
        return stored_object(address, self.facts(address))

    def read(self, span: Span) -> bytes:
        """Bytes of an object."""
        client = self._client(span.object.address.root)
        found = bytearray()

        def go_on() -> bytes:
            # What came of a body that was cut is right: the object is pinned, and its end is asked for alone.
            for chunk in client.chunks(Span(span.object, span.start + len(found), span.stop)):
                found.extend(memoryview(chunk)[: span.size - len(found)])
            if len(found) != span.size:
                raise InterruptedReadError(f"the body ended {span.size - len(found):,} bytes before its end")
            return bytes(found)

        return self._until_done(go_on, span.object.address, span) if span.size else b""

    def read_all(self, address: Address) -> bytes:
        """A whole object."""
        found = self.look(address)
        return self.read(Span(found, 0, found.facts.size))

    def _client(self, root: str) -> Client:
        with self._guard:
            if root not in self._clients:
                self._clients[root] = client_of(root, self._options)
            return self._clients[root]

    def _until_done(self, work: Callable[[], T], address: Address, span: Span | None = None) -> T:
        import tenacity

        options = self._options
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(InterruptedReadError),
            stop=tenacity.stop_after_attempt(options.attempts) | tenacity.stop_before_delay(options.patience_seconds),
            wait=_wait,
            before_sleep=lambda state: _log(state, address, span),
            reraise=True,
        )
        try:
            return attempts(work)
        except InterruptedReadError as error:
            tried = attempts.statistics["attempt_number"]
            where = "" if span is None else f"bytes {span.start:,} up to {span.stop:,} "
            raise StoreError(
                f"{where}could not be read in {tried} attempts; the last: {error}",
                code="object-unreachable",
                place=Place(file=str(address)),
                hint="a stream stands where it stood: save its state, or ask it again",
                attempts=tried,
                start=None if span is None else span.start,
                stop=None if span is None else span.stop,
            ) from error
        except StoreError as error:
            if span is not None:
                error.facts |= {"start": span.start, "stop": span.stop}
            raise


def _wait(state: object) -> float:
    """Seconds until the next attempt: twice as many each time, not the same for all, and no fewer than asked for."""
    import tenacity

    assert isinstance(state, tenacity.RetryCallState)
    chosen = tenacity.wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS)(state)
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.wait_seconds if isinstance(error, InterruptedReadError) else None
    return chosen if asked is None else max(chosen, min(asked, LONGEST_ASKED_SECONDS))


def _log(state: object, address: Address, span: Span | None) -> None:
    import tenacity

    assert isinstance(state, tenacity.RetryCallState)
    where = address if span is None else f"{address} bytes {span.start} up to {span.stop}"
    error = state.outcome.exception() if state.outcome is not None else None
    logger.warning("%s: %s; trying again in %.1f seconds", where, error, state.upcoming_sleep)
