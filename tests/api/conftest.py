"""A service over the repository's mixtures: one that tests only read from, and one of a test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES, client_of
from fastapi import FastAPI

from mixture.api.app import create_app
from mixture.api.settings import Settings

MakeApp = Callable[..., FastAPI]


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A client of a real server, for tests that only read."""
    made = create_app(Settings(data_dir=tmp_path_factory.mktemp("data"), mixtures_dirs=(MIXTURES,), rate_per_second=0))
    with client_of(made) as one:
        yield one


@contextmanager
def _making(data_dir: Path) -> Iterator[MakeApp]:
    made: list[FastAPI] = []

    def make(**settings: object) -> FastAPI:
        defaults = {"data_dir": data_dir, "mixtures_dirs": (MIXTURES / "demo",), "rate_per_second": 0}
        made.append(create_app(Settings(**defaults | settings)))
        return made[-1]

    yield make
    for app in made:
        app.state.services.close()


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[MakeApp]:
    """Applications that show the demo, with settings of a test: make_app(public_reads=False)."""
    with _making(tmp_path / "data") as make:
        yield make


@pytest.fixture(scope="module")
def make_shared_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeApp]:
    """The same for all tests of a module, which only read."""
    with _making(tmp_path_factory.mktemp("shared") / "data") as make:
        yield make
