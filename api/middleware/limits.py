"""Limits that keep one client from taking the service from the others: bodies, rate, streams; in one copy each."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from math import inf

import anyio
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mixture.api.database import Scope as TokenScope
from mixture.api.middleware.addresses import own_path
from mixture.api.middleware.metrics import Metrics
from mixture.api.middleware.problems import Problem, answer
from mixture.api.settings import Settings

MOST_CLIENTS = 10_000
LONGEST_LENGTH = 18
JSON_BODY = "application/json"
PLANS_AT_ONCE = 2
"""Plans that one copy makes at a time: each may hold a large table in memory."""
REPORTS_AT_ONCE = 8
"""Of the 40 threads that requests have."""
MOST_WAITING = 2000
"""Requests that wait to write, of each kind. They hold no thread, but their bodies."""
WRITE_WAIT_SECONDS = 60.0
MOST_WHAT_IFS_WAITING = 8
WHAT_IF_WAIT_SECONDS = 10.0
BODY_SECONDS = 20.0
"""How long a client may send nothing of a body that it has begun: 64 kB, or the rest of it, count."""
LONGEST_HEADER = 8192
"""Bytes of one header. Some are read in more than linear time."""
MOST_PARAMETERS = 1100
"""Of a query: a thousand positions, and what is asked of them."""
STEP_BYTES = 1 << 16
BODIES_BYTES = 256 << 20
"""Of all bodies that are there in part or whole, until their requests are answered; of one client half of that."""
BODILESS = ("GET", "HEAD")
"""What comes as a body of these is read by no route; who answers them waits for the client to leave."""
UNLIMITED = ("/healthz", "/readyz", "/metrics")


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """A token bucket a client: `burst` requests at once, refilled by `per_second`. 0 a second is no limit."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._guard = threading.Lock()

    def take(self, client: str, *, now: float | None = None) -> float:
        """Take one request; gives 0.0, or the seconds to wait until there is one."""
        if not self._per_second:
            return 0.0
        now = time.monotonic() if now is None else now
        with self._guard:
            bucket = self._buckets.get(client) or _Bucket(self._burst, now)
            self._buckets[client] = bucket
            self._buckets.move_to_end(client)
            while len(self._buckets) > MOST_CLIENTS:
                self._buckets.popitem(last=False)
            bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._per_second)
            bucket.at = now
            if bucket.tokens < 1:
                return (1 - bucket.tokens) / self._per_second
            bucket.tokens -= 1
            return 0.0


class StreamPlaces:
    """How many streams are open, for each client and in all."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._each = settings.streams_per_client
        self._all = settings.max_streams
        self._metrics = metrics
        self._open: Counter[str] = Counter()
        self._guard = threading.Lock()

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """A place for one stream while the block runs. Raises Problem: 429 `too-many-streams`, 503 `busy`."""
        with self._guard:
            if self._open[client] >= self._each:
                detail = f"this client has {self._each} streams open, as many as it may"
                raise Problem(429, detail, code="too-many-streams", headers={"Retry-After": "1"})
            if self._open.total() >= self._all:
                detail = f"{self._all} streams are open, as many as this copy serves"
                raise Problem(503, detail, code="busy", headers={"Retry-After": "1"})
            self._open[client] += 1
        self._metrics.streams.inc()
        try:
            yield
        finally:
            self._metrics.streams.dec()
            with self._guard:
                self._open[client] -= 1
                if not self._open[client]:
                    del self._open[client]


class BodyBytes:
    """The bytes of bodies that are held, of each client and of all. A body's first 64 kB are not counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()

    def take(self, client: str, num_bytes: int) -> None:
        """Hold so many more. Raises Problem 503 `busy` where there is no room."""
        if self._held[client] + num_bytes > self._most // 2 or self._held.total() + num_bytes > self._most:
            detail = "too many bodies are being sent"
            raise Problem(503, detail, code="busy", headers={"Retry-After": "5"})
        self._held[client] += num_bytes

    def give_back(self, client: str, num_bytes: int) -> None:
        """Hold so many less."""
        self._held[client] -= num_bytes
        if not self._held[client]:
            del self._held[client]


class WritePlaces:
    """Requests that write, a few at a time. The others wait without a thread, so that reading goes on beside them
    however long a plan takes, and however long the database is written to by another process."""

    def __init__(
        self,
        at_once: int,
        *,
        most_waiting: int,
        seconds: float,
        each: int = 1,
        busy: str = "too many requests wait to write",
    ) -> None:
        self._told = busy
        self._each = each
        self._limiter = anyio.CapacityLimiter(at_once)
        self._clients: dict[str, anyio.CapacityLimiter] = {}
        self._most_waiting = most_waiting
        self._seconds = seconds

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """A place while the block runs. Raises Problem 503 `busy` where there is none in time, or too many wait.

        client: who waits for itself: of its requests, `each` at a time wait for a place among those of others
        """
        own = self._clients.setdefault(client, anyio.CapacityLimiter(self._each))
        needed = (own, self._limiter)
        try:
            if any(
                limiter.available_tokens <= 0 and limiter.statistics().tasks_waiting >= self._most_waiting
                for limiter in needed
            ):
                raise self._busy()
            with ExitStack() as taken:
                try:
                    with anyio.fail_after(self._seconds):
                        for limiter in needed:
                            await limiter.acquire()
                            taken.callback(limiter.release)
                except TimeoutError:
                    raise self._busy() from None
                yield
        finally:
            if not own.borrowed_tokens and not own.statistics().tasks_waiting:
                self._clients.pop(client, None)

    def _busy(self) -> Problem:
        return Problem(503, self._told, code="busy", headers={"Retry-After": "5"})


