"""Runs are found by the locks that they read before."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Of the few reports that say that a run goes on under another lock."""
    changes = sa.text("lock_before IS NOT NULL")
    op.create_index(
        "ix_progress_lock_before", "progress", ["lock_before"], sqlite_where=changes, postgresql_where=changes
    )
