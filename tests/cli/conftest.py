"""A demo made once, and the program."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from made_once import made_once
from program import run_program

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs `mixture ARGUMENTS…` in this process: run("plan", path, cwd=…, code=0)."""
    return run_program


@pytest.fixture
def ask() -> Callable[..., str]:
    """ask("show", lock) gives its output, of a refusal (code=1) its error, or both."""

    def of(*arguments: object, code: int = 0, both: bool = False) -> str:
        done = run_program(*arguments, code=code)
        return done.stdout + done.stderr if both else done.stderr if code else done.stdout

    return of


SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: first
    share: 80%
    weights: {a: 50%, b: 30%, c: 20%}
  - phase: second
    sequence_length: 128
    weights: {a: 20%, b: 80%}
"""


@pytest.fixture
def small(tmp_path: Path, run: Run) -> Path:
    """A folder with mixture.yaml, cells.csv and mixture.lock.json."""
    (tmp_path / "cells.csv").write_text("domain,tokens\na,200000\nb,90000\nc,1000000\n", encoding="utf-8")
    (tmp_path / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    run("lock", tmp_path / "mixture.yaml")
    return tmp_path


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder in which `mixture demo` ran, with demo/ in it, and what it said."""
    return made_once(tmp_path_factory, "demo", lambda folder: run_program("demo", cwd=folder).stdout)
