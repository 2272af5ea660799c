"""The database: SQLite in WAL mode, or PostgreSQL by URL, and its transactions for reading and for writing."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from mixture.api.database.disk import Held, unusable, usable
from mixture.api.database.errors import RepositoryError
from mixture.api.database.models import Base

BUSY_SECONDS = 30
"""How long a transaction waits for another's: in SQLite for the file, in PostgreSQL for a row."""
TURN_SECONDS = 10.0
"""How long a thread waits for the others of its process that write to SQLite."""
_WRITE = {"mixture_write": True}


def open_engine(url: str) -> Engine:
    """An engine for `sqlite:///PATH` or `postgresql://…`; nothing is connected yet. Raises `database-url`."""
    parsed = read_url(url)
    if parsed.get_backend_name() == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise _bad_url("a database in memory is gone with the process, and no other copy sees it")
        engine = create_engine(parsed, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
        _steer_sqlite(engine)
        return engine
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise _bad_url(f"a database of the kind {parsed.get_backend_name()!r} is not supported")
    options = f"-c lock_timeout={BUSY_SECONDS * 1000} -c timezone=UTC"
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=10,
        max_overflow=10,
        pool_timeout=BUSY_SECONDS,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 10, "options": options, "application_name": "mixture"},
    )


def read_url(url: str) -> URL:
    """The parts of a database's address. Raises `database-url`."""
    try:
        return make_url(url)
    except ArgumentError:
        raise _bad_url("this is not the address of a database") from None


def _bad_url(message: str) -> RepositoryError:
    return RepositoryError(
        message, code="database-url", hint="sqlite:///PATH and postgresql://USER@HOST/NAME are right"
    )


def _steer_sqlite(engine: Engine) -> None:
    """Begin transactions ourselves: a writer takes the file at once, and so waits for its turn.

    A transaction that reads first and then writes would be refused at once where another wrote in between.
    """

    @event.listens_for(engine, "connect")
    def _connected(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("foreign_keys = ON", "synchronous = FULL"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("mixture_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reached() -> Iterator[None]:
    """Say without its address and password that a database can not be reached, is too slow, or is damaged."""
    try:
        with usable():
            yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        if _says_damaged(error):
            raise RepositoryError(
                "the database is damaged: its file is not as it was written",
                code="database-damaged",
                hint="put a copy of it in its place, and start the service anew",
            ) from error
        if _primary_code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
            raise unusable(str(getattr(error, "orig", error))) from error
        if not isinstance(error, OperationalError | InterfaceError | PoolTimeoutError | sqlite3.OperationalError):
            raise
        raise RepositoryError(
            "the database can not be reached, or did not answer in time", code="database-unreachable", hint="try again"
        ) from error


def _says_damaged(error: SQLAlchemyError | sqlite3.Error) -> bool:
    """Whether SQLite found that its file is damaged, or none of its own."""
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _primary_code(error: SQLAlchemyError | sqlite3.Error) -> int:
    """SQLite's number of what is wrong, 0 of other databases: the lowest byte, where the others say in which place."""
    original = error.orig if isinstance(error, DBAPIError) else error
    code: int = getattr(original, "sqlite_errorcode", 0)
    return code & 0xFF


class Database:
    """The engine and its sessions. Safe from any number of threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(**_WRITE)
        # SQLite has one writer. Threads of one process take turns here, which is fair; only processes meet at the file.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None
        self._file: Held | None = None

    def hold(self) -> None:
        """Begin to see to it that the database's file is there: SQLite writes on to one that was removed."""
        if self.engine.dialect.name == "sqlite" and self.engine.url.database:
            self._file = Held(Path(self.engine.url.database))

    def check(self) -> None:
        """Raises `data-dir-unusable` where the database's file was removed or replaced."""
        if self._file is not None:
            self._file.check()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that reads. Raises `database-unreachable`, `database-damaged`."""
        with reached(), Session(self.engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that writes: all of it or, where the block raises, nothing.

        Raises `database-unreachable`, `database-damaged`, `data-dir-unusable`, and `busy` where others of this process
        did not end in time.
        """
        with (
            reached(),
            self._taken_turn(),
            Session(self._writing, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session
            self.check()

    @contextmanager
    def _taken_turn(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=TURN_SECONDS):
            raise RepositoryError("too many wait to write to the database", code="busy", hint="try again")
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def insert_missing(session: Session, table: type[Base], values: Mapping[str, Any]) -> bool:
    """Insert a row unless its key is there, waiting for whoever is inserting the same; True where it was inserted."""
    kind = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    key = inspect(table).primary_key[0]
    statement = kind.insert(table).values(values).on_conflict_do_nothing().returning(key)
    return session.execute(statement).first() is not None
