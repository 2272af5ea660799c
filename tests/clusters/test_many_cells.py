"""More domains and more text in a partition than fit in open files and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mixture.clusters import ClusterOptions, Processes, cluster

LABELS = ClusterOptions(cluster_column="topic", quality=1)


def sources(folder: Path, rows: list[dict[str, str]]) -> Path:
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "sources.yaml").write_text("domains: {a: {files: [a.jsonl], id: id}}", encoding="utf-8")
    return folder / "sources.yaml"


@pytest.mark.long
def test_there_may_be_more_domains_than_files_that_a_process_may_open(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": f"words of topic {n % 200}", "topic": f"t{n % 200}"} for n in range(400)]
    mixture = Path(sys.executable).with_name("mixture")
    command = (
        f"ulimit -n 100; exec {mixture} cluster {sources(tmp_path, rows)} --cluster-column topic --quality 1 "
        f"-o {tmp_path}/out --processes 1"
    )
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 200


def test_text_that_does_not_fit_in_memory_at_once_stands_in_one_file_a_domain_in_its_order(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "text": f"river bank {n} " + "water " * 100_000, "topic": "ab"[n % 2]} for n in range(70)
    ]  # 42 MB
    report = cluster(sources(tmp_path, rows), tmp_path / "out", LABELS, engine=Processes(1))
    for number, topic in enumerate("ab"):
        (path,) = (report.path / "documents" / f"cluster={topic}").rglob("*.parquet")
        with path.open("rb") as file:
            parquet = pq.ParquetFile(file)
            assert parquet.num_row_groups == 2
            found = parquet.read(columns=["id", "text"]).to_pylist()
        assert found == [{"id": row["id"], "text": row["text"]} for row in rows[number::2]]
    assert not list(report.path.rglob(".*"))
