"""What changes while the service runs: mixtures and names, runs and their logs, tokens."""

from api.repository.errors import RepositoryError
from api.repository.records import (
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
from api.repository.refs import check_name, read_digest, write_digest
from api.repository.repository import Repository
from api.repository.runs import Reported
from api.repository.tokens import read_scope, token_hash

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
    "read_digest",
    "read_scope",
    "token_hash",
    "write_digest",
]
