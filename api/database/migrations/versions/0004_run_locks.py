"""A report may say that the run goes on under another lock."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Runs that are there stayed with the lock that they began with."""
    for column in ("lock", "lock_before"):
        op.add_column("progress", sa.Column(column, sa.String(64), nullable=True))
