"""HEAD: the answer of GET without its body, for every address."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mixture.api.middleware.ranges import mark_head


class _HeadAnsweredError(Exception):
    """The headers are there; what would make a body goes no further."""


class Heads:
    """Middleware: a route is asked as for GET, and stopped when its headers are there.

    So a stream of batches or of events takes its place, is refused as it would be, and reads nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        # A copy: what stands around this, the server above all, sees that it was HEAD.
        mark_head(scope)
        asked = {**scope, "method": "GET"}

        started: list[Message] = []

        async def stopped(message: Message) -> None:
            started.append(message)
            raise _HeadAnsweredError

        try:
            await self.app(asked, receive, stopped)
        except* _HeadAnsweredError:
            # By now the route has let go of all that it held.
            await send(started[0])
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if "route" in asked:
                scope["route"] = asked["route"]
