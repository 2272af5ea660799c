"""The answer that streams batches: the next record batch is read when the client has taken the last one."""

from __future__ import annotations

import anyio
import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mixture.api.batches.frames import Frames, Pieces
from mixture.api.dependencies import Services
from mixture.api.middleware import Work, client_of, threads_of
from mixture.errors import MixtureError
from mixture.stream import MEDIA_TYPE, End

SENT_BYTES = 1 << 18
"""What is given to the server at a time: it buffers all of that for a slow client, and sends it without a pause for
others."""

LEAVING_SECONDS = 1.0

FILE_ERROR = "file-error"

HEADERS = {
    # An ending that says `stopping` is a whole answer to a cache, and not the one that was asked for.
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}


class StreamFailedError(Exception):
    """A record batch could not be read; the answer had begun, so that the connection is cut."""


class BatchesResponse(Response):
    """A stream of batches. While it is sent it has a place among the client's streams: Problem 429, 503 where none is.

    It ends when all is sent, when the client leaves (at once), when the service was told to end (behind the record
    batch under way), or when a step can not be read: then its ending says so, and the connection is cut before the
    answer's own end.
    """

    def __init__(self, frames: Frames, services: Services) -> None:
        self.status_code = 200
        self.media_type = MEDIA_TYPE
        self.background = None
        self.init_headers(HEADERS)
        self._frames = frames
        self._services = services
        self._gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request. Raises StreamFailedError behind the ending that says so."""
        with self._services.streams.place(client_of(scope)):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            failed = None
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._watch, receive, group.cancel_scope)
                    failed = await self._send(send)
                    group.cancel_scope.cancel()
            finally:
                self._frames.close()
            if failed is not None:
                raise StreamFailedError(f"step {self._frames.next_step} could not be read") from failed

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        """See the client leave. The server then refuses or swallows what is sent, so that sending ends by itself.

        It is cancelled only where that does not happen: a cancelled task keeps its variables, among them what was to be
        sent, until they are collected.
        """
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        await anyio.sleep(LEAVING_SECONDS)
        scope.cancel()

    async def _send(self, send: Send) -> MixtureError | OSError | None:
        """Send record batches and the ending. Gives what went wrong."""
        end = End.STOPPING
        try:
            while not self._services.stopping.is_set():
                pieces = await anyio.to_thread.run_sync(self._next, limiter=threads_of(Work.BATCHES))
                if self._gone:
                    return None
                if pieces is None:
                    end = End.COMPLETE
                    break
                await self._send_pieces(send, pieces)
        except (MixtureError, OSError) as error:
            code = error.code if isinstance(error, MixtureError) else FILE_ERROR
            await self._send_pieces(send, self._frames.ending(End.FAILED, code=code))
            return error
        await self._send_pieces(send, self._frames.ending(end))
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return None

    def _next(self) -> Pieces | None:
        """The next record batch, in a thread; the client may have left while this waited for one."""
        return None if self._gone else next(self._frames, None)

    async def _send_pieces(self, send: Send, pieces: Pieces) -> None:
        for piece in pieces:
            for start in range(0, len(piece), SENT_BYTES):
                if self._gone:
                    return
                await send({"type": "http.response.body", "body": piece[start : start + SENT_BYTES], "more_body": True})
