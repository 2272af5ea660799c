"""What commands print with: JSON lines, plain columns, tables, progress, and files that are whole or not there."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.errors import MixtureError, Place
from mixture.whole_file import whole_file

if TYPE_CHECKING:
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs, one object a line.")]
LockFile = Annotated[Path, typer.Argument(metavar="LOCK", help="A lock file, made by `mixture lock`.")]


def print_json(value: object) -> None:
    """One JSON value on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def print_columns(
    names: Sequence[str], rows: Iterable[Sequence[object]], *, text: Mapping[str, int], numbers: int = 12
) -> None:
    """Aligned columns under their names, written as they come, for any number of rows.

    text: the columns that hold text, and how wide they are; the others hold numbers, and are as wide as `numbers`
    """
    widths = [max(len(name), text.get(name, numbers)) for name in names]
    for row in chain([names], rows):
        cells = (
            str(cell).ljust(width) if name in text else str(cell).rjust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        )
        print("  ".join(cells).rstrip())


def terminal_width() -> int | None:
    """The columns of the terminal, or None where the output goes elsewhere and may be as wide as it is."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(title: str, *columns: str) -> Table:
    """A table; a column whose name begins with `<` is text, the others are numbers."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
    for column in columns:
        made.add_column(
            plain(column.removeprefix("<")), justify="left" if column.startswith("<") else "right", no_wrap=True
        )
    return made


def plain(text: str) -> str:
    """Text for a table: what looks like markup in it, such as a domain called `[web]`, shows as it is."""
    from rich.markup import escape

    return escape(text)


def printable(text: str) -> str:
    """Text on one line that can not steer a terminal: what does not print shows as a dot."""
    return "".join(character if character.isprintable() else "·" for character in text)


def width_of(shown: Table) -> int:
    """The columns that a table takes when nothing of it is cut."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=10_000)
    return Measurement.get(wide, wide.options, shown).maximum


def print_table(shown: Table) -> None:
    """Print a table whole: nothing is cut, and a terminal that is too narrow wraps its lines."""
    from rich.console import Console

    out = Console(width=max(width_of(shown), terminal_width() or 0) + 1, highlight=False)
    with out.capture() as captured:
        out.print(shown)
    for line in captured.get().splitlines():
        print(line.rstrip())


def print_styled(text: str) -> None:
    """Print a line of rich's markup, as long as it is."""
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(text)


@contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """`whole_file` for a file that a person named: links are followed, and devices and folders left alone.

    Raises MixtureError, `file-not-written`.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            raise OSError(None, "it is there already, and is no file", str(path))
        with whole_file(path) as beside:
            yield beside
    except OSError as error:
        raise MixtureError(
            f"can not be written: {error.strerror or error}", code="file-not-written", place=Place(file=str(path))
        ) from error