def write_places() -> Mapping[TokenScope, WritePlaces]:
    """The places of one copy, for each scope that lets a request write."""
    return {
        TokenScope.PUBLISH: WritePlaces(
            PLANS_AT_ONCE, most_waiting=MOST_WAITING, seconds=WRITE_WAIT_SECONDS, each=PLANS_AT_ONCE
        ),
        TokenScope.RUN: WritePlaces(
            REPORTS_AT_ONCE, most_waiting=MOST_WAITING, seconds=WRITE_WAIT_SECONDS, each=REPORTS_AT_ONCE // 2
        ),
    }


def what_if_places() -> WritePlaces:
    """Places for plans that anybody may ask for: beside those of who publishes, and no more than one at a time."""
    busy = "too many mixtures are being planned again"
    return WritePlaces(1, most_waiting=MOST_WHAT_IFS_WAITING, seconds=WHAT_IF_WAIT_SECONDS, busy=busy)


def client_of(scope: Scope) -> str:
    """Who is counted as one client: its address (uvicorn puts it right behind proxies that are trusted)."""
    client = scope.get("client")
    return client[0] if client else "unknown"


class Limits:
    """Middleware: the rate of a client, the size of a body (declared or not) and its kind, before a route sees it; how
    long a body takes to come, and how many bytes of bodies there are."""

    body_seconds = BODY_SECONDS
    bodies_bytes = BODIES_BYTES

    def __init__(self, app: ASGIApp, rate: RateLimit, max_body_bytes: int) -> None:
        self.app = app
        self._rate = rate
        self._max_body_bytes = max_body_bytes
        self._bodies = BodyBytes(self.bodies_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        problem = self._too_often(scope) or _refused_head(scope) or self._refused_body(Headers(scope=scope))
        if problem is not None:
            await answer(Request(scope), problem)(scope, receive, send)
            return
        client, taken, counted, more, mark, due = client_of(scope), 0, 0, True, 0, inf

        async def bounded() -> Message:
            nonlocal taken, counted, more, mark, due
            if not more or scope["method"] in BODILESS:
                return await receive()
            now = asyncio.get_running_loop().time()
            if due == inf or taken >= mark + STEP_BYTES:
                mark, due = taken, now + self.body_seconds
            try:
                async with asyncio.timeout_at(due):
                    message = await receive()
            except TimeoutError:
                raise self._too_slow() from None
            taken += len(message.get("body", b""))
            more = message.get("more_body", False)
            if taken > self._max_body_bytes:
                raise self._too_large()
            if taken > STEP_BYTES:
                self._bodies.take(client, taken - STEP_BYTES - counted)
                counted = taken - STEP_BYTES
            return message

        try:
            await self.app(scope, bounded, send)
        finally:
            self._bodies.give_back(client, counted)

    def _too_often(self, scope: Scope) -> Problem | None:
        if own_path(scope) in UNLIMITED:
            return None
        wait = self._rate.take(client_of(scope))
        if not wait:
            return None
        headers = {"Retry-After": str(max(1, round(wait)))}
        return Problem(HTTPStatus.TOO_MANY_REQUESTS, "this client asks too often", headers=headers)

    def _refused_body(self, headers: Headers) -> Problem | None:
        declared = headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdecimal()):
            return Problem(HTTPStatus.BAD_REQUEST, "Content-Length is not a number")
        if len(declared) > LONGEST_LENGTH or int(declared) > self._max_body_bytes:
            return self._too_large()
        if declared == "0" and "transfer-encoding" not in headers:
            return None
        media = headers.get("content-type", "").split(";")[0].strip().lower()
        coding = headers.get("content-encoding", "identity").lower()
        if media != JSON_BODY or coding != "identity":
            detail = f"a body of {media or 'no stated type'}" + ("" if coding == "identity" else f", as {coding}")
            hint = f"Content-Type: {JSON_BODY}, without Content-Encoding"
            return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, hint=hint)
        return None

    def _too_slow(self) -> Problem:
        detail = f"the body did not come: for {self.body_seconds:g} seconds less than {STEP_BYTES:,} bytes"
        return Problem(HTTPStatus.REQUEST_TIMEOUT, detail)

    def _too_large(self) -> Problem:
        most = self._max_body_bytes
        return Problem(413, f"a body has at most {most:,} bytes", facts={"max_body_bytes": most})


def _refused_head(scope: Scope) -> Problem | None:
    """What a head may not have: it is looked through on the loop, before anything of a request is known."""
    name = next((name for name, value in scope["headers"] if len(value) > LONGEST_HEADER), None)
    if name is not None:
        return Problem(431, f"the header {name.decode('latin-1')[:100]!r} has more than {LONGEST_HEADER:,} bytes")
    if scope["query_string"].count(b"&") >= MOST_PARAMETERS:
        return Problem(414, f"the query has more than {MOST_PARAMETERS:,} parameters")
    return None
