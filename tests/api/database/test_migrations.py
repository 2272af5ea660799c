"""The database is brought to the tables of this version, by however many copies start at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from mixture.api.database import Repository, RepositoryError
from mixture.api.database.models import Base

OPEN = """
import sys
from pathlib import Path
from mixture.api.database import Repository, Scope
sys.stdin.readline()
repository = Repository.open(Path(sys.argv[1]), sys.argv[2])
repository.check()
repository.add_token(sys.argv[3], [Scope.READ])
repository.close()
"""


def test_migrations_make_the_tables_that_the_models_say(repository):
    with repository.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        tables = set(inspect(connection).get_table_names())
    assert tables == {*Base.metadata.tables, "alembic_version"}


@pytest.mark.long
def test_copies_that_start_at_once_on_an_empty_database_all_start(database_url, tmp_path):
    command = [sys.executable, "-c", OPEN, str(tmp_path / "data"), database_url]
    copies = [
        subprocess.Popen([*command, f"copy {i}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for i in range(6)
    ]
    for copy in copies:  # all are waiting for this line
        copy.stdin.write("go\n")
        copy.stdin.flush()
    errors = [copy.communicate(timeout=120)[1] for copy in copies]
    assert [copy.returncode for copy in copies] == [0] * 6, errors
    repository = Repository.open(tmp_path / "data", database_url)
    assert {token.name for token in repository.tokens()} == {f"copy {i}" for i in range(6)}
    repository.close()


def test_opening_again_finds_what_was_kept(repository, database_url, tmp_path, bundles):
    repository.publish("demo", bundles[0], expected=None, if_new=False, by="a")
    again = Repository.open(tmp_path / "data", database_url)
    assert again.bundle(again.get("demo").digest) == bundles[0]
    again.close()


def test_a_database_of_a_newer_version_is_left_alone(repository, database_url, tmp_path):
    with repository.database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for refused in (lambda: Repository.open(tmp_path / "data", database_url), repository.check):
        with pytest.raises(RepositoryError, match="9999") as caught:
            refused()
        assert caught.value.code == "database-newer"


def test_sqlite_is_in_wal_mode_with_foreign_keys(tmp_path):
    repository = Repository.open(tmp_path / "data")
    with repository.database.engine.connect() as connection:
        found = [connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "foreign_keys", "synchronous")]
    assert found == ["wal", 1, 2]
    assert (tmp_path / "data" / "mixture.db").is_file()
    repository.close()


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("postgresql://someone:a-secret@127.0.0.1:1/nothing", "database-unreachable"),
        ("sqlite:////proc/nothing/here.db", "data-dir-unusable"),
        ("mysql://someone:a-secret@localhost/nothing", "database-url"),
        ("a-secret", "database-url"),
        ("sqlite://", "database-url"),
    ],
)
def test_a_database_that_can_not_be_reached_is_said_without_its_password(tmp_path, url, code):
    with pytest.raises(RepositoryError) as caught:
        Repository.open(tmp_path / "data", url)
    assert caught.value.code == code
    assert "a-secret" not in str(caught.value)


@pytest.mark.needs_postgres
def test_a_server_that_went_away_and_came_back_is_connected_to_again(postgres, tmp_path):
    import postgres_server

    url = postgres_server.new_database(postgres)
    repository = Repository.open(tmp_path / "data", url)
    administrator = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with administrator.connect() as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = "
        assert connection.scalars(text(others + "current_database()")).all()
    administrator.dispose()
    repository.check()
    repository.close()
