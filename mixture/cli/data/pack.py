"""`mixture pack`: a store of packed rows, or of domains cut by the length of their documents, made of another one."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.data.store import ingest_progress
from mixture.cli.output import AsJson, plain, print_json, print_table, table
from mixture.units import percent

if TYPE_CHECKING:
    from mixture.data.derived import PackReport, SplitReport


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture pack store -L 4096 -o packed")(pack)


def pack(
    store: Annotated[str, typer.Argument(metavar="STORE", help="A token store, or a catalog of token files.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The new store's folder; must not be there.")],
    sequence_length: Annotated[
        int | None,
        typer.Option("-L", "--sequence-length", min=1, metavar="N", help="Tokens of a row: the sequence length."),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option("--split-by-length", metavar="N,N,…", help="Cut domains at these lengths instead: 1024,4096."),
    ] = None,
    long: Annotated[
        str, typer.Option(metavar="split|drop", help="Documents longer than a row: in rows and a rest, or left out.")
    ] = "split",
    processes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: one a core.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    r"""Make a store of rows of N tokens that hold whole documents, for sequences of N tokens and no other length.

    Documents are packed by best fit, some 65,536 at a time, in the order in which they are stored. What is left of a
    row is filled with end-of-document, belongs to no document, and no loss is of it. A document longer than a row fills
    rows of its own; what is left of it is packed like others.

    With --split-by-length 1024,4096 nothing is packed: `web` becomes `web@0-1024`, with its documents of at most 1,024
    tokens, `web@1024-4096` and `web@4096-`, domains to be weighed by themselves.
    """
    from mixture.data.derived import pack_store, split_store
    from mixture.data.layout import LongDocuments
    from mixture.data.store import open_store

    if (sequence_length is None) == (bounds is None):
        raise typer.BadParameter("use either --sequence-length or --split-by-length")
    if long not in list(LongDocuments):
        raise typer.BadParameter(f"{long} is not known: {', '.join(LongDocuments)}", param_hint="--long")
    opened = open_store(store)
    with ingest_progress() as progress:
        if sequence_length is not None:
            packed = pack_store(
                opened,
                out,
                sequence_length=sequence_length,
                long=LongDocuments(long),
                processes=processes,
                progress=progress,
            )
        else:
            split = split_store(opened, out, _bounds(bounds or ""), processes=processes, progress=progress)
    if sequence_length is None:
        print_json(_split_json(split)) if as_json else _show_split(split)
    else:
        print_json(_pack_json(packed)) if as_json else _show_packed(packed)


def _bounds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"{text!r}: numbers of tokens are right here, such as 1024,4096"
        raise typer.BadParameter(message, param_hint="--split-by-length") from None


def _show_packed(report: PackReport) -> None:
    rows = sum(domain.rows for domain in report.domains)
    padding = sum(domain.padding for domain in report.domains)
    share = _share(padding, rows * report.sequence_length)
    shown = table(
        plain(f"{report.path}: {rows:,} rows of {report.sequence_length:,}, {share} padding"),
        "<domain", "rows", "documents", "tokens", "padding", "share", "split", "left out",
    )  # fmt: skip
    for one in report.domains:
        counts = (one.rows, one.documents, one.tokens, one.padding)
        share = _share(one.padding, one.tokens + one.padding)
        shown.add_row(plain(one.name), *(f"{n:,}" for n in counts), share, f"{one.split:,}", f"{one.dropped:,}")
    print_table(shown)
    print(f"digest {report.digest}")


def _share(part: int, whole: int) -> str:
    return percent(Fraction(part, whole), digits=4) if whole else "–"


def _pack_json(report: PackReport) -> dict[str, object]:
    return {
        "store": str(report.path),
        "digest": report.digest,
        "sequence_length": report.sequence_length,
        "rows": sum(domain.rows for domain in report.domains),
        "padding": sum(domain.padding for domain in report.domains),
        "domains": [_named(asdict(domain)) for domain in report.domains],
    }


def _show_split(report: SplitReport) -> None:
    title = plain(f"{report.path}: {len(report.domains):,} domains")
    shown = table(title, "<domain", "longer than", "at most", "documents", "tokens")
    for one in report.domains:
        most = "" if one.at_most is None else f"{one.at_most:,}"
        shown.add_row(plain(one.name), f"{one.longer_than:,}", most, f"{one.documents:,}", f"{one.tokens:,}")
    print_table(shown)
    print(f"digest {report.digest}")


def _split_json(report: SplitReport) -> dict[str, object]:
    domains = [_named(asdict(domain)) for domain in report.domains]
    return {"store": str(report.path), "digest": report.digest, "domains": domains}


def _named(fields: dict[str, object]) -> dict[str, object]:
    """A domain's name is `domain` in what commands print."""
    return {"domain": fields.pop("name"), **fields}
