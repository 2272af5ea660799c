"""`mixture serve`: the HTTP service."""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import print_json, print_table, table
from mixture.errors import MixtureError, Place
from mixture.extras import extra
from mixture.file_names import SPEC_FILE

if TYPE_CHECKING:
    from mixture.api.registry import BuiltinMixtures
    from mixture.api.settings import Settings

GRACE_SECONDS = 3
"""What streams and requests under way have to end in, once the process was told to: it is gone within five seconds."""
WORKER_SECONDS = 60
"""How long a worker may owe its parent an answer until it is killed as one that hangs: under heavy load it is late."""

Config = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings, TOML; MIXTURE_… in the environment wins.")]
DataDir = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Database and published files; default: MIXTURE_DATA_DIR.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(
        epilog="Examples: mixture serve --port 8000; then open http://127.0.0.1:8000/. "
        "One mixture: mixture serve run.lock.json, or run.yaml, which is locked in memory where it has no lock yet"
    )(serve)


def settings_of(config: Path | None, data_dir: Path | None) -> Settings:
    """The settings that a command runs with. Raises MixtureError: `settings-invalid`, `extra-missing`."""
    with extra("api"):
        from mixture.api.settings import CONFIG_VARIABLE, DATA_DIR_VARIABLE, load_settings

    # Through the environment: workers are processes of their own, which read their settings themselves.
    for variable, path in ((CONFIG_VARIABLE, config), (DATA_DIR_VARIABLE, data_dir)):
        if path is not None:
            os.environ[variable] = str(path.absolute())
    return load_settings()


def serve(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="What to show: a spec, a lock, a mixture's folder, or a folder of those. Default: mixtures and demo.",
        ),
    ] = None,
    *,
    host: Annotated[str, typer.Option(metavar="HOST", help="0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Processes that share the port.")] = 1,
    config: Config = None,
    data_dir: DataDir = None,
    show_settings: Annotated[
        bool, typer.Option("--show-settings", help="Print all settings, and start nothing; with --json for programs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --show-settings: JSON, one setting a line.")] = False,
) -> None:
    """Show mixtures, schedules, catalogs and runs over HTTP, and stream batches. Settings: --show-settings."""
    if paths:
        with extra("api"):
            from mixture.api.settings import variable_of
        check_paths(paths)
        os.environ[variable_of("mixtures_dirs")] = json.dumps([str(path.absolute()) for path in paths])
    settings = settings_of(config, data_dir)
    if show_settings:
        _print_settings(settings, as_json=as_json)
        return
    with extra("api"):
        import uvicorn
        from uvicorn.supervisors import Multiprocess

        from mixture.api.app import create_app
        from mixture.api.database import database_of, shown_database
        from mixture.api.middleware import LOGGING, Connection, raise_file_limit
        from mixture.api.registry import BuiltinMixtures, Stores
    _make(settings.data_dir)
    raise_file_limit()
    database = shown_database(database_of(settings.data_dir, settings.database_url))
    # The port is taken before anything is printed; requests wait in it until the service has started.
    with listen(host, port) as listening, _figures(workers):
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        print(f"Open {address}/ to look at mixtures; {address}/docs says what can be asked for.")
        print(
            f"What changes is kept in {settings.data_dir.absolute()}; names, runs and tokens in {database}.", flush=True
        )
        app = create_app(settings) if workers == 1 else None
        made = uvicorn.Config(
            app or "mixture.api.app:create_app",
            factory=app is None,
            http=Connection,
            workers=workers,
            log_config=LOGGING,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_worker_healthcheck=WORKER_SECONDS,
            forwarded_allow_ips=list(settings.trusted_proxies),
        )
        builtin = (
            app.state.services.builtin
            if app is not None
            else BuiltinMixtures(settings.mixtures_dirs, settings.store_dirs, Stores(settings.store_dirs))
        )
        # Beside the service, which answers while many folders are being read.
        threading.Thread(target=_print_overview, args=(settings, builtin, address), daemon=True).start()
        if app is not None:
            uvicorn.Server(made).run(sockets=[listening])
        else:
            Multiprocess(made, sockets=[listening]).run()


def _print_settings(settings: Settings, *, as_json: bool) -> None:
    from dataclasses import asdict

    from mixture.api.setting_texts import setting_texts

    if as_json:
        for setting in setting_texts(settings):
            print_json(asdict(setting))
        return
    from rich.markup import escape

    shown = table("Settings", "<variable", "<value", "<default", "<meaning")
    for setting in setting_texts(settings):
        shown.add_row(setting.variable, *map(escape, (setting.value, setting.default, setting.meaning)))
    print_table(shown)
    print("In a file of settings (--config FILE, TOML) the same names stand in lower case, without MIXTURE_.")


def _print_overview(settings: Settings, builtin: BuiltinMixtures, address: str) -> None:
    from mixture.api.registry import left_out, overview, renamed, swept

    for line in swept(settings):
        print(line, flush=True)
    for line in left_out(settings):
        sys.stderr.write(f"warning: {line}\n")  # in one piece: the server's log has other writers
    if not builtin.read():
        return
    for line in overview(settings, builtin, address):
        print(line, flush=True)
    for line in renamed(builtin):
        sys.stderr.write(f"warning: {line}\n")  # in one piece: the server's log has other writers


def check_paths(paths: Sequence[Path]) -> None:
    """Raise MixtureError for a path that is no mixture, or one that can not be read.

    In a folder of several such a mixture is left out, with a warning.
    """
    with extra("api"):
        from mixture.api.registry import BuiltinMixtures, Stores, mixture_files

    logging.getLogger("mixture.service").addHandler(logging.NullHandler())  # what it warns of is raised here
    for path in paths:
        named = next(mixture_files([path]), None)
        if named is None:
            hint = "a spec, a lock, a folder with mixture.yaml and mixture.lock.json, or a folder of those is shown"
            what = "no mixtures in this folder" if path.is_dir() else "there is no such file or folder"
            raise MixtureError(what, code="no-mixtures", place=Place(file=str(path)), hint=hint)
        if named.path != path:
            continue
        if not (named.folder / named.spec).is_file():
            what = f"its spec is not beside it: neither {named.spec} nor {SPEC_FILE}"
            hint = "pages show the spec and its catalog, too: put them beside the lock"
            raise MixtureError(what, code="file-missing", place=Place(file=str(path)), hint=hint)
        for left in BuiltinMixtures([path], [], Stores([])).left_out():
            raise left.cause
        if named.lock is None:
            print(f"note: {path} has no lock yet; its plan is locked in memory only", file=sys.stderr)


def _make(data_dir: Path) -> None:
    """Make the folder that everything is kept in, before anything is started. Raises `data-dir-unusable`."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MixtureError(
            f"this folder can not be made: {error.strerror or error}",
            code="data-dir-unusable",
            place=Place(file=str(data_dir.absolute())),
            hint="--data-dir or MIXTURE_DATA_DIR names another one",
        ) from error


@contextmanager
def _figures(workers: int) -> Iterator[None]:
    """A folder in which several processes count together: any of them then answers /metrics for all."""
    if workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="mixture-metrics-") as figures:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", figures)
        yield


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; where `port` is 0, on a free one. Raises MixtureError `address-unusable`.

    Connections inherit that nothing waits: asyncio says so only for sockets that it made itself, and an answer's body
    would wait 40 ms for the acknowledgement of its head.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        raise MixtureError(
            f"{host}:{port} can not be listened on: {error.strerror or error}",
            code="address-unusable",
            hint="--port names another port, and --port 0 takes a free one" if taken else None,
        ) from error
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
