"""`mixture catalog build|add|refresh`, `mixture export-store`: token files of other programs, read where they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mixture.cli.output import AsJson, plain, print_json, print_table, table

if TYPE_CHECKING:
    from mixture.data.linking import CatalogReport, DomainChange

CatalogFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A catalog, made by `mixture catalog build`.")]
Full = Annotated[
    bool, typer.Option("--full", help="Read all of every file, and keep its SHA-256: `mixture verify` compares it.")
]
Threads = Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: one a core.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    catalog = typer.Typer(help="Token files of other programs as the catalog of a mixture, read where they are.")
    catalog.command(epilog="Example: mixture catalog build sources.yaml -o catalog")(build)
    catalog.command(
        epilog="Example: mixture catalog add catalog code --format npy --files 'code/*.npy' --dtype uint32"
    )(add)
    catalog.command(epilog="Example: mixture catalog refresh catalog")(refresh)
    app.add_typer(catalog, name="catalog")
    app.command("export-store", epilog="Example: mixture export-store store --format megatron -o exported")(export)


def build(
    sources: Annotated[Path, typer.Argument(metavar="SOURCES", help="A YAML file that says which files are a domain.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The catalog's folder; must not be there.")],
    threads: Threads = None,
    *,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    r"""Count token files and write a folder that leads to them: it reads as a store, and no token is copied.

    SOURCES says which files are a domain, and what their ids are:

        tokenizer: marin-community/marin-tokenizer
        vocabulary_size: 128256
        end_of_document: 128001
        domains:
          web: {format: megatron, files: \[web/*.bin]}
          code: {format: npy, files: \[code/*.npy], dtype: uint32}

    `format` is megatron (NAME.bin beside NAME.idx), npy (NumPy's files, and raw ones with `dtype`), parquet or arrow (a
    `column` of lists, by default input_ids, and `id`; a folder that Hugging Face datasets saved), or store (`path` and
    `domain`). `documents: '{stem}.csv.gz'` names the file beside an npy file that says where documents end,
    `documents: end_of_document` looks for that token.
    `attributes: {license: MIT}` become columns of the catalog.
    """
    from mixture.data.linking import build_catalog

    with _bar("count") as progress:
        report = build_catalog(sources, out, full=full, threads=threads, progress=progress)
    _show(report, as_json)


def add(
    folder: CatalogFolder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new domain.")],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="megatron, npy, parquet, arrow or store.")],
    files: Annotated[list[str] | None, typer.Option("--files", metavar="GLOB", help="May be given again.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Of npy files that do not say it.")] = None,
    documents: Annotated[
        str | None, typer.Option(help="Of npy: the file beside, '{stem}.csv.gz', or end_of_document.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Of tokens, in Parquet and Arrow. Default: input_ids.")] = None,
    identity: Annotated[str | None, typer.Option("--id", help="Column of documents' ids, in those.")] = None,
    path: Annotated[str | None, typer.Option(help="Of a store.")] = None,
    domain: Annotated[str | None, typer.Option(help="Of that store. Default: NAME.")] = None,
    attributes: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="KEY=VALUE", help="May be given again.")
    ] = None,
    threads: Threads = None,
    *,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Add a domain to a catalog; only its files are counted, and locks that were made before still fit."""
    from mixture.data.linking import add_domain

    said = {
        "format": form,
        "files": files,
        "dtype": dtype,
        "documents": documents,
        "column": column,
        "id": identity,
        "path": path,
        "domain": domain,
        "attributes": dict(_pair(text) for text in attributes or ()),
    }
    fields: dict[str, object] = {key: value for key, value in said.items() if value}
    with _bar("count") as progress:
        report = add_domain(folder, name, fields, full=full, threads=threads, progress=progress)
    _show(report, as_json)


def refresh(
    folder: CatalogFolder,
    threads: Threads = None,
    *,
    accept: Annotated[
        bool, typer.Option("--accept", help="Take changed domains as they are now; earlier locks do not fit any more.")
    ] = False,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Hold a catalog against its files: which were changed, have grown, are missing or new. Exit 1 where some are.

    Only files that are not what they were are counted again. With --json the changes are printed also where they are
    not accepted.
    """
    from mixture.data.linking import refresh_catalog
    from mixture.errors import StoreError

    try:
        with _bar("count") as progress:
            report = refresh_catalog(folder, accept=accept, full=full, threads=threads, progress=progress)
    except StoreError as error:
        if as_json and error.code == "catalog-changed":
            found = cast("Iterable[DomainChange]", error.facts["changes"])
            print_json({"catalog": os.fspath(folder), "changes": _changes(found)})
        raise
    _show(report, as_json)


def export(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A store's folder, or a catalog's.")],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="megatron, npy, numpy or datatrove.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The folder; it must not be there.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Write a store's tokens as files of another program, and the sources.yaml that reads them back.

    megatron: NAME.bin and NAME.idx. npy: NAME.npy as OLMo-core reads it, raw, and NAME.csv.gz with start, end and id of
    each document. numpy: the same with NumPy's header, for `numpy.load`. datatrove: NAME/NAME.ds with its index, as
    datatrove and nanotron read it.
    Documents keep their places. Their ids are in NAME.csv.gz; the other formats have no room for them.
    """
    from mixture.data.derived import ExportFormat, export_store
    from mixture.data.store import open_store

    if form not in list(ExportFormat):
        raise typer.BadParameter(f"{form} is not known: {', '.join(ExportFormat)}", param_hint="--format")
    with _bar("export") as progress:
        exported = export_store(open_store(store), ExportFormat(form), out, progress=progress)
    if as_json:
        domains = [
            {"domain": one.name, "file": one.file, "tokens": one.tokens, "documents": one.documents} for one in exported
        ]
        print_json({"folder": str(out), "format": form, "domains": domains})
        return
    shown = table(plain(f"{out}: {len(exported):,} domains"), "<domain", "<file", "documents", "tokens")
    for one in exported:
        shown.add_row(plain(one.name), plain(one.file), f"{one.documents:,}", f"{one.tokens:,}")
    print_table(shown)
    if form in (ExportFormat.MEGATRON, ExportFormat.DATATROVE):
        print("ids of documents are not in these files: read in place, each is called FILE#NUMBER")
    print(f"read them in place: mixture catalog build {out / 'sources.yaml'} -o DIR")


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found:
        raise typer.BadParameter(f"{text} is not KEY=VALUE", param_hint="--attribute")
    return key, value


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while there is a terminal; else nothing."""
    from rich.console import Console
    from rich.progress import Progress

    err = Console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _changes(changes: Iterable[DomainChange]) -> list[dict[str, object]]:
    return [
        {
            "domain": change.name,
            "tokens_before": change.tokens[0],
            "tokens": change.tokens[1],
            "changed": list(change.changed),
            "grown": list(change.grown),
            "missing": list(change.missing),
            "new": list(change.new),
        }
        for change in changes
    ]


def _show(report: CatalogReport, as_json: bool) -> None:
    manifest = report.manifest
    if as_json:
        print_json(
            {
                "catalog": os.fspath(report.path),
                "digest": manifest.digest,
                "counted_files": report.counted,
                "changes": _changes(report.changes),
                "domains": [
                    {
                        "domain": one.name,
                        "format": one.how.format.value,
                        "files": len(one.files),
                        "bytes": sum(file.bytes for file in one.files),
                        "documents": one.documents,
                        "undivided_files": one.undivided,
                        "tokens": one.tokens,
                        "content": f"{one.kind}:{one.content}",
                    }
                    for one in manifest.domains
                ],
            }
        )
        return
    shown = table(
        plain(f"{report.path}: {report.counted:,} files counted"),
        "<domain", "<format", "files", "bytes", "documents", "tokens",
    )  # fmt: skip
    for domain in manifest.domains:
        counts = (len(domain.files), sum(file.bytes for file in domain.files), domain.documents, domain.tokens)
        shown.add_row(plain(domain.name), domain.how.format.value, *(f"{count:,}" for count in counts))
    print_table(shown)
    if undivided := sum(domain.undivided for domain in manifest.domains):
        print(
            f"files without a file of documents, each counted as one document: {undivided:,}; "
            "`documents: end_of_document` divides them behind each such token"
        )
    for change in report.changes:
        print(change)
    print(f"digest {manifest.digest}")
