"""`mixture stream`: the batches of a rank, as Arrow or to be read by a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixture.cli.data.store import StoreFolder
from mixture.cli.output import AsJson, LockFile, output_file, print_json, printable
from mixture.cli.planning.steps import STEP_HELP, StepText, parse_step
from mixture.errors import StreamError

if TYPE_CHECKING:
    import pyarrow as pa

    from mixture.stream import Batch, LocalStream

SNIPPET, NAME, SHOWN_ROWS = 72, 44, 8
TO_STDOUT = Path("-")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(
        epilog="Example: mixture stream run.lock.json --store store --first-step 390000 --rank 0 --world-size 8"
    )(stream)


def stream(
    lock: LockFile,
    store: StoreFolder,
    first_step: Annotated[StepText, typer.Option(parser=parse_step, metavar="A", help=STEP_HELP)] = "0",  # type: ignore[assignment]
    last_step: Annotated[
        StepText | None,
        typer.Option(parser=parse_step, metavar="B", help="The last step to read; default: the first one."),
    ] = None,
    rank: Annotated[int, typer.Option(min=0, metavar="r")] = 0,
    world_size: Annotated[int, typer.Option(min=1, metavar="R")] = 1,
    rows: Annotated[
        int | None, typer.Option(min=1, help=f"Rows of each step to show. Default: {SHOWN_ROWS}; with --json all.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write an Arrow IPC stream; - is standard output."),
    ] = None,
    *,
    next_token: Annotated[
        bool, typer.Option("--next-token", help="One token more a row: the one that follows.")
    ] = False,
    uneven: Annotated[bool, typer.Option("--uneven", help="Let ranks differ by one row.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a rank reads, row by row with the documents it comes from, or write it as Arrow."""
    from mixture.lock import read_lock
    from mixture.stream import open_stream

    held = read_lock(lock)
    first = first_step.of(held.data.steps)
    opened = open_stream(
        held, store, rank, world_size, first, next_token=next_token, documents=out is None, uneven=uneven
    )
    last = first if last_step is None else last_step.of(held.data.steps)
    if last < first:
        raise typer.BadParameter(f"--first-step {first} comes after --last-step {last}")
    if first == opened.steps:
        raise StreamError(f"the run ends at step {opened.steps:,}", code="step-out-of-range", hint="steps count from 0")
    batches = _up_to(opened, last)
    if out is not None:
        _write_arrow(opened, batches, out)
        print(f"{out}: steps {first} to {opened.step - 1} of rank {rank} of {world_size}", file=sys.stderr)
        return
    for batch in batches:
        if as_json:
            for row in _rows(opened, batch, rows or len(batch)):
                print_json(row)
        else:
            show(opened, batch, rows or SHOWN_ROWS)


def _up_to(opened: LocalStream, last_step: int) -> Iterator[Batch]:
    end = min(last_step + 1, opened.steps)
    while opened.step < end:
        yield next(opened)


def _write_arrow(opened: LocalStream, batches: Iterator[Batch], out: Path) -> None:
    from mixture.stream import arrow_schema, to_arrow

    with _sink(out) as sink:
        import pyarrow as pa

        metadata = {
            "mixture.lock": opened.lock.digest,
            "mixture.rank": str(opened.rank),
            "mixture.world_size": str(opened.world_size),
        }
        schema = arrow_schema(opened.store.dtype, masked=bool(opened.lock.masks))
        with pa.ipc.new_stream(sink, schema.with_metadata(metadata)) as writer:
            for batch in batches:
                for record in to_arrow(batch, opened.domains):
                    writer.write_batch(record)


@contextmanager
def _sink(out: Path) -> Iterator[pa.NativeFile]:
    import pyarrow as pa

    if out == TO_STDOUT:
        yield pa.PythonFile(sys.stdout.buffer, mode="w")
        sys.stdout.buffer.flush()
        return
    with output_file(out) as beside, pa.OSFile(str(beside), "wb") as sink:
        yield sink


def show(opened: LocalStream, batch: Batch, most: int) -> None:
    """Print the first rows of a batch: where each comes from, and how its documents begin."""
    whose = f", rank {opened.rank} of {opened.world_size}" if opened.world_size > 1 else ""
    print(f"step {batch.step}: {len(batch)} rows of {batch.input_ids.shape[1]} tokens{whose}")
    for row in _rows(opened, batch, most):
        down = f"  {row['masked_tokens']:,} tokens taken down" if row.get("masked_tokens") else ""
        where = f"position {row['position']}  {row['domain']}  epoch {row['epoch']}  token {row['first_token']:,}"
        print(f"  {where}{down}")
        for document in row["documents"]:
            name = printable(document["name"])
            print(f"    {name:<{NAME}} {document['tokens']:>6,} tokens  {printable(document['text'])}")
    if len(batch) > most:
        print(f"  … and {len(batch) - most} more rows")


def _rows(opened: LocalStream, batch: Batch, most: int) -> Iterator[dict[str, Any]]:
    from mixture.data.layout import attribute_value
    from mixture.data.store import decoder
    from mixture.stream import masks_for

    decode, masks = decoder(opened.store), masks_for(opened.lock)
    for i in range(min(most, len(batch))):
        length = opened.lock.schedule().length_of(batch.step)
        first_token, name = int(batch.first_token[i]), opened.domains[int(batch.domain[i])]
        documents = []
        for document in opened.store.documents(name, first_token, length).to_pylist():
            begin = max(0, document["first_token"] - first_token)
            end = min(length, document["first_token"] + document["tokens"] - first_token)
            ids = batch.input_ids[i, begin : min(end, begin + 4 * SNIPPET)]
            known = decode(ids) if masks is None else masks.text(batch.step, name, first_token + begin, ids, decode)
            text = " ".join(known.split())
            own = {k: attribute_value(v) for k, v in document.items() if k not in ("id", "first_token", "tokens")}
            attributes = {k: v for k, v in own.items() if v not in (None, "")}
            origin = "#".join(str(attributes[name]) for name in ("file", "row", "byte") if name in attributes)
            shown = str(attributes.get("path") or origin or document["id"])
            documents.append(
                {
                    "id": document["id"],
                    "name": shown if len(shown) <= NAME else "…" + shown[1 - NAME :],
                    "tokens": end - begin,
                    "attributes": attributes,
                    "text": text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…",
                }
            )
        yield {
            "step": batch.step,
            "position": int(batch.position[i]),
            "domain": name,
            "epoch": int(batch.epoch[i]),
            "first_token": first_token,
            "tokens": length,
            **({} if batch.masked is None else {"masked_tokens": int(batch.masked[i, :length].sum())}),
            "documents": documents,
        }
