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

    from mixture.plan import Diff, Move
    from mixture.plan.diff_words import Number

SHOWN = 40
MOST_PHASES = 4
"""Phases whose weights stand beside those of the run: more would make lines that nobody reads."""

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
        Path | None, typer.Option("--catalog", metavar="TABLE", help="The table of a lock's domains, for --by.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only those that moved most.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 1 where they differ, as git does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: from which step they part, and by domain and phase what moved, the largest change first."""
    from mixture.catalog import read_catalog
    from mixture.plan import diff as compare
    from mixture.plan import diff_json, diff_markdown, read_sides
    from mixture.plan.diff_markdown import MOST

    if markdown and as_json:
        raise typer.BadParameter("say either --markdown or --json")
    sides = read_sides(a, b, catalog=None if catalog is None else read_catalog(catalog))
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
    from mixture.plan.diff_words import agreement_words, remarks, unmoved_words
    from mixture.units import format_count, format_short

    print(agreement_words(found.agreement))
    for letter, side in (("A", found.a), ("B", found.b)):
        print(f"{letter}: {printable(side.name)}{f', lock {side.digest}' if side.digest else ''}")
    print()
    shown = [move for move in found.moves if most is None or move.is_change][:most]
    for made in (_phases, _moves) if shown else (_phases,):
        whole, width = made(found, shown, format_count), terminal_width()
        print_table(whole if width is None or width_of(whole) <= width else made(found, shown, format_short))
    left = len(found.moves) - len(shown)
    if not shown:
        print(unmoved_words(found, "domains" if found.by is None else f"groups by {printable(found.by)}") + "\n")
    elif left:
        moved = sum(move.is_change for move in found.moves) - len(shown)
        print(f"… and {left:,} more, of which {moved or 'none'} moved; --all shows them\n")
    for remark in remarks(found, lambda name: repr(printable(name))):
        print(remark)


def _phases(found: Diff, _: Sequence[Move], number: Number) -> Table:
    from mixture.plan.diff_words import PHASE_HEADS, phase_cells, run_cells

    shown = table(
        "Phases, distances are of token shares by domain: 0 the same, 1 nothing in common", "<phase", *PHASE_HEADS
    )
    for name, cells in phase_cells(found, number):
        shown.add_row(plain(printable(name)), *cells)
    shown.add_section()
    shown.add_row("the whole run", *run_cells(found, number))
    return shown


def _moves(found: Diff, moves: Sequence[Move], number: Number) -> Table:
    from mixture.plan.diff_words import MOVE_HEADS, between, move_cells, percent

    phases = [pair for pair in found.phases if pair.distance is None or pair.distance.half_l1]
    phases = phases if len(phases) <= MOST_PHASES else []
    what = "Domains" if found.by is None else f"Groups by {printable(found.by)}"
    names = [printable(pair.name) for pair in phases]
    title = f"{plain(what)}, shares are of tokens, changes in percentage points"
    shown = table(title, "<domain" if found.by is None else f"<{printable(found.by)}", *MOVE_HEADS, *names)
    for move in moves:
        weights = [
            between(*(percent(None if side is None else side.weight(move.domains)) for side in (pair.a, pair.b)))
            for pair in phases
        ]
        name = "none" if move.name is None else printable(move.name)
        shown.add_row(plain(name), *move_cells(move, number), *weights)
    return shown
