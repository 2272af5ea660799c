"""`mixture serve`: the HTTP service."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

GRACE_SECONDS = 3
"""What streams and requests under way have to end in, once the process was told to: it is gone within five seconds."""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture serve --port 8000; then open http://127.0.0.1:8000/docs")(serve)


def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Processes that share the port.")] = 1,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings, TOML; MIXTURE_… in the environment wins.")
    ] = None,
) -> None:
    """Show mixtures, schedules, catalogs and runs over HTTP, and stream batches. Settings: see the README."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from api.logs import LOGGING
    from api.settings import CONFIG_VARIABLE, load_settings

    if config is not None:
        # Workers are processes of their own, which read their settings themselves.
        os.environ[CONFIG_VARIABLE] = str(config.absolute())
    settings = load_settings()
    # The port is taken before anything is printed; requests wait in it until the service has started.
    with listen(host, port) as listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        print(f"Open {address}/docs, or ask {address}/v1/mixtures. What changes is kept in {settings.data_dir}.")
        sys.stdout.flush()
        made = uvicorn.Config(
            "api.app:create_app",
            factory=True,
            workers=workers,
            log_config=LOGGING,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            forwarded_allow_ips=list(settings.trusted_proxies),
        )
        if workers == 1:
            uvicorn.Server(made).run(sockets=[listening])
            return
        with tempfile.TemporaryDirectory(prefix="mixture-metrics-") as figures:
            # Any of the processes then answers /metrics for all of them.
            os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", figures)
            Multiprocess(made, sockets=[listening]).run()


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; where `port` is 0, on a free one. Raises OSError.

    Connections inherit that nothing waits: asyncio says so only for sockets that it made itself, and an answer's body
    would wait 40 ms for the acknowledgement of its head.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2048)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
