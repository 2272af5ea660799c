"""Targets with their files, made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from api_helpers import MIXTURES
from fuzz.targets import Target, make_targets

from mixture.api.app import create_app
from mixture.api.settings import Settings


@pytest.fixture(scope="session")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Target]]:
    """All targets by name."""
    data = tmp_path_factory.mktemp("data")
    app = create_app(Settings(data_dir=data, mixtures_dirs=(MIXTURES / "demo",), rate_per_second=0))
    yield make_targets(tmp_path_factory.mktemp("fuzz"), app=app)
    app.state.services.close()
