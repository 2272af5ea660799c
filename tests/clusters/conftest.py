"""Real text to put into clusters: packages of Python's library, forty lines of every eighty a document."""

from __future__ import annotations

import hashlib
import json
import os
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixture.clusters import ClusterOptions, ClusterReport, Processes, cluster

PACKAGES = ("asyncio", "email", "unittest", "xml")
LINES, APART = 40, 80


def documents(package: str) -> list[dict[str, str]]:
    """The documents of a package: id, text, its folder, and whether they stand at a file's beginning."""
    library = Path(sysconfig.get_path("stdlib"))
    made = []
    for path in sorted((library / package).rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        name = path.relative_to(library).as_posix()
        for first in range(0, len(lines), APART):
            text = "".join(lines[first : first + LINES])
            made.append({"id": f"{name}:{first}", "text": text, "package": package, "grade": "0" if first else "01"})
    return made


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Every document of the library by its id."""
    return {row["id"]: row["text"] for package in PACKAGES for row in documents(package)}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sources.yaml and four sources, JSON lines and Parquet."""
    folder = tmp_path_factory.mktemp("library")
    lines = ["domains:"]
    for number, package in enumerate(PACKAGES):
        rows = documents(package)
        if number % 2:
            pq.write_table(pa.Table.from_pylist(rows), folder / f"{package}.parquet")
        else:
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{package}.jsonl").write_text(text, encoding="utf-8")
        lines.append(f"  {package}: {{files: ['{package}.*'], id: id, attributes: [package]}}")
    (folder / "sources.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def made(library: Path, tmp_path_factory: pytest.TempPathFactory) -> ClusterReport:
    """The library in six clusters by five levels, made in one process."""
    out = tmp_path_factory.mktemp("made") / "clusters"
    return cluster(library / "sources.yaml", out, ClusterOptions(k=6), engine=Processes(1))


def digests(out: Path) -> dict[str, str]:
    """The SHA-256 of every file that a run is for, its work left aside."""
    return {
        os.fspath(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.relative_to(out).parts[0] != "work"
    }


@pytest.fixture(name="digests")
def _digests() -> Callable[[Path], dict[str, str]]:
    return digests


@pytest.fixture
def rows() -> Callable[[Path], list[dict[str, object]]]:
    """All documents of an output, with the labels that their folders say."""

    def of(out: Path) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for path in sorted((out / "documents").rglob("*.parquet")):
            labels = dict(part.split("=") for part in path.relative_to(out / "documents").parts[:-1])
            with path.open("rb") as file:
                found += [row | labels for row in pq.read_table(file).to_pylist()]
        return found

    return of
