"""A run may have a key: whoever registers it again with it gets the same run."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Runs that are there have none."""
    op.add_column("runs", sa.Column("key", sa.String(200), nullable=True))
    op.create_index("uq_runs_by_key", "runs", ["by", "key"], unique=True)
