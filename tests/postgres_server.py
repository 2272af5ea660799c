"""A PostgreSQL server of the tests' own: started on a socket in a temporary folder, as a user who is not root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

PORT = 5432  # the number is part of the socket's name; nothing listens on the network
_numbers = count(1)


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, the newest there is."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return Path(on_path).parent if on_path else found[-1].parent if found else None


def require_programs() -> Path:
    """The same; skips the test where there are none, unless everything is to be tested."""
    found = programs()
    if found is None and os.environ.get("MIXTURE_TEST_ALL") == "1":
        pytest.fail("PostgreSQL is not installed: apt-get install postgresql")
    if found is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found


@contextmanager
def running() -> Iterator[Path]:
    """A running server; gives the folder of its socket. Stopped and removed at the end."""
    binaries = require_programs()
    # Servers do not run as root. Nor can their user look into the folders that pytest makes.
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="mixture-postgres-", dir="/tmp"))
    data, log = folder / "data", folder / "log"
    try:
        if user:
            shutil.chown(folder, "postgres", "postgres")
        initdb = [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **user)
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c port={PORT} -c fsync=off"
        start = [binaries / "pg_ctl", "-D", data, "-l", log, "-w", "-t", "60", "-o", options, "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)
        try:
            yield folder
        finally:
            stop = [binaries / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"]
            subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)
    finally:
        shutil.rmtree(folder)


def new_database(socket: Path) -> str:
    """The URL of a new, empty database, whose order of text is a language's, as it is in most installations."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(host=str(socket), port=PORT, user="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://postgres@/{name}?host={socket}&port={PORT}"
