"""`mixture show`: what a run reads of each domain, or of groups of them, up to a step and from there on."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import (
    AsJson,
    LockFile,
    plain,
    print_json,
    print_table,
    printable,
    table,
    terminal_width,
    width_of,
)
from mixture.cli.planning.plan import SHOWN_DOMAINS, counts_as
from mixture.cli.planning.steps import STEP_HELP, StepText, parse_step
from mixture.units import decimal, percent

if TYPE_CHECKING:
    from rich.table import Table

    from mixture.lock import Lock
    from mixture.planning.plan import Crossing, Groups, GroupTokens

EXAMPLE = (
    "Example: mixture show run.lock.json --step 25% --by cluster · "
    "mixture show run.lock.json --crossings 1,2,4 --domain c12q3"
)
FIGURES = (
    "domains", "domain_tokens", "tokens_so_far", "weight_so_far", "epochs_so_far", "tokens_to_come", "weight_to_come",
    "run_tokens", "run_weight", "run_epochs",
)  # fmt: skip
CROSSINGS = ("domain", "epochs", "step", "phase", "epochs_in_run")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=EXAMPLE)(show)


def show(
    lock: LockFile,
    step: Annotated[
        StepText | None,
        typer.Option(
            parser=parse_step, metavar="S", help=f"What was read before this step, and what comes. {STEP_HELP}"
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="COLUMNS", help="Sum by columns of the catalog, between commas. Default: domains."
        ),
    ] = None,
    crossings: Annotated[
        str | None,
        typer.Option(metavar="EPOCHS", help="Show the steps in which domains pass numbers of epochs: 1,2,4."),
    ] = None,
    domain: Annotated[list[str] | None, typer.Option(metavar="D", help="Only these, between commas.")] = None,
    catalog: Annotated[
        Path | None,
        typer.Option(
            "--catalog", metavar="TABLE", help="A table or a spec, for --by; else that of the spec beside the lock."
        ),
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Show every row, not only those that are read most.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a run reads: tokens, shares, epochs, so far and to come, by domain or by columns of the catalog."""
    from mixture.lock import read_lock

    if as_csv and as_json:
        raise typer.BadParameter("use either --csv or --json")
    if by is not None and (crossings is not None or domain):
        raise typer.BadParameter("--by sums over domains: use it without --crossings and --domain")
    if crossings is not None and step is not None:
        raise typer.BadParameter("--crossings looks at the whole run: use it without --step")
    if catalog is not None and by is None:
        raise typer.BadParameter("--catalog is for --by")
    run = read_lock(lock)
    domain = _domains(run, domain)
    if crossings is not None:
        _show_crossings(run, _epochs(crossings), domain, every=every, as_csv=as_csv, as_json=as_json)
        return
    at = run.data.steps if step is None else step.of(run.data.steps)
    groups, rows = _tokens(run, lock, at, by, catalog, domain)
    if as_json:
        for row in rows:
            print_json({"step": at} | _values(groups.columns, row))
    elif as_csv:
        cells = (_values(groups.columns, row).values() for row in rows)
        _write_csv(("step", *groups.columns, *FIGURES), ((at, *row) for row in cells))
    else:
        _print_tokens(run, groups.columns, rows, at, most=None if every else SHOWN_DOMAINS)


def _domains(run: Lock, texts: list[str] | None) -> list[str] | None:
    """Names of domains between commas; one with a comma in it stands alone. Whoever looks them up refuses others."""
    names = set(run.schedule().names)
    return texts and [name for text in texts for name in ([text] if text in names else map(str.strip, text.split(",")))]


def _tokens(
    run: Lock, path: Path, step: int, by: list[str] | None, catalog: Path | None, domain: list[str] | None
) -> tuple[Groups, tuple[GroupTokens, ...]]:
    from mixture.errors import CatalogError
    from mixture.planning.catalog import grouping_columns
    from mixture.planning.compare import catalog_of
    from mixture.planning.plan import FIGURES as COMPOSITION
    from mixture.planning.plan import STRETCH, group, group_domains, group_tokens

    if by is None or by == ["domain"]:
        groups = group_domains(run)
        rows = group_tokens(run, groups, step)
        wanted = {run.schedule().names[run.schedule().domain_index(name)] for name in domain or ()}
        return groups, tuple(row for row in rows if not wanted or row.key[0] in wanted)
    known = catalog_of(path, catalog, needed_for=", ".join(by))
    if known.digest != run.catalog_digest:
        print(f"note: {known.source} is not the catalog that the lock was made from", file=sys.stderr)
    taken = ("step", *STRETCH, *COMPOSITION, *FIGURES)  # those of the service's answers are no columns here either
    try:
        columns = grouping_columns(known.table.column_names, by, taken=taken)
    except CatalogError as error:
        if error.code == "unknown-column" and run.content and not (error.hint or "").startswith("did you mean"):
            command = f"mixture trace read-so-far {path} {step} --store DIR --by {error.facts['column']}"
            error.hint = f"{error.hint}; by attributes of documents: `{command}`"
        raise
    groups = group(run, known, columns)
    return groups, group_tokens(run, groups, step)


