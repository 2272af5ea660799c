"""What all tests share: property tests with the same examples everywhere, and the oracle, where the machine has it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings
from search_lengths import examples

settings.register_profile(
    "steady",
    max_examples=examples(100),
    derandomize=True,  # the same examples everywhere: a failure in CI fails at home too
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def oracle_path() -> Path:
    """The program that states schedule format 1 one position at a time; its path is in SCHEDULE_ORACLE."""
    path = os.environ.get("SCHEDULE_ORACLE")
    if not path:
        pytest.skip("SCHEDULE_ORACLE is not set: there is no oracle to compare with (the golden files still are)")
    assert Path(path).is_file(), f"SCHEDULE_ORACLE names no file: {path}"
    return Path(path)


@pytest.fixture(scope="session")
def oracle(oracle_path: Path) -> ModuleType:
    """The module that states schedule format 1 one position at a time."""
    spec = importlib.util.spec_from_file_location("schedule_oracle", oracle_path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
