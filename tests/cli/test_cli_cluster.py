"""`mixture cluster` as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mixture.planning.catalog import read_overview


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sources file over three packages of Python's library, read where they are."""
    library = Path(sysconfig.get_path("stdlib"))
    path = tmp_path_factory.mktemp("sources") / "sources.yaml"
    lines = [f"  {name}: {{files: ['{library / name}/*.py'], id: path}}" for name in ("asyncio", "email", "encodings")]
    path.write_text("\n".join(["domains:", *lines]) + "\n", encoding="utf-8")
    return path


def test_a_table_of_what_was_made_and_what_to_do_next(sources: Path, tmp_path: Path, run) -> None:
    done = run("cluster", sources, "-k", 4, "-o", tmp_path / "out", "--processes", 2)
    assert "documents in 4 clusters" in done.stdout
    assert "quality 4" in done.stdout
    assert f"mixture ingest {tmp_path / 'out' / 'sources.yaml'} -o STORE" in done.stdout
    for row in read_overview(tmp_path / "out" / "overview.json").clusters:
        assert row.title in done.stdout
    assert [line for line in done.stderr.splitlines() if line.endswith("100%")] == [
        "read 100%",
        "fit 100%",
        "write 100%",
    ]
    made = run("ingest", tmp_path / "out" / "sources.yaml", "-o", tmp_path / "store", "--json")
    assert json.loads(made.stdout)["documents"] == read_overview(tmp_path / "out" / "overview.json").made.documents


def test_json_for_programs(sources: Path, tmp_path: Path, run) -> None:
    said = json.loads(
        run(
            "cluster", sources, "-k", 3, "--quality", 2, "--date", "2026-11-29", "-o", tmp_path / "out", "--json"
        ).stdout
    )
    overview = read_overview(tmp_path / "out" / "overview.json")
    assert said["digest"] == overview.made.digest
    assert overview.made.date == "2026-11-29"
    assert sum(row["documents"] for row in said["domains"]) == said["documents"] == overview.made.documents
    assert [row["cluster"] for row in said["rows"]] == ["c00", "c01", "c02"]


@pytest.mark.long
def test_killed_and_started_again_it_gives_the_same_bytes(sources: Path, tmp_path: Path, run) -> None:
    run("cluster", sources, "-k", 4, "-o", tmp_path / "whole", "--processes", 1)
    command = [str(Path(sys.executable).with_name("mixture")), "cluster", str(sources), "-k", "4"]
    for stage in ("read", "fit", "write"):
        out = tmp_path / stage
        with subprocess.Popen(
            [*command, "-o", str(out), "--processes", "1"], stderr=subprocess.PIPE, text=True
        ) as running:
            assert running.stderr is not None
            next(line for line in running.stderr if line.startswith(f"{stage} ") and line.strip() != f"{stage} 0%")
            os.kill(running.pid, signal.SIGKILL)
        if stage != "write":
            assert not (out / "overview.json").exists()
        if not (out / "overview.json").exists():
            run("cluster", sources, "-k", 4, "-o", out)
        assert files(out) == files(tmp_path / "whole")


def files(out: Path) -> dict[str, bytes]:
    """What was made, but for what restarts need."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.relative_to(out).parts[0] != "work"
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-k", "0"], "k-outside"),
        (["-k", "9999"], "k-too-large"),
        ([], "labels-or-k"),
        (["-k", "4", "--floor", "much"], "not-a-number"),
        (["-k", "4", "--embed", "./nothing/here"], "no-such-model"),
        (["-k", "4", "--ray-address", "auto"], "ray-address-unused"),
        (["-k", "4", "--cluster-column", "path"], "labels-or-number"),
    ],
)
def test_refusals_have_a_code(sources: Path, tmp_path: Path, run, arguments: list[str], code: str) -> None:
    assert f"error[{code}]" in run("cluster", sources, "-o", tmp_path / "out", *arguments, code=1).stderr


def test_help_has_examples(run) -> None:
    said = " ".join(run("cluster", "--help").stdout.split())
    assert "Examples: mixture cluster sources.yaml -k 40 --quality 5 -o clusters" in said
    assert "--engine ray" in said
