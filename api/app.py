"""The application: routes, middleware and services put together."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from types import FrameType
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from mixture._version import __version__
from mixture.api import routes
from mixture.api.answers import KnownNames, Suffixes, describe, page_paths
from mixture.api.dependencies import Services
from mixture.api.middleware import TRACE_HEADER, Edge, Heads, Limits, Measured, Revocable, Turns, problems
from mixture.api.pages import routes as pages
from mixture.api.pages.problem import problem_page
from mixture.api.settings import Settings, load_settings

ENDING = (signal.SIGTERM, signal.SIGINT)
SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter where others wait for it; Python's own is ten times that. A request takes it
some ten times, each time behind threads that compute."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application. Its parts are in `app.state.services`.

    settings: those of the environment and of the file that MIXTURE_CONFIG names, where none are given
    """
    settings = settings or load_settings()
    services = Services(settings)
    app = FastAPI(
        title="mixture",
        version=__version__,
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=_middleware(services),
    )
    app.state.services = services
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    problems.install(app, page=problem_page)
    app.router.routes.extend(_routes()[0])
    app.state.page_paths = _page_paths
    return app


@cache
def _routes() -> tuple[Sequence[BaseRoute], Sequence[BaseRoute]]:
    """All routes, and those of pages: the same in each application of a process, as reading them takes a while."""
    every = APIRouter(dependencies=[KnownNames], generate_unique_id_function=operation_id, redirect_slashes=False)
    of_pages: list[BaseRoute] = []
    for package in (routes, pages):
        for module in sorted(iter_module.name for iter_module in pkgutil.iter_modules(package.__path__)):
            router: APIRouter = importlib.import_module(f"{package.__name__}.{module}").router
            every.include_router(router, include_in_schema=package is routes)
            of_pages += router.routes if package is pages else []
    return every.routes, of_pages


@cache
def _page_paths() -> Mapping[str, Mapping[str, Any]]:
    return page_paths(_routes()[1])


def operation_id(route: APIRoute) -> str:
    """The name of the route's function, the same in every version: clients are generated from it."""
    return route.name.replace("_", "-")


def _middleware(services: Services) -> list[Middleware]:
    """From the outside in."""
    settings = services.settings
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "HEAD"],
        allow_headers=["Accept", "Authorization", "If-None-Match", "If-Range", "Last-Event-ID", "Range"],
        expose_headers=[
            "Accept-Ranges",
            "Content-Range",
            "ETag",
            "Link",
            "Retry-After",
            problems.CODE_HEADER,
            TRACE_HEADER,
        ],
    )
    return [
        Middleware(Measured, metrics=services.metrics),
        Middleware(Edge),
        Middleware(Revocable, watch=services.token_watch),
        *([cors] if settings.cors_origins else []),
        Middleware(Limits, rate=services.rate, max_body_bytes=settings.max_body_bytes),
        Middleware(Turns),
        Middleware(Suffixes),
        Middleware(Heads),
    ]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    services.stopping.clear()
    sys.setswitchinterval(SWITCH_SECONDS)
    await anyio.to_thread.run_sync(services.start)
    await anyio.to_thread.run_sync(app.openapi)
    await anyio.to_thread.run_sync(app.state.page_paths)
    loop = asyncio.get_running_loop()
    # A loop that waits is not woken by what a handler of signals does in its thread.
    with _told_at_once(lambda: loop.call_soon_threadsafe(services.stopping.set)):
        yield
    services.stopping.set()
    services.close()


@contextmanager
def _told_at_once(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` as soon as the process is told to end.

    A server waits for open connections first and ends the lifespan then: too late for streams, which would go on. So
    its own handler is called behind ours, whichever server it is. Only the main thread may set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in ENDING}

    def handler(number: int, frame: FrameType | None) -> None:
        stop()
        if callable(before[number]):
            before[number](number, frame)

    for ending in ENDING:
        signal.signal(ending, handler)
    try:
        yield
    finally:
        for number, own in before.items():
            if own is not None:  # None: set by what is not Python, which can not be set again from here
                signal.signal(number, own)
