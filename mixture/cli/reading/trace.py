"""`mixture trace step|document|token|read-so-far`: from a step to its text, and from text to the steps that read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, LockFile
from mixture.cli.planning.steps import STEP_HELP, StepText, parse_step
from mixture.cli.reading import trace_arrow, trace_output

if TYPE_CHECKING:
    from mixture.data.store import Store
    from mixture.lock import Lock
    from mixture.stream import Trace

StoreFolder = Annotated[Path, typer.Option("--store", metavar="DIR", help="The lock's token store.")]
Step = Annotated[StepText, typer.Argument(parser=parse_step, metavar="STEP", help=STEP_HELP)]
FirstStep = Annotated[
    StepText,
    typer.Option(parser=parse_step, metavar="N", help=f"Only what is read from this step on. {STEP_HELP}"),
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="List only the first N places of each.")]
ArrowFile = Annotated[Path | None, typer.Option("--arrow", metavar="FILE", help="Write an Arrow IPC file instead.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    commands = typer.Typer(help="Follow text through a run: from a step to its documents, from text to its steps.")
    of = "run.lock.json --store store"
    commands.command("step", epilog=f"Example: mixture trace step {of} 216000 --rank 3 --world-size 64")(trace_step)
    commands.command(
        "document",
        epilog=f"Example: mixture trace document {of} web/17 books/3 --first-step 216000 · "
        f"mixture trace document {of} --file takedown.txt",
    )(trace_document)
    commands.command("token", epilog="Example: mixture trace token run.lock.json c12q3 5000000")(trace_token)
    commands.command("read-so-far", epilog=f"Example: mixture trace read-so-far {of} 25% --by license")(read_so_far)
    app.add_typer(commands, name="trace", no_args_is_help=True)


def trace_step(
    lock: LockFile,
    step: Step,
    store: StoreFolder,
    rank: Annotated[int, typer.Option(min=0, metavar="r", help="Only the slots of this rank.")] = 0,
    world_size: Annotated[int, typer.Option(min=1, metavar="R", help="How many ranks there are.")] = 1,
    arrow: ArrowFile = None,
    *,
    uneven: Annotated[
        bool, typer.Option("--uneven", help="Ranks may differ by one sequence, as streams allow it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the sequences of a step, each with the documents in it."""
    from mixture import stream
    from mixture.data.store import open_store
    from mixture.lock import read_lock

    _check_output(arrow, as_json=as_json)
    run, opened = read_lock(lock), open_store(store)
    number = step.of(run.data.steps)
    if not uneven and run.schedule().batch_of(number) % world_size:
        stream.check_divisible(run.data, world_size, number)
    sequences = stream.trace_step(run, opened, number, rank=rank, world_size=world_size)
    if arrow is not None:
        trace_arrow.write_sequences(arrow, sequences, opened.attributes)
    elif as_json:
        trace_output.print_sequences_json(sequences)
    else:
        trace_output.print_sequences(sequences, number)


def trace_document(
    lock: LockFile,
    document: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of documents.")] = None,
    store: StoreFolder = ...,  # type: ignore[assignment]
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Documents or ranges of tokens, one a line: what `amend --mask` takes."),
    ] = None,
    first_step: FirstStep = "0",  # type: ignore[assignment]
    limit: Limit = None,
    arrow: ArrowFile = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show every place in the run where documents are read."""
    from mixture.data.store import open_store
    from mixture.lock import read_lock

    _check_output(arrow, as_json=as_json)
    if bool(document) == (file is not None):
        raise typer.BadParameter("use either ids of documents or --file FILE")
    run = read_lock(lock)
    traces = _document_traces(run, open_store(store), document or (), file, first_step.of(run.data.steps))
    _write(list(traces), limit, arrow, as_json=as_json)


def trace_token(
    lock: LockFile,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN")],
    token: Annotated[int, typer.Argument(metavar="TOKEN", help="An offset in the domain's tokens, from 0.")],
    first_step: FirstStep = "0",  # type: ignore[assignment]
    limit: Limit = None,
    arrow: ArrowFile = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show every place in the run where one token of a domain is read; this needs no store."""
    from mixture import stream
    from mixture.lock import read_lock

    _check_output(arrow, as_json=as_json)
    run = read_lock(lock)
    trace = stream.trace_token(run, domain, token, first_step=first_step.of(run.data.steps))
    _write([trace], limit, arrow, as_json=as_json)


def read_so_far(
    lock: LockFile,
    step: Step,
    store: StoreFolder,
    by: Annotated[
        str, typer.Option(metavar="COLUMN", help="`domain`, an attribute of documents, or a label of domains.")
    ] = "domain",
    arrow: ArrowFile = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Sum up the text that was read before a step.

    What is still to come, by domain or by columns of the catalog, is in `mixture show LOCK --step N`.
    """
    from mixture import stream
    from mixture.data.store import open_store
    from mixture.lock import read_lock

    _check_output(arrow, as_json=as_json)
    run = read_lock(lock)
    sums = stream.read_so_far(run, open_store(store), step.of(run.data.steps), by=by)
    if arrow is not None:
        trace_arrow.write_sums(arrow, sums)
    elif as_json:
        trace_output.print_sums_json(sums)
    else:
        trace_output.print_sums(sums)


def _check_output(arrow: Path | None, *, as_json: bool) -> None:
    if as_json and arrow is not None:
        raise typer.BadParameter("choose --json or --arrow")


def _write(traces: Sequence[Trace], limit: int | None, arrow: Path | None, *, as_json: bool) -> None:
    if arrow is not None:
        trace_arrow.write_traces(arrow, traces, limit)
    elif as_json:
        trace_output.print_traces_json(traces, limit)
    else:
        trace_output.print_traces(traces, limit)


def _document_traces(
    lock: Lock, store: Store, ids: Sequence[str], file: Path | None, first_step: int
) -> Iterator[Trace]:
    from mixture.errors import StoreError
    from mixture.lock import MaskedDocument, MaskedRange, read_mask_file
    from mixture.stream import trace_documents, trace_range

    lines = [] if file is None else [line.what for line in read_mask_file(file)]
    masked = [(line.document, line.domain) for line in lines if isinstance(line, MaskedDocument)]
    traces = trace_documents(lock, store, ids or [identity for identity, _ in masked], first_step=first_step)
    places = {(trace.document.id, trace.domain) for trace in traces if trace.document}
    for identity, domain in masked:
        if domain is not None and (identity, domain) not in places:
            raise StoreError(f"domain '{domain}' of the store has no document '{identity}'", code="unknown-document")
    wanted = {*masked, *((identity, None) for identity in ids)}
    for trace in traces:
        assert trace.document is not None, "it was found by its id"
        if wanted & {(trace.document.id, None), (trace.document.id, trace.domain)}:
            yield trace
    for line in lines:
        if isinstance(line, MaskedRange):
            yield trace_range(lock, line.domain, line.first_token, line.tokens, first_step=first_step)
