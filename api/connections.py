"""Connections of the server: how long a client may take to say what it asks for, and how many there may be.

uvicorn has a time limit between requests and none while a request's head comes in, and its limit of concurrency answers
requests, not connections that never become one: a client that opens connections and says little could take all files
that the process may open.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 10.0
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nX-Error-Code: busy\r\nRetry-After: 5\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


def raise_file_limit() -> int:
    """Let this process, and those that it starts, open as many files as the system allows; gives how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections() -> int:
    """Three eighths of the files that the process may open: stores keep half of them, and some are for the rest."""
    return max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] * 3 // 8)


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type] # which of uvicorn's is known when it is imported
    """uvicorn's connection, closed where a request's head is not there in time, or at once where there are too many."""

    head_seconds = HEAD_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.write(FULL)
            transport.close()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A part of a request, or several."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Begin to wait for a head where there is none, and stop where there is one."""
        if not self._asks():
            self._stop()
        elif self._waiting is None:
            self._waiting = asyncio.get_running_loop().call_later(self.head_seconds, self._over)

    def _asks(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)

    def _over(self) -> None:
        self._waiting = None
        if self._asks():
            self.transport.abort()

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
