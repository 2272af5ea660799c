"""`mixture …` run inside the tests' own process, which is what nearly all tests of commands need."""

from __future__ import annotations

import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from mixture.cli.app import main

PROGRAM = Path(sys.executable).with_name("mixture")


def run_program(*arguments: object, cwd: Path | None = None, code: int = 0) -> CompletedProcess[str]:
    """Run `mixture ARGUMENTS…` in the folder `cwd`: what it printed, and its exit code, which has to be `code`."""
    given = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    returncode: object = 0
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        patch.object(sys, "argv", [str(PROGRAM), *given]),
        patch.dict("os.environ", COLUMNS="120"),
        chdir(cwd or Path.cwd()),
    ):
        try:
            main(given)
        except SystemExit as error:
            returncode = error.code or 0
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))
    assert returncode == code, f"{given}: {returncode}\n{stdout[-2000:]}\n{stderr[-4000:]}"
    return CompletedProcess(given, code, stdout, stderr)
