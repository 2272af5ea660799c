"""`mixture …` run inside the tests' own process, which is what nearly all tests of commands need."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from subprocess import CompletedProcess

from mixture.cli.app import main


def run_program(*arguments: object, cwd: Path | None = None, code: int = 0) -> CompletedProcess[str]:
    """Run `mixture ARGUMENTS…` in the folder `cwd`: what it printed, and its exit code, which has to be `code`."""
    given = [str(argument) for argument in arguments]
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for name in ("stdout", "stderr")}
    with _streams(**streams), _environment(COLUMNS="120"), chdir(cwd or Path.cwd()):
        returncode = _exit_code(given)
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in streams.values())
    assert returncode == code, f"{given}: {returncode}\n{stdout[-2000:]}\n{stderr[-4000:]}"
    assert "Traceback" not in stderr, stderr
    return CompletedProcess(given, returncode, stdout, stderr)


def _exit_code(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _streams(**streams: io.TextIOWrapper) -> Iterator[None]:
    before = {name: getattr(sys, name) for name in ("stdin", *streams)}
    with open(os.devnull, encoding="utf-8") as nothing:
        for name, stream in {"stdin": nothing, **streams}.items():
            setattr(sys, name, stream)
        try:
            yield
        finally:
            for name, stream in before.items():
                setattr(sys, name, stream)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
