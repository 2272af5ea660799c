"""The oracle, where the machine has it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def oracle():
    """The module that states schedule format 1 one position at a time, from the path in SCHEDULE_ORACLE."""
    path = os.environ.get("SCHEDULE_ORACLE")
    if not path:
        pytest.skip("SCHEDULE_ORACLE is not set: there is no oracle to compare with (the golden files still are)")
    assert Path(path).is_file(), f"SCHEDULE_ORACLE names no file: {path}"
    spec = importlib.util.spec_from_file_location("schedule_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
