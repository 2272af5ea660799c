"""What changes while the service runs: mixtures and names, runs and their logs, tokens."""

from api.database.errors import RepositoryError
from api.database.objects import sweep
from api.database.place import database_file, database_of, shown_database
from api.database.records import (
    Bundle,
    Change,
    Losses,
    MixtureRecord,
    Move,
    NextLock,
    ProgressEntry,
    Published,
    RunRecord,
    Scope,
    Source,
    TokenRecord,
)
from api.database.refs import check_name, read_digest, write_digest
from api.database.repository import Repository
from api.database.runs import Reported
from api.database.tokens import read_scope, token_hash

__all__ = [
    "Bundle",
    "Change",
    "Losses",
    "MixtureRecord",
    "Move",
    "NextLock",
    "ProgressEntry",
    "Published",
    "Reported",
    "Repository",
    "RepositoryError",
    "RunRecord",
    "Scope",
    "Source",
    "TokenRecord",
    "check_name",
    "database_file",
    "database_of",
    "read_digest",
    "read_scope",
    "shown_database",
    "sweep",
    "token_hash",
    "write_digest",
]
