"""The commands in one place, and how errors leave the program.

Exit codes: 0 done · 1 refused, with `error[CODE]: FILE:LINE:COLUMN: …` on standard error · 2 wrong usage · 130 stopped
· 141 whoever read the output has gone, as after `| head`.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence

import typer

from mixture._version import __version__
from mixture.cli.closed_output import Commands, closed_output
from mixture.cli.data import catalog, cluster, demo, pack, store
from mixture.cli.planning import amend, diff, explain, formats, init, ladder, plan, schema, show
from mixture.cli.reading import sample, schedule, stream, trace
from mixture.cli.service import publish, runs, serve, site, tokens
from mixture.data.storage.options import CACHE_BYTES, CACHE_DIR
from mixture.errors import MixtureError

app = typer.Typer(
    name="mixture",
    cls=Commands,
    help="Declare data mixtures for language model training, lock them, and read exactly what they say.",
    epilog="Begin with `mixture demo`. Every command has --help with examples, and --json for programs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    init,
    plan,
    amend,
    diff,
    explain,
    show,
    ladder,
    formats,
    schema,
    schedule,
    trace,
    store,
    catalog,
    pack,
    cluster,
    stream,
    sample,
    serve,
    site,
    publish,
    runs,
    tokens,
    demo,
):
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    _version: bool = typer.Option(False, "--version", help="Show the version.", callback=_print_version, is_eager=True),
    cache: str = typer.Option("", metavar="DIR", help=f"Keep what is read of objects here. Default: {CACHE_DIR}."),
    cache_bytes: str = typer.Option("", metavar="SIZE", help=f"How large it may get: 50GB. Default: {CACHE_BYTES}."),
) -> None:
    """Declare data mixtures for language model training, lock them, and read exactly what they say."""
    # Whatever opens a store asks the environment, in worker processes, too.
    os.environ.update({key: value for key, value in ((CACHE_DIR, cache), (CACHE_BYTES, cache_bytes)) if value})


SPREAD = frozenset({"--position", "--step"})
"""Options that take several numbers in a row: `--position 0 17 4000`."""
SPREADING = frozenset({"positions", "counts", "history"})
"""The commands that have them; elsewhere a step is one."""


_NUMBER = re.compile(r"-?[0-9][0-9_.]*[KMBT]?%?")


def spread(arguments: Sequence[str]) -> list[str]:
    """Repeat an option of SPREAD before each of its numbers, since the parser takes one value an option."""
    if SPREADING.isdisjoint(arguments):
        return list(arguments)
    out: list[str] = []
    option = None
    for argument in arguments:
        if argument in SPREAD:
            option = argument
        elif option is not None and _NUMBER.fullmatch(argument):
            out += [] if out[-1] == option else [option]
        else:
            option = None
        out.append(argument)
    return out


def _open_output() -> None:
    """Let anything be printed: names that the terminal's encoding lacks are escaped, closed output goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 it is open to the end
        elif isinstance(getattr(sys, name), io.TextIOWrapper):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and leave it with its exit code."""
    _open_output()
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except SystemExit:
        try:
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise closed_output() from error
        raise


def _run(arguments: Sequence[str]) -> None:
    try:
        app(spread(arguments))
    except MixtureError as error:
        for single in getattr(error, "errors", ()) or (error,):
            print(f"error[{single.code}]: {single}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"error[file-error]: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
