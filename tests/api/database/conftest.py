"""A repository on SQLite and on PostgreSQL, and bundles to keep in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest

from mixture.api.database import Bundle, Repository


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """The socket of a PostgreSQL server."""
    with postgres_server.running() as socket:
        yield socket


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.needs_postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'database' / 'mixture.db'}"
    return postgres_server.new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def repository(database_url: str, tmp_path: Path) -> Iterator[Repository]:
    """An empty repository, once on each kind of database."""
    opened = Repository.open(tmp_path / "data", database_url)
    yield opened
    opened.close()


def bundle(number: int) -> Bundle:
    """A mixture like no other."""
    return Bundle(
        digest=hashlib.sha256(b"%d" % number).hexdigest(),
        mixture=f"mixture {number}",
        steps=number,
        sequences=number * 8,
        tokens=2**62 + number,
        domains=2,
        spec=b"spec %d" % number,
        tables={"cells.csv": b"domain,tokens\n", "Weights.parquet": bytes(range(256)) * (number % 7)},
        lock=b"lock %d" % number,
        plan=b'{"number": %d}' % number,
    )


@pytest.fixture(scope="session")
def bundles() -> list[Bundle]:
    """Ten mixtures."""
    return [bundle(number) for number in range(10)]
