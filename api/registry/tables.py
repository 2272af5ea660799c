"""The tables that are published with a spec: their names, bytes and sizes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mixture.api.middleware import Problem
from mixture.file_names import LOCK_FILE
from mixture.planning.catalog import TABLE_ENDINGS, TEXT_ENDINGS

MOST_TABLES = 32
MOST_BYTES = 16 * 2**20
"""Of all tables together."""
MOST_CELLS = 4_000_000
"""Of a Parquet table, which may be much larger than its file."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def table_bytes(tables: Mapping[str, str]) -> dict[str, bytes]:
    """The bytes of tables as they were sent.

    Raises Problem: 422 `too-many-tables`, `table-name`, `table-encoding`, 413 `tables-too-large`.
    """
    _check_names(tables)
    contents = {name: _bytes(name, text) for name, text in tables.items()}
    _check_sizes(contents)
    return contents


def _check_names(tables: Mapping[str, str]) -> None:
    if len(tables) > MOST_TABLES:
        raise Problem(422, f"{len(tables)} tables, of at most {MOST_TABLES}", code="too-many-tables")
    for name in tables:
        if not _is_table_name(name):
            hint = f"letters, digits, '.', '_' and '-', with one of the endings {', '.join(TABLE_ENDINGS)}"
            raise Problem(422, f"{name[:100]!r} can not be the name of a table", code="table-name", hint=hint)


def _is_table_name(name: str) -> bool:
    """Whether a name is that of a table's file or, without an ending, of a store's folder; and of nothing else here."""
    is_known = "." not in name or Path(name).suffix.lower() in TABLE_ENDINGS
    return _PLAIN_NAME.fullmatch(name) is not None and is_known and name.lower() != LOCK_FILE


def _check_sizes(contents: Mapping[str, bytes]) -> None:
    size = sum(map(len, contents.values()))
    if size > MOST_BYTES:
        raise Problem(413, f"{size:,} bytes of tables, of at most {MOST_BYTES:,}", code="tables-too-large")
    for name, data in contents.items():
        if not data.startswith(b"PAR1"):
            continue
        with suppress(pa.ArrowException):  # what can not be read is refused, with the reason, where it is read
            metadata = pq.read_metadata(pa.BufferReader(data))
            if metadata.num_rows * metadata.num_columns > MOST_CELLS:
                detail = f"the table {name!r} has {metadata.num_rows:,} rows of {metadata.num_columns:,} columns"
                raise Problem(413, detail, code="tables-too-large", hint=f"up to {MOST_CELLS:,} cells are right")


def _bytes(name: str, text: str) -> bytes:
    """A table's bytes: of Parquet from base64, of the others the text as it is."""
    if Path(name).suffix.lower() in TEXT_ENDINGS:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            detail = f"the table {name[:100]!r} holds half of a character, {text[error.start]!r}"
            raise Problem(422, detail, code="table-encoding") from None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        hint = "Parquet is sent in base64, text as it is"
        raise Problem(422, f"the table {name[:100]!r} is not base64", code="table-encoding", hint=hint) from None
