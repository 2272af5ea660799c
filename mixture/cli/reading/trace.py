"""`mixture trace`: what a step reads, where a document is read, and what was read so far."""

from __future__ import annotations

from collections.abc import Iterator
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

EXAMPLE = (
    "Example: mixture trace run.lock.json --store store --step 216000 --rank 3 --world-size 64 · "
    "mixture trace run.lock.json --store store --document web/17 --from-step 216000 · "
    "mixture trace run.lock.json --store store --until-step 216000 --by licence"
)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=EXAMPLE)(trace)


def trace(
    lock: LockFile,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="The lock's token store; a token needs none.")
    ] = None,
    step: Annotated[
        StepText | None,
        typer.Option(
            "--step",
            parser=parse_step,
            metavar="S",
            help=f"Forwards: each sequence of this step, with documents. {STEP_HELP}",
        ),
    ] = None,
    rank: Annotated[int, typer.Option(min=0, metavar="r", help="With --step: only the slots of this rank.")] = 0,
    world_size: Annotated[int, typer.Option(min=1, metavar="R", help="How many ranks there are.")] = 1,
    document: Annotated[
        list[str] | None, typer.Option(metavar="ID…", help="Backwards: every place where these documents are read.")
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The same of documents or ranges, one a line: what `amend --mask` takes."),
    ] = None,
    domain: Annotated[str | None, typer.Option(metavar="D", help="With --token: the token's domain.")] = None,
    token: Annotated[
        int | None, typer.Option(metavar="T", help="The same of one token, an offset in its domain from 0.")
    ] = None,
    until_step: Annotated[
        StepText | None,
        typer.Option(parser=parse_step, metavar="S", help="All that was read before this step, in sums by --by."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="`domain`, an attribute of documents, or a label of domains.")
    ] = None,
    from_step: Annotated[
        StepText | None,
        typer.Option(
            parser=parse_step,
            metavar="N",
            help="Of documents or a token: only what is still to come from step N on, which a takedown would hide.",
        ),
    ] = None,
    at_step: Annotated[
        StepText | None, typer.Option(parser=parse_step, metavar="N", help="With --never: as --from-step N.")
    ] = None,
    most: Annotated[int | None, typer.Option(min=1, metavar="N", help="List only the first N places of each.")] = None,
    arrow: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an Arrow IPC file instead.")] = None,
    *,
    uneven: Annotated[
        bool, typer.Option("--uneven", help="With --world-size: of ranks that may differ by one row, as streams do.")
    ] = False,
    never: Annotated[bool, typer.Option("--never", help="With --at-step N: as --from-step N.")] = False,
    as_json: AsJson = False,
) -> None:
    """Follow text through a run: from a step to its documents, and from a document or token to every step and slot."""
    from mixture.data.store import open_store
    from mixture.lock import read_lock
    from mixture.stream import check_divisible, read_so_far, trace_step

    backwards = bool(document) or documents is not None or token is not None
    to_come = at_step if from_step is None else from_step
    if to_come is not None and not backwards:
        raise typer.BadParameter(
            "what is still to come is listed for documents or a token; in sums, by domain or by columns of the"
            " catalog, `mixture show LOCK --step N` has it"
        )
    asked = [step is not None, bool(document), documents is not None, token is not None, until_step is not None]
    if sum(asked) != 1:
        raise typer.BadParameter("say one of --step, --document, --documents, --domain with --token, --until-step")
    if (domain is None) != (token is None):
        raise typer.BadParameter("say --domain and --token together")
    if never != (at_step is not None) or (never and from_step is not None):
        raise typer.BadParameter("say --from-step N, or --never and --at-step N together")
    if step is None and (rank or world_size > 1 or uneven):
        raise typer.BadParameter("--rank, --world-size and --uneven go with --step")
    if by is not None and until_step is None:
        raise typer.BadParameter("--by goes with --until-step")
    if most is not None and not backwards:
        raise typer.BadParameter("--most goes with documents or a token")
    if as_json and arrow is not None:
        raise typer.BadParameter("say either --json or --arrow")
    if store is None and token is None:
        raise typer.BadParameter("this takes --store DIR: documents are found there")

    held = read_lock(lock)
    steps = held.data.steps
    opened = None if store is None else open_store(store)
    if backwards:
        first_step = 0 if to_come is None else to_come.of(steps)
        found = list(_traces(held, opened, document or [], documents, domain, token, first_step))
        if arrow is not None:
            trace_arrow.write_traces(arrow, found, most)
        elif as_json:
            trace_output.print_traces_json(found, most)
        else:
            trace_output.print_traces(found, most)
        return
    assert opened is not None, "refused above"
    if step is not None:
        number = step.of(steps)
        if not uneven and held.schedule().batch_of(number) % world_size:
            check_divisible(held.data, world_size, number)
        sequences = trace_step(held, opened, number, rank=rank, world_size=world_size)
        if arrow is not None:
            trace_arrow.write_sequences(arrow, sequences, opened.attributes)
        elif as_json:
            trace_output.print_sequences_json(sequences)
        else:
            trace_output.print_sequences(sequences, number)
    elif until_step is not None:
        sums = read_so_far(held, opened, until_step.of(steps), by=by or "domain")
        if arrow is not None:
            trace_arrow.write_sums(arrow, sums)
        elif as_json:
            trace_output.print_sums_json(sums)
        else:
            trace_output.print_sums(sums)


def _traces(
    lock: Lock,
    store: Store | None,
    ids: list[str],
    file: Path | None,
    domain: str | None,
    token: int | None,
    from_step: int,
) -> Iterator[Trace]:
    from mixture.errors import StoreError
    from mixture.lock import MaskedDocument, MaskedRange, read_mask_file
    from mixture.stream import trace_documents, trace_range, trace_token

    if domain is not None and token is not None:
        yield trace_token(lock, domain, token, from_step=from_step)
        return
    assert store is not None, "refused above"
    lines = [] if file is None else [line.what for line in read_mask_file(file)]
    asked = [(line.document, line.domain) for line in lines if isinstance(line, MaskedDocument)]
    found = trace_documents(lock, store, ids or [identity for identity, _ in asked], from_step=from_step)
    places = {(one.document.id, one.domain) for one in found if one.document}
    for identity, only in asked:
        if only is not None and (identity, only) not in places:
            raise StoreError(f"domain '{only}' of the store has no document '{identity}'", code="document-unknown")
    wanted = {*asked, *((identity, None) for identity in ids)}
    for one in found:
        assert one.document is not None, "it was asked for by its id"
        if wanted & {(one.document.id, None), (one.document.id, one.domain)}:
            yield one
    for line in lines:
        if isinstance(line, MaskedRange):
            yield trace_range(lock, line.domain, line.first_token, line.tokens, from_step=from_step)
