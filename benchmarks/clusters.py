"""What `mixture cluster` takes, and how well its clusters keep to the true sources, over real corpora.

    python -m benchmarks.clusters [.cache/corpora/sources.yaml] [--ray]

Run `make corpora` first. The figures: seconds as the clock has them, on as many processes as there are cores; purity,
the share of documents whose source is the most frequent of their cluster; and whether a second run, with one process,
and one over Ray, give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq

from mixture.clusters import TFIDF, ClusterOptions, ClusterReport, ClusterStage, Engine, Processes, Ray, cluster


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sources", nargs="?", default=".cache/corpora/sources.yaml", type=Path)
    parser.add_argument("-k", type=int, default=40)
    parser.add_argument("--quality", type=int, default=5)
    parser.add_argument("--embed", default=TFIDF)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ray", action="store_true", help="also over Ray, started on this machine")
    arguments = parser.parse_args()
    options = ClusterOptions(k=arguments.k, quality=arguments.quality, embed=arguments.embed, seed=arguments.seed)
    cores = os.cpu_count() or 1
    runs: list[tuple[str, Engine]] = [(f"{cores} processes", Processes(cores)), ("1 process", Processes(1))]
    if arguments.ray:
        runs.append(("Ray", Ray(None, cores)))
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name, engine in runs:
            report = _timed(arguments.sources, Path(folder) / name.replace(" ", "-"), options, name, engine)
            found.append(_digest(report.path))
            if len(found) == 1:
                _describe(report)
        print(f"the same bytes each time: {'yes' if len(set(found)) == 1 else 'NO'}")


def _timed(sources: Path, out: Path, options: ClusterOptions, name: str, engine: Engine) -> ClusterReport:
    begun = time.perf_counter()
    ends: dict[ClusterStage, float] = {}
    report = cluster(
        sources, out, options, engine=engine, progress=lambda now: ends.update({now.stage: time.perf_counter()})
    )
    seconds = time.perf_counter() - begun
    before = begun
    stages = []
    for stage, end in ends.items():
        stages.append(f"{stage.value} {end - before:.1f}")
        before = end
    print(f"{name}: {seconds:.1f} s ({', '.join(stages)})", flush=True)
    return report


def _describe(report: ClusterReport) -> None:
    made = report.overview.made
    print(f"{made.documents:,} documents, {(made.bytes or 0) / 1e6:.1f} MB, {len(made.sources)} sources")
    print(f"{len(report.overview.clusters)} clusters, {len(report.domains)} domains, purity {_purity(report.path):.3f}")


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
