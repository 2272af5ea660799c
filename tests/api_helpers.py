"""What tests of the service share: a real server on a free port, and requests within this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute

from mixture.cli.service.serve import listen

MIXTURES = Path(__file__).parents[1] / "mixtures"


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application that is served on a free port while the block runs."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    # It listens from the start: a request waits until the application has started.
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield "http://{}:{}".format(*listening.getsockname())
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def client_of(app: Any, **options: Any) -> Iterator[httpx2.Client]:
    """A client of an application that is served while the block runs."""
    with serving(app) as url, httpx2.Client(base_url=url, timeout=30, **options) as client:
        yield client


def ask(app: Any, method: str, address: str, *, root_path: str = "", **options: Any) -> httpx2.Response:
    """One request within this process, without a server: `ask(app, "GET", "/v1/mixtures")`.

    root_path: the prefix of the address that the application is put up below
    """

    async def asked() -> httpx2.Response:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False, root_path=root_path)
        async with httpx2.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, address, **options)

    return asyncio.run(asked())


def routes_of(app: FastAPI) -> list[APIRoute]:
    """All routes of an application, those of included routers too."""
    found: list[APIRoute] = []
    waiting: list[Any] = list(app.routes)
    while waiting:
        route = waiting.pop()
        if isinstance(route, APIRoute):
            found.append(route)
        else:
            inner = getattr(route, "original_router", None) or getattr(route, "app", None)
            waiting += getattr(inner, "routes", ())
    return found
