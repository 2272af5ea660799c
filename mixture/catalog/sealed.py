"""The one way to a DuckDB: in memory, and able to reach nothing outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_NOTHING_OUTSIDE: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "allow_community_extensions": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "memory_limit": "512MB",
    "threads": 1,
    # A division by zero is NULL, so that a domain without documents is not selected, whole numbers or not.
    "ieee_floating_point_ops": False,
    "error_on_division_by_zero": False,
    "max_expression_depth": 500,
    "lock_configuration": True,
}


@contextmanager
def sealed_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reads no file, network, extension or Python variable, and whose settings can not be changed."""
    import duckdb

    connection = duckdb.connect(":memory:", config=_NOTHING_OUTSIDE)
    try:
        yield connection
    finally:
        connection.close()
