"""The database brought to the tables of this version, by one copy at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from mixture.api.database.disk import make_folder, private
from mixture.api.database.errors import RepositoryError

_LOCK = 0x6D69787475726531  # "mixture1": the key of PostgreSQL's lock


def migrate(engine: Engine) -> None:
    """Bring the database to this version's tables. Where several copies start at once, one does it and the others wait.

    Raises `database-newer` where a newer version has been here.
    """
    config = _config()
    with _alone(engine) as connection:
        revision = revision_of(connection)
        known = ScriptDirectory.from_config(config)
        if revision is not None and revision not in {script.revision for script in known.walk_revisions()}:
            raise RepositoryError(
                f"the database is at revision {revision}, which this version does not know",
                code="database-newer",
                hint="a newer version has written to it: run that one",
                revision=revision,
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def revision_of(connection: Connection) -> str | None:
    """The revision that a database is at, None where it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str | None:
    """The revision of this version's tables."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    return config


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A transaction that no other copy has at the same time."""
    if engine.dialect.name == "sqlite":
        with _alone_at_file(engine), engine.execution_options(mixture_write=True).begin() as connection:
            yield connection
    else:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection


@contextmanager
def _alone_at_file(engine: Engine) -> Iterator[None]:
    """WAL mode is switched on once, outside of a transaction; SQLite does not wait for others there, so we do."""
    database = engine.url.database
    assert database, "an engine's database is a file"
    path = Path(database)
    make_folder(path.parent)
    with open(f"{path}.migrating", "w", opener=private) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.close(private(str(path), os.O_RDWR | os.O_CREAT))  # the files beside it get its mode from SQLite
        connection = engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        yield
