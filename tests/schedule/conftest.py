"""The oracle as a module."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(scope="session")
def oracle(oracle_path):
    """The module that states schedule format 1 one position at a time."""
    spec = importlib.util.spec_from_file_location("schedule_oracle", oracle_path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
