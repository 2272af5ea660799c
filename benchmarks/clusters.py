"""What `mixture cluster` takes, and how well its clusters keep to the true sources, over real corpora.

    python -m benchmarks.clusters [.cache/corpora/sources.yaml]

Run `make corpora` first. One table, a row a run: as many processes as there are cores, one process, and Ray. Each runs
in a process of its own. The figures: seconds as the clock has them, whole and by stage; the most memory that it and the
processes it started had together (Linux's proportional set size, looked at four times a second); purity, the share of
documents whose source is the most frequent of their cluster; and whether all files are the same bytes as the first's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.memory import watched
from mixture.clusters import TFIDF, ClusterOptions, ClusterStage, Engine, Processes, Ray, cluster

ROW = "{:<12} {:>8} {:>7} {:>7} {:>7} {:>8} {:>8} {:>7} {:>10}  {}"
HEAD = ("engine", "seconds", "read", "fit", "write", "clusters", "domains", "purity", "memory MB", "bytes")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sources", nargs="?", default=".cache/corpora/sources.yaml", type=Path)
    parser.add_argument("-k", type=int, default=40)
    parser.add_argument("--quality", type=int, default=5)
    parser.add_argument("--embed", default=TFIDF)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-ray", action="store_true", help="leave the run over Ray out")
    parser.add_argument("--run", help=argparse.SUPPRESS)  # one run, in this process, as JSON
    parser.add_argument("-o", "--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        options = ClusterOptions(k=arguments.k, quality=arguments.quality, embed=arguments.embed, seed=arguments.seed)
        print(json.dumps(_run(arguments.run, arguments.sources, arguments.out, options)))
        return
    cores = os.cpu_count() or 1
    names = list(dict.fromkeys([_processes(cores), _processes(1), *([] if arguments.no_ray else ["Ray"])]))
    first: dict[str, Any] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.clusters", *sys.argv[1:], "--run", name, "-o", f"{folder}/out"]
            found, memory = watched(command)
        if not first:
            first = found
            print(f"{found['documents']:,} documents, {found['bytes'] / 1e6:.1f} MB, {found['sources']} sources")
            print(ROW.format(*HEAD))
        same = "the first" if found is first else "the same" if found["digest"] == first["digest"] else "OTHERS"
        print(ROW.format(name, *found["row"], f"{memory / 1e6:.0f}", same), flush=True)


def _processes(count: int) -> str:
    return f"{count} process{'es' if count > 1 else ''}"


def _run(name: str, sources: Path, out: Path, options: ClusterOptions) -> dict[str, Any]:
    engine: Engine = Ray(None, os.cpu_count() or 1) if name == "Ray" else Processes(int(name.split()[0]))
    begun = time.perf_counter()
    ends: dict[ClusterStage, float] = {}
    report = cluster(
        sources, out, options, engine=engine, progress=lambda now: ends.update({now.stage: time.perf_counter()})
    )
    seconds = time.perf_counter() - begun
    starts = [begun, *ends.values()]
    stages = [f"{end - start:.1f}" for start, end in zip(starts, ends.values(), strict=False)]
    made = report.overview.made
    return {
        "row": [
            f"{seconds:.1f}", *stages, len(report.overview.clusters), len(report.domains), f"{_purity(out):.3f}",
        ],
        "documents": made.documents, "bytes": made.bytes or 0, "sources": len(made.sources), "digest": _digest(out),
    }  # fmt: skip


def _purity(out: Path) -> float:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for path in out.glob("documents/cluster=*/quality=*/*.parquet"):
        with path.open("rb") as file:
            counted[path.parts[-3]].update(pq.read_table(file, columns=["source"])["source"].to_pylist())
    return sum(max(sources.values()) for sources in counted.values()) / sum(s.total() for s in counted.values())


def _digest(out: Path) -> str:
    """Over all files that were made, but for what restarts need."""
    whole = hashlib.sha256()
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out)
        if path.is_file() and name.parts[0] != "work":
            whole.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


if __name__ == "__main__":
    main()
