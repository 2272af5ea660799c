"""The outermost middleware: a trace id, security headers, the log of writes, and an answer to what nobody foresaw."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mixture.api.middleware.limits import client_of
from mixture.api.middleware.metrics import CLIENT_LEFT
from mixture.api.middleware.problems import Problem, answer

TRACE_HEADER = "X-Request-ID"
_TRACE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})

NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The content policy of data: it loads and runs nothing. Pages set their own."""

SECURITY_HEADERS = {
    "Content-Security-Policy": NOTHING,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

logger = logging.getLogger("mixture.service")
writes = logging.getLogger("mixture.writes")
"""One line a write, JSON: who, what, from where, what came of it. Never a token, never a body."""


class Edge:
    """What every answer goes through, problems of other middleware included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(TRACE_HEADER, "")
        trace_id = given if _TRACE.fullmatch(given) else secrets.token_hex(8)
        state = scope.setdefault("state", {})
        state["trace_id"] = trace_id
        began, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[TRACE_HEADER] = trace_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except ClientDisconnect:
            status = CLIENT_LEFT  # before its body was there: nobody is answered, and nothing went wrong here
        except Exception:
            # The text of an exception nobody foresaw may hold anything; it goes to the log, not to the client.
            logger.exception("%s %s failed, trace %s", scope["method"], scope["path"], trace_id)
            if status:
                raise  # the answer has begun: only a cut connection tells that it is not whole
            problem = Problem(500, "the service failed to answer this; its log says why", code="internal-error")
            await answer(Request(scope), problem)(scope, receive, sending)
        finally:
            if scope["method"] not in _READING:
                said = {
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "caller": state.get("caller"),
                    "client": client_of(scope),
                    "trace_id": trace_id,
                    "milliseconds": round(1000 * (time.perf_counter() - began)),
                }
                writes.info(json.dumps(said), extra={"write": said})
