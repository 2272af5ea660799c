"""`mixture ingest|verify`: make a token store from text, and read all of one to see that it is whole."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.data.ingest_report import (
    ListAll,
    report_json,
    show_report,
    show_sources,
    sources_json,
    unreadable_files,
)
from mixture.cli.output import AsJson, plain, print_json, printable

if TYPE_CHECKING:
    from mixture.data.ingest import Resumed
    from mixture.data.texts import IngestProgress

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
    strict: Annotated[
        bool, typer.Option("--strict", help="End at the first row that would be left out, and say where it stands.")
    ] = False,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Leave out files that cannot be read, and list them.")
    ] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Allow domains whose files have no document.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which files would be read; their footers are looked at.")
    ] = False,
    every: ListAll = False,
    as_json: AsJson = False,
) -> None:
    r"""Make a token store from Parquet, Arrow, saved datasets, JSON lines, CSV, text and source files, also packed.

    SOURCES says which files are a domain, or which of their columns names it:

        domains: {web: {files: \[web/*.parquet], text: text, id: id}, notes: {files: \[notes/**/*.txt]}}

        {files: \[rows/*.jsonl.zst], id: id, domain_column: label}

    `text`, `id` and `attributes: \[url]` name columns or keys; without `id` a document's id is the hash of its text.
    `format` is parquet, arrow, jsonl, csv or text where the ending does not say so. `split: train` names the split that
    is read of a dataset that has several. `labels: {cluster: c03, quality: 4}`
    become columns of the store's catalog. `holdout: {share: 0.1%, max: 10M tokens}`, of a domain or beside `domains` of
    all, makes domains NAME@validation. Beside `domains` may stand `end_of_document`, the tokenizer's token for it,
    `end_of_document_in_text`, drop or keep, for texts that end with it themselves, `tokenizer_name`, `dtype`, uint16 or
    uint32, and `overview`, the path of an overview.json to keep with the store.

    Rows that are no documents are left out, counted by reason, and listed in the store's quarantine.parquet. Files that
    cannot be read end the ingest, all of them at once; with --skip-unreadable they are left out, too.

    An ingest that is stopped, by Ctrl-C, a signal, an error or a kill, keeps the parts that it has finished in a
    hidden folder beside DIR; the same command goes on from there.
    """
    from mixture.data.ingest import Earlier, survey_sources
    from mixture.data.ingest import ingest as run
    from mixture.data.texts import Empty, Unfit, Unreadable

    unreadable = Unreadable.QUARANTINE if skip_unreadable else Unreadable.REFUSE
    if dry_run:
        with unreadable_files(every=every):
            found = survey_sources(sources, unreadable=unreadable)
        print_json(sources_json(found)) if as_json else show_sources(found, every=every)
        return
    with unreadable_files(every=every), ended_by_signal(), ingest_progress() as progress:
        report = run(
            sources,
            out,
            tokenizer=tokenizer,
            processes=processes,
            seed=seed,
            earlier=Earlier.ANEW if restart else Earlier.GO_ON,
            unfit=Unfit.REFUSE if strict else Unfit.QUARANTINE,
            unreadable=unreadable,
            empty=Empty.ALLOW if allow_empty else Empty.REFUSE,
            progress=progress,
            resumed=show_resumed,
        )
    if as_json:
        print_json(report_json(report))
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


def verify(
    store: StoreFolder,
    lock: Annotated[Path | None, typer.Argument(metavar="[LOCK]", help="Also check that it is this lock's.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Read every byte of a store and compare all digests. Exit 1 where something is wrong."""
    from rich.console import Console
    from rich.progress import Progress

    from mixture.data.storage import located
    from mixture.data.store import verify_store
    from mixture.lock import read_lock

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
