"""Real text of twelve kinds, as `make corpora` fetches it, in forty clusters by five levels of quality."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

SOURCES = Path(".cache/corpora/sources.yaml")

pytestmark = [
    pytest.mark.needs_corpora,
    pytest.mark.skipif(
        not SOURCES.exists() and "MIXTURE_TEST_ALL" not in os.environ, reason="`make corpora` has not been run"
    ),
]


def clustered(out: Path, *more: str) -> str:
    """Run `mixture cluster` as a person does; gives the digest of who went where."""
    command = [str(Path(sys.executable).with_name("mixture")), "cluster", str(SOURCES), "-k", "40", "--quality", "5"]
    subprocess.run([*command, "-o", str(out), *more], check=True, stdout=subprocess.DEVNULL)
    digest: str = json.loads((out / "overview.json").read_text(encoding="utf-8"))["made"]["digest"]
    return digest


def test_clusters_of_real_text_are_nearly_all_of_one_source_and_the_same_over_ray(tmp_path):
    made = json.loads((SOURCES.parent / "corpora.json").read_text(encoding="utf-8"))
    assert len(made["corpora"]) >= 8
    assert made["documents"] >= 10_000
    assert made["bytes"] >= 100_000_000
    digest = clustered(tmp_path / "processes", "--processes", "2")
    purity = duckdb.sql(
        f"""
        WITH counts AS (
            SELECT cluster, source, count(*) AS n
            FROM read_parquet('{tmp_path}/processes/documents/**/*.parquet', hive_partitioning = true)
            GROUP BY ALL
        ), largest AS (SELECT cluster, max(n) AS own, sum(n) AS every FROM counts GROUP BY ALL)
        SELECT sum(own) / sum(every) FROM largest
        """
    ).fetchall()
    assert purity[0][0] >= 0.9
    assert clustered(tmp_path / "ray", "--engine", "ray") == digest