def _values(columns: Sequence[str], row: GroupTokens) -> dict[str, object]:
    """A row for programs, in the words and numbers of the service."""
    figures = (
        row.domains,
        row.tokens,
        row.tokens_so_far,
        row.weights[0],
        row.epochs_so_far,
        row.tokens_to_come,
        row.weights[1],
        row.tokens_so_far + row.tokens_to_come,
        row.weights[2],
        row.epochs,
    )
    numbers = (float(x) if isinstance(x, Fraction) else x for x in figures)
    keys = [key if isinstance(key, str | int | float | bool | None) else str(key) for key in row.key]
    values: dict[str, object] = dict(zip(columns, keys, strict=True))
    return values | dict(zip(FIGURES, numbers, strict=True))


def _print_tokens(
    run: Lock, columns: Sequence[str], rows: Sequence[GroupTokens], step: int, *, most: int | None
) -> None:
    phase = run.phase_of(step)
    where = f", in phase {printable(phase.name)}" if phase is not None else ""
    done = sum(row.tokens_so_far for row in rows)
    read = f"{done:,} tokens of these are read before it"
    print(f"{printable(run.mixture)}: step {step:,} of {run.data.steps:,}{where}; {read}\n")
    ordered = sorted(rows, key=lambda row: (-row.tokens_so_far, -row.tokens_to_come))
    is_whole = step == run.data.steps
    whole, width = _table(columns, ordered[:most], is_whole=is_whole, exact=True), terminal_width()
    fits = width is None or width_of(whole) <= width
    print_table(whole if fits else _table(columns, ordered[:most], is_whole=is_whole, exact=False))
    if most is not None and len(ordered) > most:
        print(f"… and {len(ordered) - most:,} more; --all shows every one\n")


def _table(columns: Sequence[str], rows: Iterable[GroupTokens], *, is_whole: bool, exact: bool) -> Table:
    number, digits = counts_as(exact), 4 if exact else 3
    heads = ["domains"] if columns != ("domain",) else []
    figures = (
        ["read", "share", "epochs"]
        if is_whole
        else ["read", "share", "epochs", "to come", "share to come", "epochs at the end"]
    )
    shown = table("Token shares and epochs", *(f"<{name}" for name in columns), *heads, "domain tokens", *figures)
    for row in rows:
        cells = ["none" if key is None else plain(printable(str(key))) for key in row.key]
        cells += [number(row.domains)] if heads else []
        cells += [number(row.tokens), number(row.tokens_so_far), percent(row.weights[0], digits=digits)]
        cells.append(_decimal(row.epochs_so_far, digits))
        if not is_whole:
            cells += [number(row.tokens_to_come), percent(row.weights[1], digits=digits), _decimal(row.epochs, digits)]
        shown.add_row(*cells)
    return shown


def _show_crossings(
    run: Lock, epochs: Sequence[Fraction], domain: list[str] | None, *, every: bool, as_csv: bool, as_json: bool
) -> None:
    from mixture.planning.plan import crossing_json, crossings

    found = crossings(run, epochs, domain)
    if as_json:
        for one in found:
            print_json(crossing_json(one))
    elif as_csv:
        _write_csv(CROSSINGS, (crossing_json(one).values() for one in found))
    else:
        _print_crossings(run, epochs, found, most=None if every else SHOWN_DOMAINS, named=bool(domain))


def _print_crossings(
    run: Lock, epochs: Sequence[Fraction], found: Sequence[Crossing], *, most: int | None, named: bool
) -> None:
    """A row a domain, those that pass first at the top; those that pass none are counted."""
    width = len(epochs)
    rows = [found[i : i + width] for i in range(0, len(found), width)]
    passing: list[Sequence[Crossing]] = []
    others: list[Sequence[Crossing]] = []
    for row in rows:
        is_shown = named or most is None or any(one.step is not None for one in row)
        (passing if is_shown else others).append(row)
    passing.sort(key=lambda row: min((one.step for one in row if one.step is not None), default=run.data.steps))
    heads = [f"passes {_decimal(number, 12)}" for number in epochs]
    if passing:
        shown = table("Steps in which domains pass numbers of epochs", "<domain", *heads, "epochs in the run")
        for row in passing[:most]:
            steps = ["never" if one.step is None else f"{one.step:,}" for one in row]
            shown.add_row(plain(printable(row[0].domain)), *steps, _decimal(row[0].epochs_in_run, 4))
        print_table(shown)
    if most is not None and len(passing) > most:
        print(f"… and {len(passing) - most:,} more; --all shows every one")
    rest = [row[0].epochs_in_run for row in others]
    if rest:
        highest = max((x for x in rest if x is not None), default=Fraction(0))
        them = "1 domain passes" if len(rest) == 1 else f"{len(rest):,} domains pass"
        print(f"{them} none of these: at most {_decimal(highest, 4)} epochs; --all shows every one")
    print("a checkpoint at such a step is before it; epochs are tokens drawn ÷ tokens of the domain")


def _epochs(text: str) -> list[Fraction]:
    """Numbers of epochs between commas. Raises typer.BadParameter."""
    from mixture.errors import UnitError
    from mixture.planning.plan import parse_epochs

    try:
        return list(dict.fromkeys(parse_epochs(part) for part in text.split(",")))
    except UnitError as error:
        raise typer.BadParameter(str(error), param_hint="--crossings") from error


def _write_csv(names: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    from mixture.spreadsheet import defused

    writer = csv.writer(sys.stdout, lineterminator="\n")
    for row in chain([names], rows):
        writer.writerow(defused(cell) if isinstance(cell, str) else cell for cell in row)


def _decimal(x: Fraction | None, digits: int) -> str:
    return "" if x is None else decimal(x, digits=digits)
