"""Run by Alembic: the migrations on the connection, and in the transaction, that `migrate` gives."""

from alembic import context

from mixture.api.database.models import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
with context.begin_transaction():
    context.run_migrations()
