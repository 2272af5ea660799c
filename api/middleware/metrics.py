"""Figures for Prometheus at /metrics; with PROMETHEUS_MULTIPROC_DIR set, those of all processes of a machine."""

from __future__ import annotations

import os
import platform
import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mixture._version import __version__

disable_created_metrics()  # type: ignore[no-untyped-call]  # a third of all lines, and nothing that Prometheus needs

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
CLIENT_LEFT = 499
"""The status, in figures and logs, of a request whose client left before it was answered."""
OTHER = "other"
"""The handler of requests that no route takes: addresses are anyone's, and must not become labels."""


class Metrics:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        http = ("handler", "method")
        registry = self.registry
        self.requests = Counter("http_requests", "Requests answered.", (*http, "status"), registry=registry)
        self.seconds = Histogram("http_request_duration_seconds", "From request to last byte.", http, registry=registry)
        self.request_bytes = Summary("http_request_size_bytes", "Bodies of requests.", http, registry=registry)
        self.response_bytes = Summary("http_response_size_bytes", "Bodies of answers.", http, registry=registry)
        self.streams = Gauge("mixture_stream_active", "Open streams.", registry=registry, multiprocess_mode="livesum")
        self.sequences = Counter("mixture_sequences_served", "Sequences streamed.", ("mixture",), registry=registry)
        self.tokens = Counter(
            "mixture_tokens_served", "Tokens streamed.", ("mixture", "phase", "domain"), registry=registry
        )
        self.step_seconds = Histogram("mixture_stream_batch_seconds", "Making one step of a stream.", registry=registry)
        self.publishes = Counter("mixture_publishes", "Mixtures published.", ("change",), registry=registry)
        self.runs = Counter("mixture_runs_registered", "Runs registered.", registry=registry)
        self.reports = Counter("mixture_run_reports", "Reports added to the logs of runs.", registry=registry)
        build = Gauge(
            "mixture_build_info", "Always 1.", ("version", "python"), registry=registry, multiprocess_mode="livemax"
        )
        build.labels(__version__, platform.python_version()).set(1)

    def text(self) -> bytes:
        """All figures in Prometheus' text format."""
        if MULTIPROCESS not in os.environ:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    @staticmethod
    def close() -> None:
        """Of several processes, this one has no open streams any more."""
        if MULTIPROCESS in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


class Measured:
    """Middleware: counts requests by the route that took them."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, asked, answered = time.perf_counter(), CLIENT_LEFT, 0, 0

        async def counted() -> Message:
            nonlocal asked
            message = await receive()
            asked += len(message.get("body", b""))
            return message

        async def counting(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status = message["status"]
            answered += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, counted, counting)
        finally:
            labels = (_handler(scope), scope["method"] if scope["method"] in _METHODS else OTHER)
            self._metrics.requests.labels(*labels, status).inc()
            self._metrics.seconds.labels(*labels).observe(time.perf_counter() - began)
            self._metrics.request_bytes.labels(*labels).observe(asked)
            self._metrics.response_bytes.labels(*labels).observe(answered)


_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


def _handler(scope: Scope) -> str:
    """The route's path as it is written in the code, such as /v1/mixtures/{ref}."""
    return getattr(scope.get("route"), "path", OTHER)
