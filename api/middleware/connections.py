"""Connections of the server: how long a client may take to ask and to read, and how many connections there may be.

uvicorn has a time limit between requests and none while a request's head comes in or its answer goes out, and its limit
of concurrency answers requests, not connections that never become one: a client that opens connections and says little
could take all files that the process may open, and one that does not read could fill its memory with answers.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 10.0
ANSWER_SECONDS = 20.0
"""How long a client may take nothing of an answer that is there whole: 64 kB, or the rest of it, count."""
STREAM_SECONDS = 600.0
"""The same of an answer that is made as it is read, and holds a piece at a time: a trainer that evaluates reads nothing
for minutes. It has a place among the client's streams."""
ANSWERS_BYTES = 256 << 20
"""Answers that were made whole and not taken yet, of all clients. Above that those are cut whose clients have taken
nothing for the longest time."""
STEP_BYTES = 1 << 16
LOOK_SECONDS = 1.0
_AT_ONCE = struct.pack("ii", 1, 0)
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


def most_of_one_address() -> int:
    """Three quarters of the connections: a proxy in front may need many, and nobody all."""
    return most_connections() * 3 // 4


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type] # which of uvicorn's is known when it is imported
    """uvicorn's connection, closed where a request's head is not there in time or an answer is not read, or at once
    where there are too many connections."""

    head_seconds = HEAD_SECONDS
    answer_seconds = ANSWER_SECONDS
    stream_seconds = STREAM_SECONDS
    answers_bytes = ANSWERS_BYTES
    _addresses: ClassVar[Counter[str]] = Counter()
    _waiting: asyncio.TimerHandle | None = None
    _looking: asyncio.TimerHandle | None = None
    unread_bytes = 0
    """Of an answer that was made whole, until the client has taken all of it."""
    taken_at = 0.0
    """When the client took something last."""
    _left = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(transport)
        host = self._host()
        self._addresses[host] += 1
        if len(self.connections) > most_connections() or self._addresses[host] > most_of_one_address():
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
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self.unread_bytes = 0
        type(self)._addresses -= Counter([self._host()])  # those of none are left out
        super().connection_lost(exc)

    def _host(self) -> str:
        return str(self.client[0]) if self.client else ""

    def pause_writing(self) -> None:
        """The client takes an answer more slowly than it is made."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """The client has taken nearly all that was given to it."""
        super().resume_writing()
        self.taken_at = self.loop.time()

    def on_response_complete(self) -> None:
        """All of an answer was given to the client, which may not have taken it."""
        left = self.transport.get_write_buffer_size()
        super().on_response_complete()
        self._watch()
        if left:
            self.unread_bytes = left
            self._watch_reader()
            self._make_room()

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
        if self.unread_bytes:
            self._watch()  # the answer before is still being read
        elif self._asks():
            self.transport.abort()

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _watch_reader(self) -> None:
        """Look from now on whether the client reads."""
        if self._looking is None:
            self.taken_at, self._left = self.loop.time(), self.transport.get_write_buffer_size()
            self._looking = self.loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        left, now = self.transport.get_write_buffer_size(), self.loop.time()
        if not left:
            self.unread_bytes = 0
            return
        if left <= self._left - STEP_BYTES or left > self._left:
            self.taken_at, self._left = now, left
        if now - self.taken_at >= (self.answer_seconds if self.unread_bytes else self.stream_seconds):
            self._cut()
            return
        self._looking = self.loop.call_later(LOOK_SECONDS, self._look)
        if self.unread_bytes:
            self._make_room()

    def _make_room(self) -> None:
        """Cut connections where the answers that nobody has taken are too many."""
        unread = [connection for connection in self.connections if connection.unread_bytes]
        held = sum(one.unread_bytes for one in unread)
        if held <= self.answers_bytes:
            return
        before = self.loop.time() - LOOK_SECONDS
        for one in sorted(unread, key=lambda one: one.taken_at):
            if held <= self.answers_bytes or one.taken_at > before:
                return
            held -= one.unread_bytes
            one._cut()

    def _cut(self) -> None:
        """Close at once, without what was not taken: the system would hold megabytes of it for minutes."""
        self.unread_bytes = 0
        connected = self.transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()
