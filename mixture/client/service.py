"""Requests to a service: what it refuses is an error of this library, what only failed this time may be tried again."""

from __future__ import annotations

import http.client
import json
import logging
import random
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

from mixture.client.problems import refusal_of
from mixture.errors import Place, ServiceError
from mixture.json_text import parse_json

T = TypeVar("T")

TIMEOUT_SECONDS, PATIENCE_SECONDS = 60.0, 600.0
OPENING_SECONDS = 10.0
"""Patience with a service that has not answered yet: its address may be wrong."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 10.0
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that another attempt may not meet."""
JSON_TYPE = "application/json"
NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})


logger = logging.getLogger("mixture.client")


class InterruptedRequestError(Exception):
    """An answer did not come, or did not come whole and undamaged; the next attempt may do better.

    wait_seconds: what the service said to wait, or None
    refusal:      what the service said, where it said something
    """

    def __init__(self, message: str, *, wait_seconds: float | None = None, refusal: ServiceError | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds
        self.refusal = refusal


FAILURES = (OSError, http.client.HTTPException)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Only what reads follows one: urllib would make a GET of a POST, and lose its body."""

    def redirect_request(self, req: urllib.request.Request, *rest: Any) -> urllib.request.Request | None:  # noqa: ANN401
        return super().redirect_request(req, *rest) if req.get_method() == "GET" else None


@dataclass(frozen=True)
class Service:
    """A service, or a mixture at one.

    url:              that paths are put behind: http://HOST, or http://HOST/v1/mixtures/NAME
    token:            sent as a bearer token; never to an address that a redirection leads to
    timeout_seconds:  without a byte, after which a connection is given up
    patience_seconds: without progress, after which trying again is given up; 0: nothing is tried again
    """

    url: str
    token: str | None = field(default=None, repr=False)
    timeout_seconds: float = TIMEOUT_SECONDS
    patience_seconds: float = PATIENCE_SECONDS

    def __post_init__(self) -> None:
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            hint = "it is one line of visible ASCII, as `mixture tokens create` prints it"
            raise ServiceError("this can not be a token", code="token-invalid", hint=hint)

    @contextmanager
    def open(
        self,
        path: str,
        *,
        accept: str,
        query: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request, while the block runs.

        Raises InterruptedRequestError, also for what goes wrong with the connection inside the block; ServiceError with
        the problem's code where the service refuses.
        """
        address = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        said = {"Accept": accept, "Accept-Encoding": "identity", **(headers or {})}
        if body is not None:
            said["Content-Type"] = JSON_TYPE
        request = urllib.request.Request(address, body, said, method=method)
        if self.token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        opener = urllib.request.build_opener(_Redirects)
        try:
            with opener.open(request, timeout=self.timeout_seconds) as response:
                if "Content-Length" not in response.headers and "Transfer-Encoding" not in response.headers:
                    # http.client takes a head that was cut for a whole one, and then nothing for the whole body.
                    raise InterruptedRequestError(f"{address}: the head of the answer says no length")
                yield response
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error, address) from error
        except FAILURES as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLError) and reason.reason in NOT_TLS:
                plain = f"http://{address.partition('://')[2]}"
                message, hint = "nothing speaks TLS at this address", f"does {plain} answer?"
                raise ServiceError(message, code="url-invalid", place=Place(file=address), hint=hint) from error
            raise InterruptedRequestError(f"{address}: {reason}") from error

    def read(self, path: str, *, accept: str = JSON_TYPE) -> bytes:
        """The whole body of GET, tried again while that may help."""

        def once() -> bytes:
            with self.open(path, accept=accept) as response:
                body: bytes = response.read()
                return body

        return self.attempts().until_done(once)

    def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:  # noqa: ANN401 JSON
        """The JSON that a request gives, tried again while that may help: it has to be safe to send it twice."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()

        def once() -> Any:  # noqa: ANN401 JSON
            with self.open(path, accept=JSON_TYPE, method=method, body=data, headers=headers) as response:
                text = response.read()
            try:
                return parse_json(text)
            except ValueError as error:
                raise InterruptedRequestError(f"{self.url}{path}: the answer is not JSON") from error

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
        """Wait until the next attempt. Raises ServiceError `service-unreachable` where patience has ended."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        left = self._since + self._patience - now
        if left <= 0:
            raise self._given_up(error) from error
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

    def _given_up(self, error: InterruptedRequestError) -> ServiceError:
        tried = self._failures + 1
        if tried == 1 and error.refusal is not None:
            return error.refusal
        return ServiceError(
            str(error)
            if tried == 1
            else f"no progress for {self._patience:g} seconds and {tried} attempts; the last: {error}",
            code="service-unreachable",
            place=None if tried == 1 else Place(file=self._url),
            hint="is a service running there? A stream stands where it stood: save its state, or ask it again",
            attempts=tried,
        )


def _refused(error: urllib.error.HTTPError, address: str) -> Exception:
    """The error that a status which is no success stands for."""
    refusal = refusal_of(error, address)
    if refusal is None or error.code in PASSING:
        # What is no problem of the service was answered by something before it, perhaps while it is being replaced.
        after = error.headers.get("Retry-After", "")
        wait = float(after) if after.isascii() and after.isdecimal() else None
        said = error.reason if refusal is None else refusal.message
        where = error.headers.get("Location")
        led = f", and leads to {where}" if where else ""
        return InterruptedRequestError(f"{address}: {error.code} {said}{led}", wait_seconds=wait, refusal=refusal)
    return refusal
