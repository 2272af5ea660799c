"""What a run reads does not depend on NumPy's version: the oldest supported one gives what the installed one does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from schedule.making import ROOT, lock_paths

OLDEST = ROOT / ".cache" / "numpy-1.26"
"""Where `make test-all` puts it."""

pytestmark = [
    pytest.mark.needs_old_numpy,
    pytest.mark.skipif(
        not OLDEST.is_dir() and ("MIXTURE_TEST_ALL" not in os.environ or sys.version_info >= (3, 13)),
        reason="NumPy 1.26 is not in .cache, where `make test-all` puts it; it has no build for Python 3.13",
    ),
]


def digests(*folders: Path) -> list[str]:
    """NumPy's version and a digest of each run, in a process that finds its packages in these folders first."""
    script = Path(__file__).with_name("print_digest.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    shown = [sys.executable, "-c", "import numpy; print(numpy.__version__)"]
    version = subprocess.run(shown, env=environment, capture_output=True, text=True, check=True).stdout
    command = [sys.executable, str(script), *map(str, lock_paths())]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [version.strip(), *run.stdout.splitlines()]


def test_the_oldest_numpy_reads_what_the_installed_one_does():
    old, new = digests(OLDEST, ROOT), digests(ROOT)
    assert old[0].startswith("1.26.")
    assert new[0] == np.__version__ != old[0]
    assert old[1:] == new[1:]
    assert len(old) > 5
