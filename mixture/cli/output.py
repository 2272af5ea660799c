"""What commands print with: JSON lines, plain columns, tables, progress, and files that are whole or not there."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.errors import MixtureError, Place

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs, one object a line.")]
LockFile = Annotated[Path, typer.Argument(metavar="LOCK", help="A lock file, made by `mixture lock`.")]


def print_json(value: object) -> None:
    """One JSON value on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def print_columns(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Aligned columns under their names, written as they come, for any number of rows."""
    widths = [max(len(name), 12) for name in names]
    print("  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True)))
    for row in rows:
        print("  ".join(str(cell).rjust(width) for cell, width in zip(row, widths, strict=True)))


def console() -> Console:
    """A console for tables: as wide as the terminal, or 120 columns where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, soft_wrap=False)


def table(title: str, *columns: str) -> Table:
    """A table; a column whose name begins with `<` is text, the others are numbers."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
    for column in columns:
        is_text = column.startswith("<")
        made.add_column(column.removeprefix("<"), justify="left" if is_text else "right", no_wrap=not is_text)
    return made


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside this one, which takes its name when the block ends well and is gone when it does not."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        raise MixtureError(
            f"can not be written: {error.strerror or error}", code="file-not-written", place=Place(file=str(path))
        ) from error
    finally:
        beside.unlink(missing_ok=True)
