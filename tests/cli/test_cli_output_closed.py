"""Whoever reads the output may leave: every command then ends quietly, as after SIGPIPE, and refuses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def left_alone(*arguments: object) -> tuple[int, str]:
    """Exit code and standard error of the program whose output nobody reads."""
    read, write = os.pipe()
    os.close(read)
    program = str(Path(sys.executable).with_name("mixture"))
    done = subprocess.run(
        [program, *map(str, arguments)], stdout=write, stderr=subprocess.PIPE, text=True, check=False,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )  # fmt: skip
    os.close(write)
    return done.returncode, done.stderr


def test_a_reader_that_left_is_no_refusal(small: Path) -> None:
    lock = small / "mixture.lock.json"
    quiet = (128 + signal.SIGPIPE, "")
    assert left_alone("show", lock, "--json") == quiet  # little output, which is written at the end
    assert (
        left_alone("positions", lock, "--first-position", 0, "--last-position", 799) == quiet
    )  # much, written as it is made
    assert left_alone("plan", small / "mixture.yaml") == quiet  # by rich
    assert left_alone("plan", "--help") == quiet
    assert left_alone("--help") == quiet
    assert left_alone("--version") == quiet
    assert left_alone("runs", "--help") == quiet


def test_what_is_refused_stays_refused(small: Path) -> None:
    code, error = left_alone("show", small / "none.lock.json")
    assert (code, error.splitlines()[0].partition(":")[0]) == (1, "error[lock-missing]")
