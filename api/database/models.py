"""The tables: what changes while the service runs. Bytes are in the object folder, rows hold their digests.

Everything is added to and nothing is taken away; of what is there only a name's target, a run's counter and lock, and a
token's end ever change.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC, for people to read: it decides nothing. SQLite has no zones, so there it is stored without."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database."""
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """From the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Counter = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER counts by itself in SQLite
# Ordered by code points in every database and locale: pages of a list must not depend on the machine.
Name = String(100).with_variant(String(100, collation="C"), "postgresql")
Digest = String(64)
Origin = String(20)  # of `records.Source`


class Base(DeclarativeBase):
    """All tables; constraints are named by one rule, so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
        }
    )


class MixtureRow(Base):
    """A mixture by its lock's digest. Of one that was read from a folder `by` is empty, until somebody publishes it."""

    __tablename__ = "mixtures"

    digest: Mapped[str] = mapped_column(Digest, primary_key=True)
    mixture: Mapped[str] = mapped_column(Text)
    steps: Mapped[int] = mapped_column(BigInteger)
    sequences: Mapped[int] = mapped_column(BigInteger)
    tokens: Mapped[int] = mapped_column(BigInteger)
    domains: Mapped[int] = mapped_column(Integer)
    spec: Mapped[str] = mapped_column(Digest)
    lock: Mapped[str] = mapped_column(Digest)
    plan: Mapped[str] = mapped_column(Digest)
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(Text)


class TableRow(Base):
    """A table that a mixture's spec names. Never changed."""

    __tablename__ = "mixture_tables"

    digest: Mapped[str] = mapped_column(ForeignKey("mixtures.digest"), primary_key=True)
    name: Mapped[str] = mapped_column(Name, primary_key=True)
    content: Mapped[str] = mapped_column(Digest)


class NameRow(Base):
    """What a name points to now; `revision` counts its moves.

    source: `published`; `builtin` where nobody has published under it: it only ever was the name of a folder's mixture
    """

    __tablename__ = "names"

    name: Mapped[str] = mapped_column(Name, primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("mixtures.digest"))
    revision: Mapped[int] = mapped_column(BigInteger)
    at: Mapped[datetime] = mapped_column(UtcTime)
    source: Mapped[str] = mapped_column(Origin, server_default="published")


class MoveRow(Base):
    """A name came to lead to a mixture: it was published, or a folder became it (`by` is then empty). Only added."""

    __tablename__ = "name_moves"

    name: Mapped[str] = mapped_column(ForeignKey("names.name"), primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    from_digest: Mapped[str | None] = mapped_column(ForeignKey("mixtures.digest"))
    to_digest: Mapped[str] = mapped_column(ForeignKey("mixtures.digest"))
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Origin, server_default="published")


class RunRow(Base):
    """A training run of a mixture; `last_seq` is the last number of its log, `key` tells it for who registered it.

    mixture, digest: of the lock that it reads now; its log says which one it read before
    """

    __tablename__ = "runs"
    __table_args__ = (Index("uq_runs_by_key", "by", "key", unique=True),)

    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str | None] = mapped_column(Text)
    mixture: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(Digest)
    last_seq: Mapped[int] = mapped_column(BigInteger)
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(Text)
    key: Mapped[str | None] = mapped_column(String(200))


_CHANGES = text("lock_before IS NOT NULL")


class ProgressRow(Base):
    """An entry of a run's log. Only added, numbered from 1 without gaps.

    lock, lock_before: digests, where the run goes on under another lock from this report on
    """

    __tablename__ = "progress"
    __table_args__ = (
        UniqueConstraint("run", "step", "key", name="uq_progress_run_step_key"),
        Index("ix_progress_lock_before", "lock_before", sqlite_where=_CHANGES, postgresql_where=_CHANGES),
    )

    run: Mapped[int] = mapped_column(ForeignKey("runs.number"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    step: Mapped[int] = mapped_column(BigInteger)
    loss: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    key: Mapped[str | None] = mapped_column(String(200))
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(Text)
    lock: Mapped[str | None] = mapped_column(Digest)
    lock_before: Mapped[str | None] = mapped_column(Digest)


class TokenRow(Base):
    """A token that lets its holder in: only the SHA-256 of the secret is kept."""

    __tablename__ = "tokens"

    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(Digest, unique=True)
    scopes: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcTime)
    revoked: Mapped[datetime | None] = mapped_column(UtcTime)
