"""The program as `pip install mixture-lock` leaves it, without the packages of the service."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
from mixture.cli import main

sys.modules["pydantic_settings"] = None  # as where it is not installed: importing it fails
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve"],
        ["site", "-o", "site"],
        ["serve", "--show-settings"],
        ["tokens", "list"],
        ["tokens", "create", "x", "--scope", "run"],
    ],
)
def test_commands_of_the_service_say_what_to_install(tmp_path, arguments):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[extra-missing]: ")
    assert "pip install 'mixture-lock[api]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
