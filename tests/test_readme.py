"""Every command of the README and of the page of the service runs, and every Python block too."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from service_processes import start_copy

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BOTH = README + (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
CONSOLE = [line[2:] for block in re.findall(r"```console\n(.*?)```", BOTH, re.DOTALL) for line in block.splitlines()]
PYTHON = re.findall(r"```python\n(.*?)```", BOTH, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", BOTH, re.DOTALL)
SERVICE = "http://127.0.0.1:8000"
"""Where they have the service; here it listens on a free port."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it after `make demo`: mixtures/, and demo/ made by that command."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "mixtures", folder / "mixtures")
    done = _make("demo", f"DEMO={folder / 'demo'}")
    assert "Three commands to try next" in done.stdout
    return folder


def _environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`make` in the repository, in the virtual environment that runs the tests."""
    venv = Path(sys.executable).parents[1]
    command = ["make", "-o", f"{venv}/.installed", "-o", f"{venv}/.installed-dev", f"VENV={venv}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=_environment())


def test_make_demo_and_make_test_are_the_two_commands_at_the_top() -> None:
    assert re.findall(r"^    (make \w+)", README, re.MULTILINE) == ["make demo", "make test"]


def test_make_test_runs_tests(place: Path) -> None:
    assert " passed" in _make("test", "ARGS=-p no:cacheprovider -n 0 tests/test_public_names.py").stdout


def test_every_command_runs_in_the_order_written(place: Path) -> None:
    assert len(CONSOLE) >= 10
    for line in CONSOLE:
        command = shlex.split(line, comments=True)
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, env=_environment())
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.stdout


@pytest.fixture(scope="module")
def service(place: Path) -> Iterator[str]:
    """`mixture serve` in that folder, with what it shows by itself."""
    copy = start_copy(cwd=place, mixtures_dirs=["mixtures", "demo"], data_dir=place / "mixture-data")
    try:
        httpx2.get(f"{copy.url}/readyz", timeout=60).raise_for_status()
        yield copy.url
    finally:
        copy.kill()


def test_every_shell_block_runs_beside_the_service_but_for_what_goes_on_for_ever(place: Path, service: str) -> None:
    assert SHELL
    for block in SHELL:
        lines = [line for line in block.replace(SERVICE, service).splitlines() if "Ctrl-C" not in line]
        assert any("mixture runs report" in line for line in lines)
        command = ["bash", "-euc", "\n".join(lines)]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, env=_environment())
        assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert "step 100 of " in done.stdout


def test_every_python_block_runs(place: Path, service: str) -> None:
    assert PYTHON
    create = ["mixture", "tokens", "create", "readme", "--scope", "run"]
    made = subprocess.run(create, cwd=place, capture_output=True, text=True, check=True, env=_environment())
    environment = _environment() | {"MIXTURE_TOKEN": made.stdout.strip()}
    for block in PYTHON:
        command = [sys.executable, "-W", "error", "-c", block.replace(SERVICE, service)]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, f"{block}\n{done.stderr[-2000:]}"
