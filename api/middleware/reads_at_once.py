"""Turns of a client: a few of its reads are worked on at a time and the others wait, so that who asks for much at once
waits for itself, and others do not. Writes and what-ifs have places of their own, where they wait without a thread."""

from __future__ import annotations

from contextlib import ExitStack

import anyio
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mixture.api.middleware.addresses import own_path
from mixture.api.middleware.limits import BODILESS, UNLIMITED, client_of
from mixture.api.middleware.problems import Problem, answer

TURNS_EACH = 4
"""Reads of one client that are worked on at a time. What computes takes the interpreter from all others."""
MOST_WAITING = 256
"""Reads of one client that wait for a turn."""


class Turns:
    """Middleware: a request has its turn until its answer begins; what is streamed then has places of its own.

    A request whose client has left is not worked on. One that was begun keeps its turn until its thread
    ends, whether or not somebody still waits for it.

    clients: those with a read under way, by address
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.clients: dict[str, anyio.CapacityLimiter] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in BODILESS or own_path(scope) in UNLIMITED:
            await self.app(scope, receive, send)
            return
        client = client_of(scope)
        turns = self.clients.setdefault(client, anyio.CapacityLimiter(TURNS_EACH))
        if turns.statistics().tasks_waiting >= MOST_WAITING:
            detail = f"{MOST_WAITING} requests of this client wait already"
            problem = Problem(503, detail, code="busy", headers={"Retry-After": "5"})
            await answer(Request(scope), problem)(scope, receive, send)
            return
        first: Message | None = None

        async def again() -> Message:
            nonlocal first
            message, first = first, None
            return message or await receive()

        async def begun(message: Message) -> None:
            turn.close()
            await send(message)

        with ExitStack() as turn:
            try:
                await turns.acquire_on_behalf_of(turn)
            finally:
                self._forget(client)
            turn.callback(self._forget, client)
            turn.callback(turns.release_on_behalf_of, turn)
            with anyio.CancelScope() as at_once:
                at_once.cancel()
                first = await receive()
            if first is not None and first["type"] == "http.disconnect":
                return
            await self.app(scope, again, begun)

    def _forget(self, client: str) -> None:
        """Clients without a request are not kept."""
        turns = self.clients.get(client)
        if turns is not None and not turns.borrowed_tokens and not turns.statistics().tasks_waiting:
            del self.clients[client]
