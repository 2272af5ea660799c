"""Requests to a service: what it refuses is an error of this library, what only failed this time may be tried again."""

from __future__ import annotations

import http.client
import json
import logging
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from mixture.errors import Place, StoreError, StreamError

T = TypeVar("T")

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 10.0
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that another attempt may not meet."""
OF_STORES = frozenset({"store-missing"})
LONGEST_PROBLEM = 1 << 16


logger = logging.getLogger("mixture.client")


class InterruptedRequestError(Exception):
    """An answer did not come, or did not come whole and undamaged; the next attempt may do better.

    wait_seconds: what the service said to wait, or None
    """

    def __init__(self, message: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


FAILURES = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Service:
    """Where a mixture is served.

    url:              of the mixture: http://HOST/v1/mixtures/NAME, or with NAME@sha256:DIGEST
    token:            sent as a bearer token; never to an address that a redirection leads to
    timeout_seconds:  without a byte, after which a connection is given up
    patience_seconds: without progress, after which trying again is given up
    """

    url: str
    token: str | None = field(repr=False)
    timeout_seconds: float
    patience_seconds: float

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "http://HOST:PORT/v1/mixtures/NAME is right here"
            raise StreamError(f"{self.url!r} is no address of a mixture", code="url-invalid", hint=hint)

    @contextmanager
    def open(
        self, path: str, *, accept: str, query: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to GET of an address below the mixture's, while the block runs.

        Raises InterruptedRequestError, also for what goes wrong with the connection inside the block; StreamError or
        StoreError with the problem's code where the service refuses.
        """
        address = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        request = urllib.request.Request(address, headers={"Accept": accept, "Accept-Encoding": "identity"})
        if self.token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_seconds) as response:
                if "Content-Length" not in response.headers and "Transfer-Encoding" not in response.headers:
                    # http.client takes a head that was cut for a whole one, and then nothing for the whole body.
                    raise InterruptedRequestError(f"{address}: the head of the answer says no length")
                yield response
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error, address) from error
        except FAILURES as error:
            raise InterruptedRequestError(f"{address}: {error}") from error

    def read(self, path: str, *, accept: str = "application/json") -> bytes:
        """The whole body of GET, tried again while that may help."""

        def once() -> bytes:
            with self.open(path, accept=accept) as response:
                body: bytes = response.read()
                return body

        return self.attempts().until_done(once)

    def attempts(self) -> Attempts:
        """Attempts at one thing that this service is to do."""
        return Attempts(self.url, self.patience_seconds)


class Attempts:
    """Trying again: after 0.1 seconds, then twice as long each time, up to 10; given up when patience ends."""

    def __init__(self, url: str, patience_seconds: float) -> None:
        self._url = url
        self._patience = patience_seconds
        self._failures = 0
        self._since: float | None = None

    def succeeded(self) -> None:
        """There was progress: patience begins anew."""
        self._failures, self._since = 0, None

    def failed(self, error: InterruptedRequestError) -> None:
        """Wait until the next attempt. Raises StreamError `service-unreachable` where patience has ended."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        left = self._since + self._patience - now
        if left <= 0:
            raise StreamError(
                f"no progress for {self._patience:g} seconds and {self._failures + 1} attempts; the last: {error}",
                code="service-unreachable",
                place=Place(file=self._url),
                hint="the stream stands where it stood: save its state, or ask it again",
                attempts=self._failures + 1,
            ) from error
        wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(self._failures, 32))
        # Thousands of ranks that were cut at once do not come back at once. Nothing of the data depends on it.
        wait *= random.uniform(0.5, 1.0)
        if error.wait_seconds is not None:
            wait = max(wait, min(error.wait_seconds, LONGEST_WAIT_SECONDS))
        wait = min(wait, left)
        self._failures += 1
        logger.warning("%s; trying again in %.1f seconds", error, wait)
        time.sleep(wait)

    def until_done(self, work: Callable[[], T]) -> T:
        """What the work gives when it is not interrupted."""
        while True:
            try:
                return work()
            except InterruptedRequestError as error:
                self.failed(error)


def _refused(error: urllib.error.HTTPError, address: str) -> Exception:
    """The error that a status which is no success stands for."""
    problem = _problem(error)
    detail = str(problem.get("detail") or error.reason)
    if error.code in PASSING or "code" not in problem:
        # What is no problem of the service was answered by something before it, perhaps while it is being replaced.
        after = error.headers.get("Retry-After", "")
        wait = float(after) if after.isascii() and after.isdecimal() else None
        return InterruptedRequestError(f"{address}: {error.code} {detail}", wait_seconds=wait)
    code, hint = str(problem["code"]), problem.get("hint")
    kind = StoreError if code in OF_STORES else StreamError
    place = Place(file=address)
    return kind(detail, code=code, place=place, hint=None if hint is None else str(hint), status=error.code)


def _problem(error: urllib.error.HTTPError) -> dict[str, object]:
    """The problem (RFC 9457) in the body, or nothing where it has none."""
    try:
        found = json.loads(error.read(LONGEST_PROBLEM))
    except (ValueError, *FAILURES):
        return {}
    return found if isinstance(found, dict) else {}
