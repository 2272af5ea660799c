"""What takes long to make is made once in a run of the tests, however many processes they run in."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], T]) -> tuple[Path, T]:
    """The folder NAME, made by the first that needs it, and what `make(folder)` gave. Whoever has it only reads it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of all processes of this run
    folder, result = base / name, base / f"{name}.result"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            folder.mkdir()
            result.write_bytes(pickle.dumps(make(folder)))
    value: T = pickle.loads(result.read_bytes())
    return folder, value
