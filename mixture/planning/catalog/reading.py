"""Tables from files or bytes, read by what their names say they are. What is no table is refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mixture.data.storage import Address, ObjectOptions, blocks_of, located
from mixture.errors import CatalogError, Place, StoreError, nearest
from mixture.file_kinds import says_links
from mixture.file_names import STORE_FILE, STORE_TABLE
from mixture.planning.catalog.csv_table import read_csv
from mixture.planning.catalog.json_table import read_json, read_json_lines
from mixture.planning.catalog.table import MOST_BYTES, Table, check_cells
from mixture.units import quote

_TEXT_FORMATS = {".csv": read_csv, ".json": read_json, ".jsonl": read_json_lines, ".ndjson": read_json_lines}
_PARQUET = ".parquet"
TEXT_ENDINGS = tuple(_TEXT_FORMATS)
TABLE_ENDINGS = (*TEXT_ENDINGS, _PARQUET)
"""What a table's file is named, in any case of letters; a name that ends otherwise is a store's folder."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class TableFile:
    """The bytes of a table.

    path:     its file, as messages call it
    manifest: the store.json beside a store's table, empty where it is not at hand; None for a table that is no store's
    """

    path: Path
    data: bytes
    manifest: bytes | None = None

    @classmethod
    def of_store(cls, folder: Path, table: bytes | None, manifest: bytes | None, place: Place) -> TableFile:
        """The table in a store's folder. Raises CatalogError, `not-a-store`, where one of its files is missing."""
        if table is None or manifest is None:
            hint = f"a complete store has {STORE_FILE} and {STORE_TABLE}"
            raise CatalogError(f"the folder {folder} is not a store", code="not-a-store", place=place, hint=hint)
        return cls(folder / STORE_TABLE, table, manifest)

    def domains_as_found(self, names: Iterable[str]) -> frozenset[str]:
        """Those of its domains whose text may lie in the order in which it was found, as far as is known here.

        Of a table all of them; of a store those whose files were found: one that has its tokens keeps its documents in
        a random order.
        """
        return frozenset(names) if self.manifest is None else says_links(self.manifest)


class TableFiles:
    """Tables by the paths that a spec has for them, each read once: CSV, Parquet, JSON, JSON lines, stores' folders.

    folder: what the paths are relative to
    shown:  what messages call a path; as it is if not given
    """

    def __init__(self, folder: Path = Path(), *, shown: Callable[[Path], Path] = lambda path: path) -> None:
        self._folder = folder
        self._shown = shown
        self._files: dict[Path, TableFile] = {}
        self._tables: dict[Path, Table] = {}

    def file(self, path: Path, *, place: Place | None = None) -> TableFile:
        """The file of a table, or of a store's (its ``domains.parquet``). place is where a spec names it.

        Raises CatalogError.
        """
        if path not in self._files:
            self._files[path] = self._read(path, place or Place(file=str(path)))
        return self._files[path]

    def table(self, path: Path, *, place: Place | None = None) -> Table:
        """The table in it. Raises CatalogError."""
        if path not in self._tables:
            self._tables[path] = _parse(self.file(path, place=place))
        return self._tables[path]

    def _read(self, path: Path, place: Place) -> TableFile:
        address, shown = located(path), self._shown(path)
        try:
            if isinstance(address, Address):
                return _fetched(address, place)
            file = self._folder / path
            if file.is_dir():
                return _stored(file, shown, place)
            _check_file(file, shown, place)
            return TableFile(shown, file.read_bytes())
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise CatalogError(f"can not read {shown}: {reason}", code="file-unreadable", place=place) from error


class GivenTables(TableFiles):
    """Tables from bytes, by the last parts of their paths; a name without a table's ending is that of a store."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        super().__init__()
        self._given = given

    def _read(self, path: Path, place: Place) -> TableFile:
        data = self._given.get(path.name)
        if data is None:
            raise no_file(path, place, nearest(path.name, self._given))
        is_store = not path.name.lower().endswith(TABLE_ENDINGS)
        return TableFile(path / STORE_TABLE, data, b"") if is_store else TableFile(path, data)


def _parse(file: TableFile) -> Table:
    _check_size(file.path, len(file.data))
    form = file.path.suffix.lower()
    if form == _PARQUET:
        from mixture.planning.catalog.parquet_table import read_parquet

        return read_parquet(file.path, file.data)
    table = _TEXT_FORMATS[form](file.path, file_text(file.path, file.data))
    check_cells(table)
    return table


def _check_size(path: Path, size: int) -> None:
    if size == 0:
        raise CatalogError("the file is empty", code="file-empty", place=Place(file=str(path)))
    if size > MOST_BYTES:
        hint = f"a table of domains has up to {MOST_BYTES:,}"
        raise CatalogError(f"{size:,} bytes", code="table-too-large", place=Place(file=str(path)), hint=hint)


def _fetched(address: Address, place: Place) -> TableFile:
    """The table at an address, or that of a store there, whose store.json is not fetched."""
    is_store = not address.name.lower().endswith(TABLE_ENDINGS)
    if is_store:
        address = address / STORE_TABLE
    try:
        file = blocks_of(ObjectOptions.from_environment()).fetched(address)
    except StoreError as error:
        message = f"can not read {address}: {error.message}"
        raise CatalogError(message, code="file-unreadable", place=place, hint=error.hint) from error
    return TableFile(file, file.read_bytes(), b"" if is_store else None)


def _stored(folder: Path, path: Path, place: Place) -> TableFile:
    """The table inside of a store, whose folder messages call `path`."""
    table, manifest = folder / STORE_TABLE, folder / STORE_FILE
    if not manifest.is_file() or not table.is_file():
        return TableFile.of_store(path, None, None, place)
    _check_size(path / STORE_TABLE, table.stat().st_size)
    return TableFile.of_store(path, table.read_bytes(), manifest.read_bytes(), place)


def _check_file(file: Path, path: Path, place: Place) -> None:
    """Raise CatalogError where there is no plain file that a table is read from; messages call it `path`."""
    if not file.exists():
        siblings = [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []
        hint = nearest(path.name, siblings) if file.parent.is_dir() else f"there is no folder {path.parent}"
        raise no_file(path, place, hint)
    if not file.is_file():
        raise CatalogError(f"{path} is not a plain file", code="file-unreadable", place=place)
    check_format(path, place)
    _check_size(path, file.stat().st_size)


def no_file(path: Path, place: Place, hint: str | None) -> CatalogError:
    """The error about a table that is not there."""
    return CatalogError(f"there is no file {path}", code="file-missing", place=place, hint=hint)


def check_format(path: Path, place: Place) -> None:
    """Raise CatalogError, `unknown-format`, where a file's name does not end like a table's."""
    if path.suffix.lower() not in TABLE_ENDINGS:
        known = ", ".join(TABLE_ENDINGS)
        message = f"{quote(path.name)} names no format"
        raise CatalogError(message, code="unknown-format", place=place, hint=f"names end with one of {known}")


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
