"""`mixture ingest|verify`: make a token store from text, and read all of one to see that it is whole."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, plain, print_json, print_table, printable, table

if TYPE_CHECKING:
    from mixture.store import IngestProgress, IngestReport, Resumed

StoreFolder = Annotated[Path, typer.Option("--store", metavar="DIR", help="A token store, or its address: s3://….")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog="Example: mixture ingest sources.yaml -o store --tokenizer tokenizer.json --processes 8")(ingest)
    app.command(epilog="Example: mixture verify --store store run.lock.json")(verify)


def ingest(
    sources: Annotated[Path, typer.Argument(metavar="SOURCES", help="A YAML file that says which files are a domain.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The store's folder; it must not be there.")],
    tokenizer: Annotated[
        str, typer.Option(help="`bytes`, or the path of a tokenizer.json; it is named after its file or folder.")
    ] = "bytes",
    processes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: one a core.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Keys the order in which documents are stored.")] = 0,
    *,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew: remove what an ingest that was stopped has finished.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    r"""Make a token store from Parquet, JSON lines (plain, .gz, .zst), text and source files.

    SOURCES says which files are a domain:

        domains: {web: {files: \[web/*.parquet], text: text, id: id}, notes: {files: \[notes/**/*.txt]}}

    `text`, `id` and `attributes: \[url]` name columns or keys; without `id` a document's id is the hash of its text.
    `format` is parquet, jsonl or text where the ending does not say so. `labels: {cluster: c03, quality: 4}` become
    columns of the store's catalog. Beside `domains` may stand `end_of_document`, the tokenizer's token for it,
    `tokenizer_name`, `dtype`, uint16 or uint32, and `overview`, the path of an overview.json to keep with the store.

    An ingest that is stopped, by Ctrl-C, a signal, an error or a kill, keeps the parts that it has finished in a
    hidden folder beside DIR; the same command goes on from there.
    """
    from mixture.store import Earlier
    from mixture.store import ingest as run

    with ended_by_signal(), ingest_progress() as progress:
        report = run(
            sources,
            out,
            tokenizer=tokenizer,
            processes=processes,
            seed=seed,
            earlier=Earlier.ANEW if restart else Earlier.GO_ON,
            progress=progress,
            resumed=show_resumed,
        )
    if as_json:
        print_json(_report_json(report))
    else:
        show_report(report)


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Have SIGTERM end the program as Ctrl-C does, with a word on what is kept and an exit code of its own."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    except BaseException as error:
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def show_resumed(resumed: Resumed) -> None:
    """Say on standard error what of an ingest that was stopped is used."""
    if resumed.kept:
        print(f"goes on: {resumed.kept:,} of {resumed.parts:,} parts are there", file=sys.stderr)
    if resumed.dropped:
        why = "; ".join(resumed.reasons) or "not asked for, or their sources have changed"
        print(printable(f"removes {resumed.dropped:,} parts of the ingest before: {why}"), file=sys.stderr)


@contextmanager
def ingest_progress() -> Iterator[Callable[[IngestProgress], None]]:
    """Bars on standard error, one a stage and domain, while there is a terminal; else nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    err = Console(stderr=True)
    columns = (TextColumn("{task.description:<28}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        tasks: dict[tuple[str, str], int] = {}

        def update(now: IngestProgress) -> None:
            key = (now.stage.value, now.domain)
            if key not in tasks:
                tasks[key] = bars.add_task(plain(f"{now.stage.value} {now.domain}"), total=now.total)
            bars.update(tasks[key], completed=now.done, total=now.total)  # type: ignore[arg-type]
            if now.done >= now.total:
                bars.update(tasks[key], visible=False)  # type: ignore[arg-type]

        yield update


def show_report(report: IngestReport) -> None:
    """Print what an ingest kept and left out."""
    shown = table(
        plain(f"{report.path}: {report.documents:,} documents, {report.tokens:,} tokens, one of each document its end"),
        "<domain", "files", "source bytes", "documents", "tokens", "<left out",
    )  # fmt: skip
    for domain in report.domains:
        left_out = ", ".join(f"{count:,} {reason.value}" for reason, count in domain.dropped.items() if count)
        counts = (domain.files, domain.source_bytes, domain.documents, domain.tokens)
        shown.add_row(plain(domain.name), *("" if count is None else f"{count:,}" for count in counts), left_out)
    print_table(shown)
    files = ", ".join(f"{count:,} {reason.value}" for reason, count in report.skipped_files.items() if count)
    print(f"digest {report.digest}" + (f" · files not read: {files}" if files else ""))


def _report_json(report: IngestReport) -> dict[str, object]:
    return {
        "store": str(report.path),
        "digest": report.digest,
        "documents": report.documents,
        "tokens": report.tokens,
        "skipped_files": {reason.value: count for reason, count in report.skipped_files.items()},
        "domains": [
            {
                "domain": domain.name,
                "files": domain.files,
                "source_bytes": domain.source_bytes,
                "documents": domain.documents,
                "tokens": domain.tokens,
                "dropped": {reason.value: count for reason, count in domain.dropped.items()},
                "shared_ids": domain.shared_ids,
            }
            for domain in report.domains
        ],
    }


def verify(
    store: StoreFolder,
    lock: Annotated[Path | None, typer.Argument(metavar="[LOCK]", help="Also check that it is this lock's.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Read every byte of a store and compare all digests. Exit 1 where something is wrong."""
    from rich.console import Console
    from rich.progress import Progress

    from mixture.objects import located
    from mixture.plan import read_lock
    from mixture.store import verify_store

    known = None if lock is None else read_lock(lock)
    err = Console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bars:
        task = bars.add_task("verify", total=None)
        wrong = verify_store(
            store,
            lock=known,
            progress=lambda done, total: bars.update(task, completed=done, total=total),
        )
    for error in wrong:
        if as_json:
            print_json({"code": error.code, "message": error.message, "place": str(error.place or "")})
        else:
            typer.echo(f"error[{error.code}]: {error}", err=True)
    if wrong:
        raise typer.Exit(1)
    if as_json:
        print_json({"store": str(located(store)), "whole": True})
    else:
        print(f"{located(store)}: whole, every byte is what it was")
        if known is not None:
            same = (
                "it is the text" if known.content else "it has the numbers of tokens; the lock says nothing of the text"
            )
            print(f"{lock}: {same}")
