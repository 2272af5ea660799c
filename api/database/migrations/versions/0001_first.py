"""The first tables: mixtures, names and their history, runs and their logs, tokens."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NAME = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")
_DIGEST = sa.String(64)
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "mixtures",
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("mixture", sa.Text(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("sequences", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("domains", sa.Integer(), nullable=False),
        sa.Column("spec", _DIGEST, nullable=False),
        sa.Column("lock", _DIGEST, nullable=False),
        sa.Column("plan", _DIGEST, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_mixtures"),
    )
    op.create_table(
        "mixture_tables",
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("content", _DIGEST, nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["mixtures.digest"], name="fk_mixture_tables_digest"),
        sa.PrimaryKeyConstraint("digest", "name", name="pk_mixture_tables"),
    )
    op.create_table(
        "names",
        sa.Column("name", _NAME, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["mixtures.digest"], name="fk_names_digest"),
        sa.PrimaryKeyConstraint("name", name="pk_names"),
    )
    op.create_table(
        "name_moves",
        sa.Column("name", _NAME, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("from_digest", _DIGEST, nullable=True),
        sa.Column("to_digest", _DIGEST, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["name"], ["names.name"], name="fk_name_moves_name"),
        sa.ForeignKeyConstraint(["from_digest"], ["mixtures.digest"], name="fk_name_moves_from_digest"),
        sa.ForeignKeyConstraint(["to_digest"], ["mixtures.digest"], name="fk_name_moves_to_digest"),
        sa.PrimaryKeyConstraint("name", "revision", name="pk_name_moves"),
    )
    op.create_table(
        "runs",
        sa.Column("number", _COUNTER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("mixture", sa.Text(), nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_runs"),
        sa.UniqueConstraint("id", name="uq_runs_id"),
    )
    op.create_table(
        "progress",
        sa.Column("run", _COUNTER, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("loss", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("key", sa.String(200), nullable=True),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], name="fk_progress_run"),
        sa.PrimaryKeyConstraint("run", "seq", name="pk_progress"),
        sa.UniqueConstraint("run", "step", "key", name="uq_progress_run_step_key"),
    )
    op.create_table(
        "tokens",
        sa.Column("number", _COUNTER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret", _DIGEST, nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("revoked", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_tokens"),
        sa.UniqueConstraint("id", name="uq_tokens_id"),
        sa.UniqueConstraint("secret", name="uq_tokens_secret"),
    )
