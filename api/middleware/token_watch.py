"""Answers under way end when their token is revoked, in every copy of the service: the database is asked for all
of them together, as long as there are any that last."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager

import anyio
import anyio.to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mixture.api.middleware.threads import Work, threads_of
from mixture.errors import MixtureError

POLL_SECONDS = 1.0

logger = logging.getLogger("mixture.service")


class TokenWatch:
    """The answers under way of one copy, by the id of their token. Used from one event loop.

    revoked: those of some tokens that are revoked; asked in a thread
    """

    def __init__(self, revoked: Callable[[Collection[str]], Collection[str]]) -> None:
        self._revoked = revoked
        self._answers: dict[str, set[anyio.CancelScope]] = defaultdict(set)
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def cut(self, token_id: str, answer: anyio.CancelScope) -> Iterator[None]:
        """Cancel an answer where its token is revoked while the block runs."""
        self._answers[token_id].add(answer)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            yield
        finally:
            self._answers[token_id].discard(answer)
            if not self._answers[token_id]:
                del self._answers[token_id]

    async def _poll(self) -> None:
        try:
            while await asyncio.sleep(POLL_SECONDS, self._answers):  # an answer that is short is never asked for
                try:
                    ids = list(self._answers)
                    revoked = await anyio.to_thread.run_sync(self._revoked, ids, limiter=threads_of(Work.LOGS))
                except (MixtureError, OSError) as error:
                    logger.warning("whether tokens are revoked cannot be read now: %s", error)
                    continue
                for token_id in revoked:
                    for answer in tuple(self._answers.get(token_id, ())):
                        answer.cancel()
        finally:
            self._polling = None


class Revocable:
    """Middleware: an answer is cut where the token that it was given to is revoked. Who asks again is told why.

    A client sees a body that was cut, whatever it is, and however slowly it reads.
    """

    def __init__(self, app: ASGIApp, watch: TokenWatch) -> None:
        self.app = app
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        with anyio.CancelScope() as answer, ExitStack() as watched:

            async def watching(message: Message) -> None:
                caller = state.get("holder")
                if message["type"] == "http.response.start" and caller is not None:
                    watched.enter_context(self._watch.cut(caller.token_id, answer))
                await send(message)

            await self.app(scope, receive, watching)
        if answer.cancelled_caught:
            logger.info("an answer to %s was cut: its token was revoked", state["holder"].name)
