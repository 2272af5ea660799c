"""The one way to a DuckDB: in memory, and able to reach nothing outside of it."""

from __future__ import annotations

import threading
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
    "max_temp_directory_size": "0B",
    "threads": 1,
    # A division by zero is NULL, so that a domain without documents is not selected, whole numbers or not.
    "ieee_floating_point_ops": False,
    "error_on_division_by_zero": False,
    "max_expression_depth": 500,
    "lock_configuration": True,
}


_AGAIN_SECONDS = 0.05


@contextmanager
def sealed_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reads no file, network, extension or Python variable, and whose settings cannot be changed."""
    import duckdb

    connection = duckdb.connect(":memory:", config=_NOTHING_OUTSIDE)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def interrupted(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Interrupt, with duckdb.InterruptException, what a connection works on after so many seconds. None: never."""
    if seconds is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        wait = seconds
        # Again and again: between two statements an interrupt is lost.
        while not done.wait(wait):
            connection.interrupt()
            wait = _AGAIN_SECONDS

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
