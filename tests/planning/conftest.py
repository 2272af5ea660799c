from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mixture.planning.spec import Spec, read_spec

WriteSpec = Callable[..., Spec]

KEYS = {
    "mixture": "test",
    "catalog": "catalog.csv",
    "sequence_length": "16",
    "batch": "8 sequences",
    "budget": "100 steps",
}


@pytest.fixture
def write_spec(tmp_path: Path) -> WriteSpec:
    """Writes mixture.yaml and catalog.csv, loads the spec. `phases` are YAML lines; other keys replace the defaults."""

    def write(*phases: str, catalog: str = "domain,tokens\ncode,1000000\nweb,1000000\n", **keys: str) -> Spec:
        (tmp_path / "catalog.csv").write_text(catalog)
        lines = [f"{key}: {value}" for key, value in (KEYS | keys).items()]
        lines += ["phases:", *(f"  - {phase}" for phase in phases)]
        (tmp_path / "mixture.yaml").write_text("\n".join(lines) + "\n")
        return read_spec(tmp_path / "mixture.yaml")

    return write
