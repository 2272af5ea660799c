"""Mixtures of folders are kept too: names and their moves say where they come from."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """What is there was published."""
    for table in ("names", "name_moves"):
        op.add_column(table, sa.Column("source", sa.String(20), nullable=False, server_default="published"))
