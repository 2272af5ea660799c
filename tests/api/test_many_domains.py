"""What one request may ask of a mixture of very many domains."""

from __future__ import annotations

import pytest
from api_helpers import ask
from fastapi import FastAPI
from mixture_folder import write_mixture

from mixture.api.app import create_app
from mixture.api.settings import Settings

DOMAINS = 20_000
SPEC = """\
mixture: many
catalog: cells.csv
sequence_length: 64
batch: 4096 sequences
budget: 100 steps
accept: [over-epochs]
phases:
  - phase: all
    weights: uniform
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("many")
    write_mixture(folder / "many", SPEC, cells="domain,tokens\n" + "".join(f"d{i:05},6400\n" for i in range(DOMAINS)))
    made = create_app(Settings(data_dir=folder / "data", mixtures_dirs=(folder / "many",), rate_per_second=0))
    yield made
    made.state.services.close()


@pytest.mark.parametrize(("part", "name", "most"), [("counts", "step", 50), ("positions", "position", 500)])
def test_each_of_many_takes_all_domains_so_fewer_are_asked_for_at_a_time(app: FastAPI, part: str, name: str, most: int):
    address, every = f"/v1/mixtures/many/{part}", [i % 100 for i in range(most + 1)]
    answer = ask(app, "GET", address, params={name: every})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "too-many-rows")
    assert problem["hint"] == f"ask for {most} at a time"
    assert problem["errors"][0]["pointer"] == f"/{name}"
    few = ask(app, "GET", address, params={name: every[:3]}).raise_for_status().json()["items"]
    assert len(few) == 3
