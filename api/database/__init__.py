"""What changes while the service runs: mixtures and names, runs and their logs, tokens."""

from mixture.api.database.errors import RepositoryError
from mixture.api.database.objects import sweep
from mixture.api.database.place import database_file, database_of, shown_database
from mixture.api.database.records import (
    Bundle,
    Change,
    Losses,
    MixtureRecord,
    Move,
    NextLock,
    ProgressEntry,
    RunRecord,
    Scope,
    Source,
    TokenRecord,
)
from mixture.api.database.refs import read_digest, write_digest
from mixture.api.database.repository import Repository
from mixture.api.database.tokens import read_scope, token_hash

__all__ = [
    "Bundle", "Change", "Losses", "MixtureRecord", "Move", "NextLock", "ProgressEntry", "Repository", "RepositoryError",
    "RunRecord", "Scope", "Source", "TokenRecord", "database_file", "database_of", "read_digest", "read_scope",
    "shown_database", "sweep", "token_hash", "write_digest",
]  # fmt: skip
