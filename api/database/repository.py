"""The repository: all that changes while the service runs, shared by any number of copies."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text

from mixture.api.database.database import Database, open_engine, reached
from mixture.api.database.disk import keep_from_git, make_folder
from mixture.api.database.errors import RepositoryError
from mixture.api.database.migrate import migrate, newest_revision, revision_of
from mixture.api.database.mixtures import Mixtures
from mixture.api.database.objects import Objects
from mixture.api.database.place import database_of
from mixture.api.database.runs import Runs
from mixture.api.database.tokens import Tokens


class Repository(Mixtures, Runs, Tokens):
    """Mixtures, runs and tokens over one database and one folder of objects. Safe from any number of threads."""

    @classmethod
    def open(cls, data_dir: Path, database_url: str | None = None) -> Repository:
        """Open it, and bring the database to this version's tables.

        data_dir:     where `objects/` and, by default, `mixture.db` are; a folder that all copies share
        database_url: `postgresql://…` or `sqlite:///PATH`

        Raises RepositoryError: `database-unreachable`, `database-newer`, `database-url`, `database-damaged`,
        `data-dir-unusable`.
        """
        database = Database(open_engine(database_of(data_dir, database_url)))
        try:
            with reached():
                make_folder(data_dir)
                keep_from_git(data_dir)
                objects = Objects(data_dir / "objects")
                migrate(database.engine)
                database.hold()
        except BaseException:
            database.close()
            raise
        return cls(database, objects)

    def check(self) -> None:
        """Raise RepositoryError where nothing can be written.

        The database does not answer, or has other tables than this version's, or its folder is gone, full or read-only.
        """
        self.database.check()
        self.objects.check_room()
        with self.database.reading() as session:
            session.execute(text("SELECT 1"))
            revision = revision_of(session.connection())
        if revision != newest_revision():
            message = f"the database is at revision {revision}, this version's is {newest_revision()}"
            raise RepositoryError(message, code="database-newer", revision=revision)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()
