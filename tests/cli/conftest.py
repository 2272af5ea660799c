"""A demo made once, and the program run as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mixture.cli.app import main

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run() -> Run:
    """mixture ARGUMENTS… in a process of its own: run("plan", path, cwd=…, code=0)."""

    def of(*arguments: object, cwd: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("mixture")), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            env=os.environ | {"COLUMNS": "120", "PYTHONWARNINGS": "error"},
        )  # fmt: skip
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        assert "Traceback" not in done.stderr
        return done

    return of


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """ask("show", lock) gives its output, of a refusal (code=1) its error, or both."""

    def of(*arguments: object, code: int = 0, both: bool = False) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        assert (left.value.code or 0) == code, err
        return out + err if both else err if code else out

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
def demo(tmp_path_factory: pytest.TempPathFactory, run: Run) -> tuple[Path, str]:
    """The folder in which `mixture demo` ran, with demo/ in it, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, run("demo", cwd=folder).stdout
