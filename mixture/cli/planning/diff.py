"""`mixture diff`: what differs between two specs, locks or revisions of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, plain, print_json, print_table, printable, table, terminal_width, width_of

if TYPE_CHECKING:
    from rich.table import Table

    from mixture.planning.compare import Diff, Move, Number

SHOWN = 40

EXAMPLE = (
    "Example: mixture diff HEAD~1 mixtures/demo/mixture.yaml · mixture diff main:a/mixture.yaml b.lock.json --by source"
)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=EXAMPLE)(diff)


def diff(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A spec, a lock, REV:PATH, or a git revision of the other one.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same; changes are B's figure less A's.")],
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Group domains by a catalog's column.")
    ] = None,
    catalog: Annotated[
        Path | None,
        typer.Option(
            "--catalog", metavar="TABLE", help="The table of a lock's domains, for --by; else of a spec beside it."
        ),
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only those that moved most.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 1 where they differ, as git does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: from which step they part, and by domain and phase what moved, the largest change first."""
    from mixture.planning.compare import MOST, diff_json, diff_markdown, given_catalog, read_sides
    from mixture.planning.compare import diff as compare

    if markdown and as_json:
        raise typer.BadParameter("say either --markdown or --json")
    sides = read_sides(a, b, catalog=None if catalog is None else given_catalog(catalog), by=by)
    found = compare(*sides, by=by)
    if as_json:
        print_json(diff_json(found))
    elif markdown:
        sys.stdout.write(diff_markdown(found, most=None if every else MOST))
    else:
        show(found, most=None if every else SHOWN)
    if exit_code and not found.is_same:
        raise typer.Exit(1)


def show(found: Diff, *, most: int | None) -> None:
    """Print a comparison: a sentence, tables of phases and of what moved (`most`; None: all), and the rest."""
    from mixture.planning.compare import digest_words, headline, remarks, rounding_words, unmoved_words
    from mixture.units import format_count, format_short

    print(headline(found.agreement))
    for words in digest_words(found, printable):
        print(words)
    print()
    shown = found.moves if most is None else found.moved[:most]
    for made in (_phases, _moves) if shown else (_phases,):
        whole, width = made(found, shown, format_count), terminal_width()
        print_table(whole if width is None or width_of(whole) <= width else made(found, shown, format_short))
    left = len(found.moves) - len(shown)
    if not shown and not found.rounded:
        print(unmoved_words(found, "domains" if found.by is None else f"groups by {printable(found.by)}") + "\n")
    elif left:
        moved = len(found.moved) - len(shown)
        rounded = f", {rounding_words(len(found.rounded))}" if found.rounded else ""
        print(f"… and {left:,} more, of which {moved or 'none'} moved{rounded}; --all shows them\n")
    for remark in remarks(found, lambda name: repr(printable(name))):
        print(remark)


def _phases(found: Diff, _: Sequence[Move], number: Number) -> Table:
    from mixture.planning.compare import PHASE_HEADS, phase_cells, run_cells

    shown = table(
        "Phases, distances are of token shares by domain: 0 the same, 1 nothing in common", "<phase", *PHASE_HEADS
    )
    for name, cells in phase_cells(found, number):
        shown.add_row(plain(printable(name)), *cells)
    shown.add_section()
    shown.add_row("the whole run", *run_cells(found, number))
    return shown


def _moves(found: Diff, moves: Sequence[Move], number: Number) -> Table:
    from mixture.planning.compare import MOVE_HEADS, move_cells, shown_phases, weight_cells

    phases = shown_phases(found)
    what = "Domains" if found.by is None else f"Groups by {printable(found.by)}"
    names = [printable(pair.name) for pair in phases]
    title = f"{plain(what)}, shares are of tokens, changes B's less A's, in percentage points"
    shown = table(title, "<domain" if found.by is None else f"<{printable(found.by)}", *MOVE_HEADS, *names)
    for move in moves:
        name = "none" if move.name is None else printable(move.name)
        shown.add_row(plain(name), *move_cells(move, number), *weight_cells(phases, move))
    return shown
