"""Finding a table's file and reading it by what its name says it is. What is no table is refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mixture.catalog.csv_table import read_csv
from mixture.catalog.json_table import read_json, read_json_lines
from mixture.catalog.table import MOST_BYTES, Table
from mixture.errors import CatalogError, Place, StoreError, nearest
from mixture.file_kinds import says_links
from mixture.file_names import STORE_FILE, STORE_TABLE
from mixture.objects import Address, ObjectOptions, blocks_of, located
from mixture.units import quote

_TEXT_FORMATS = {".csv": read_csv, ".json": read_json, ".jsonl": read_json_lines, ".ndjson": read_json_lines}
_PARQUET = ".parquet"
TEXT_ENDINGS = tuple(_TEXT_FORMATS)
TABLE_ENDINGS = (*TEXT_ENDINGS, _PARQUET)
"""What a table's file is named, in any case of letters; a name that ends otherwise is a store's folder."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def read_table(path: Path, *, place: Place | None = None) -> Table:
    """The table in a CSV, Parquet, JSON or JSON lines file, or that of a store's folder (its ``domains.parquet``).

    place is where a spec names the table. Raises CatalogError.
    """
    asked = place or Place(file=str(path))
    address = located(path)
    file = _fetched(address, asked) if isinstance(address, Address) else _file(path, asked)
    form = file.suffix.lower()
    if form not in TABLE_ENDINGS:
        known = ", ".join(TABLE_ENDINGS)
        message = f"{quote(file.name)} names no format"
        raise CatalogError(message, code="unknown-format", place=asked, hint=f"names end with one of {known}")
    try:
        size = file.stat().st_size
        if size == 0:
            raise CatalogError("the file is empty", code="file-empty", place=Place(file=str(file)))
        if size > MOST_BYTES:
            hint = f"a table of domains has up to {MOST_BYTES:,}"
            raise CatalogError(f"{size:,} bytes", code="table-too-large", place=Place(file=str(file)), hint=hint)
        if form == _PARQUET:
            from mixture.catalog.parquet_table import read_parquet

            return read_parquet(file)
        return _TEXT_FORMATS[form](file, file_text(file, file.read_bytes()))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CatalogError(f"can not read {file}: {reason}", code="file-unreadable", place=asked) from error


def _fetched(address: Address, asked: Place) -> Path:
    """The table at an address, or that of a store there, fetched."""
    if not address.name.lower().endswith(TABLE_ENDINGS):
        address = address / STORE_TABLE
    try:
        return blocks_of(ObjectOptions.from_environment()).fetched(address)
    except StoreError as error:
        message = f"can not read {address}: {error.message}"
        raise CatalogError(message, code="file-unreadable", place=asked, hint=error.hint) from error


def _file(path: Path, asked: Place) -> Path:
    """The file to read: the path itself, or the table inside of a store."""
    if path.is_dir():
        table = path / STORE_TABLE
        if not (path / STORE_FILE).is_file() or not table.is_file():
            hint = f"a complete store has {STORE_FILE} and {STORE_TABLE}"
            raise CatalogError(f"the folder {path} is not a store", code="not-a-store", place=asked, hint=hint)
        return table
    if not path.exists():
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise CatalogError(
            f"there is no file {path}",
            code="file-missing",
            place=asked,
            hint=nearest(path.name, siblings) if path.parent.is_dir() else f"there is no folder {path.parent}",
        )
    if not path.is_file():
        raise CatalogError(f"{path} is not a plain file", code="file-unreadable", place=asked)
    return path


def domains_as_found(path: Path, names: Iterable[str]) -> frozenset[str]:
    """Those of a catalog's domains whose text may lie in the order in which it was found, as far as is known here.

    Of a table all of them; of a store those whose files were found: one that has its tokens keeps its documents in a
    random order. A store at an address is not asked.
    """
    if path.is_dir():
        return says_links((path / STORE_FILE).read_bytes())
    is_store = isinstance(located(path), Address) and not path.name.lower().endswith(TABLE_ENDINGS)
    return frozenset() if is_store else frozenset(names)


def file_text(file: Path, data: bytes) -> str:
    """The text of a file: UTF-8, with or without a byte order mark, without control characters."""
    if data.startswith(b"PAR1"):
        hint = "its name should end with .parquet"
        raise CatalogError("this is a Parquet file", code="not-text", place=Place(file=str(file)), hint=hint)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 text: byte {data[error.start]:#04x} at offset {error.start:,}"
        raise CatalogError(message, code="not-text", place=Place(file=str(file), line=line)) from error
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        message = f"not text: the control character {control[0]!r}"
        raise CatalogError(message, code="not-text", place=Place(file=str(file), line=line))
    return text
