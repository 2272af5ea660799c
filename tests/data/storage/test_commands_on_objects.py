"""The commands take addresses where they take folders."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from data.storage.conftest import Run
from data.storage.web_server import WebServer

from mixture.lock import write_lock
from mixture.stream import open_stream

pytestmark = [
    pytest.mark.needs_objects,
    pytest.mark.skipif(
        importlib.util.find_spec("tenacity") is None and "MIXTURE_TEST_ALL" not in os.environ,
        reason="tenacity is not installed",
    ),
]


def mixture(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("mixture")), *map(str, arguments)]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


def test_a_store_at_an_address_is_verified_and_streamed_through_a_cache(run: Run, web: WebServer, tmp_path: Path):
    write_lock(run.lock, tmp_path / "run.lock.json")
    cache = ("--cache", tmp_path / "cache", "--cache-bytes", "10MB")
    address = f"{web.url}/store"
    assert f"{address}: whole" in mixture(*cache, "verify", "--store", address, tmp_path / "run.lock.json").stdout
    said = mixture(*cache, "stream", tmp_path / "run.lock.json", "--store", address, "--json").stdout
    rows = [json.loads(line) for line in said.splitlines()]
    batch = next(open_stream(run.lock, run.store))
    assert [row["first_token"] for row in rows] == batch.first_token.tolist()
    assert list((tmp_path / "cache" / "blocks").rglob("*.block"))
    assert mixture(*cache, "stream", tmp_path / "run.lock.json", "--store", address, "--json").stdout == said


def test_sizes_and_addresses_that_are_none_are_refused(web: WebServer):
    bad = mixture("--cache-bytes", "much", "verify", "--store", f"{web.url}/store", code=1)
    assert "error[cache-invalid]" in bad.stderr
    assert "error[address-invalid]" in mixture("verify", "--store", f"{web.url}/store?x=1", code=1).stderr
    assert "error[store-missing]" in mixture("verify", "--store", f"{web.url}/none", code=1).stderr
