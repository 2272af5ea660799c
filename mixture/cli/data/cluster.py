"""`mixture cluster`: text to clusters by quality, ready to be ingested."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.data.ingest_report import ListAll, unreadable_files
from mixture.cli.output import AsJson, plain, print_json, print_table, table
from mixture.errors import ClusterError
from mixture.units import Unit, parse_quantity

if TYPE_CHECKING:
    from fractions import Fraction

    from mixture.clusters import ClusterProgress, ClusterReport, ClusterStage, Engine


class EngineName(StrEnum):
    """Who does the work."""

    PROCESSES = "processes"
    RAY = "ray"


EXAMPLES = """\
Examples: mixture cluster sources.yaml -k 40 --quality 5 -o clusters
· then: mixture ingest clusters/sources.yaml -o store
· with a model: mixture cluster sources.yaml -k 40 --embed wordllama -o clusters
· labels that are there: mixture cluster sources.yaml --cluster-column topic --quality-column grade -o clusters
· over Ray: mixture cluster sources.yaml -k 40 -o clusters --engine ray --ray-address auto
"""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=EXAMPLES)(cluster)


def cluster(
    sources: Annotated[Path, typer.Argument(metavar="SOURCES", help="A YAML file, as `mixture ingest` reads it.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new folder, or one to go on in.")],
    k: Annotated[
        int | None, typer.Option("-k", "--clusters", metavar="K", help="Clusters to make, whatever labels there are.")
    ] = None,
    quality: Annotated[
        int | None, typer.Option(metavar="Q", help="Levels of quality to make, 0 the lowest. Default: 5.")
    ] = None,
    cluster_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="A column whose values are the clusters, as they are.")
    ] = None,
    quality_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="A column whose values are the levels, as they are.")
    ] = None,
    embed: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_PATH", help="`tfidf-svd`, `wordllama`, or a model that is here. Default: the first."
        ),
    ] = None,
    floor: Annotated[
        str, typer.Option(metavar="SHARE", help="Of the documents, that a cluster has at least.")
    ] = "0.25%",
    sample: Annotated[int, typer.Option(metavar="N", help="Documents to fit to; all are then placed.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the keyed draws.")] = 0,
    date: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="To write into the overview.")] = None,
    engine: Annotated[
        EngineName, typer.Option(help="Who does the work; the result is the same.")
    ] = EngineName.PROCESSES,
    processes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: one a core.")] = None,
    ray_address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Ray cluster; default: one is started here, and ended.")
    ] = None,
    *,
    every: ListAll = False,
    as_json: AsJson = False,
) -> None:
    """Put documents into K clusters by Q levels of quality, with titles, as Parquet files that can be ingested.

    DIR gets documents/cluster=…/quality=…/, a sources.yaml for `mixture ingest`, and overview.json, which is written
    last. Stopped and started again with the same options it goes on where it was. DIR/work is for that, and may be
    removed afterwards.

    Labels that are there are taken as they are, "03" as "03": those of columns, or, without -k or --quality, those of
    folders `cluster=03/quality=4` in the files' paths.
    """
    from mixture.clusters import TFIDF, ClusterOptions
    from mixture.clusters import cluster as run

    options = ClusterOptions(
        k=k, quality=quality, seed=seed, embed=embed or TFIDF, sample=sample, floor=_share(floor),
        cluster_column=cluster_column, quality_column=quality_column, date=date,
    )  # fmt: skip
    doer = _engine(engine, processes, ray_address)
    with unreadable_files(every=every), cluster_progress() as progress:
        report = run(sources, out, options, engine=doer, progress=progress)
    if as_json:
        print_json(_report_json(report))
    else:
        show_report(report)
        print(f"next: mixture ingest {report.path / 'sources.yaml'} -o STORE")


def _share(text: str) -> Fraction:
    return parse_quantity(text, units=(Unit.PERCENT,), bare=Unit.PERCENT).value


def _engine(name: EngineName, processes: int | None, address: str | None) -> Engine:
    from mixture.clusters import Processes, Ray

    count = processes or os.cpu_count() or 1
    if name is EngineName.RAY:
        return Ray(address, count)
    if address is not None:
        hint = "--engine ray uses it"
        raise ClusterError("--ray-address is given, and the engine is not Ray", code="ray-address-unused", hint=hint)
    return Processes(count)


@contextmanager
def cluster_progress() -> Iterator[Callable[[ClusterProgress], None]]:
    """Bars on standard error where it is a terminal, else a line a tenth of a stage."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    err = Console(stderr=True)
    columns = (TextColumn("{task.description:<6}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        tasks: dict[ClusterStage, int] = {}
        told: dict[ClusterStage, int] = {}

        def update(now: ClusterProgress) -> None:
            if err.is_terminal:
                if now.stage not in tasks:
                    tasks[now.stage] = bars.add_task(now.stage.value, total=now.total)
                bars.update(tasks[now.stage], completed=now.done, total=now.total)  # type: ignore[arg-type]
                return
            tenths = 10 * now.done // max(1, now.total)
            if told.get(now.stage) != tenths:
                told[now.stage] = tenths
                print(f"{now.stage.value} {10 * tenths}%", file=sys.stderr, flush=True)

        yield update


def show_report(report: ClusterReport) -> None:
    """Print the clusters and the documents of each level."""
    made = report.overview.made
    levels = sorted({quality for _, quality in report.domains}, key=lambda text: (len(text), text))
    shown = table(
        plain(f"{report.path}: {made.documents or 0:,} documents in {len(report.overview.clusters):,} clusters"),
        "<cluster", "<title", "documents", *(f"quality {name}" for name in levels),
    )  # fmt: skip
    for row in report.overview.clusters:
        counts = (report.domains.get((row.id, name), 0) for name in levels)
        shown.add_row(plain(row.id), plain(row.title), f"{row.documents or 0:,}", *(f"{count:,}" for count in counts))
    print_table(shown)
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in sorted(report.dropped.items()))
    print(f"digest {made.digest}" + (f" · left out: {left_out}" if left_out else ""))


def _report_json(report: ClusterReport) -> dict[str, object]:
    made = report.overview.made
    return {
        "clusters": str(report.path),
        "sources": str(report.path / "sources.yaml"),
        "digest": made.digest,
        "documents": made.documents,
        "bytes": made.bytes,
        "dropped": report.dropped,
        "rows": [
            {"cluster": row.id, "title": row.title, "terms": list(row.terms), "documents": row.documents}
            for row in report.overview.clusters
        ],
        "domains": [
            {"cluster": name, "quality": quality, "documents": count}
            for (name, quality), count in report.domains.items()
        ],
    }
