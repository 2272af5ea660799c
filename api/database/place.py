"""Which database is used, said so that people can tell it from another, and never with its password."""

from __future__ import annotations

from pathlib import Path

from mixture.api.database.database import read_url


def database_of(data_dir: Path, database_url: str | None) -> str:
    """The address of the database: the one that is set, or SQLite's in the data folder."""
    return database_url or f"sqlite:///{data_dir.absolute() / 'mixture.db'}"


def database_file(url: str) -> Path | None:
    """The file of a SQLite database, which need not be there; None for what is no file. Raises `database-url`."""
    parsed = read_url(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return Path(parsed.database).absolute() if is_file and parsed.database else None


def shown_database(url: str) -> str:
    """A database's address for people: a file's path, or the URL with `***` for its password. Raises `database-url`."""
    file = database_file(url)
    return str(file) if file is not None else read_url(url).render_as_string(hide_password=True)
