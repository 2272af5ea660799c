"""What a run reads does not depend on Python's hash seed, nor on the process that asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from schedule.making import ROOT, lock_paths

SCRIPT = Path(__file__).with_name("print_digest.py")


def test_the_digest_of_what_is_read_is_the_same_under_every_hash_seed():
    told = []
    for hash_seed in ("0", "1", "random"):
        run = subprocess.run(
            [sys.executable, SCRIPT, *lock_paths()],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        told.append(run.stdout.splitlines())
    assert told[0] == told[1] == told[2]
    assert len(set(told[0])) == len(lock_paths()) >= 5
