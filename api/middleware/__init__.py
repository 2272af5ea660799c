"""HTTP, without mixtures: problems, limits, caching, ranges."""

from mixture.api.middleware.accept import best_of, not_acceptable, required
from mixture.api.middleware.addresses import own_path
from mixture.api.middleware.cache import Kept
from mixture.api.middleware.connections import Connection, raise_file_limit
from mixture.api.middleware.edge import TRACE_HEADER, Edge
from mixture.api.middleware.head_method import Heads
from mixture.api.middleware.http_caching import (
    Freshness,
    Lifetime,
    address_of,
    digest_in_tag,
    mixture_tag,
    not_modified,
    tag_of,
    unquoted_tags,
)
from mixture.api.middleware.limits import Limits, RateLimit, StreamPlaces, client_of, what_if_places, write_places
from mixture.api.middleware.logs import LOGGING
from mixture.api.middleware.metrics import Measured, Metrics
from mixture.api.middleware.problems import (
    CODE_HEADER,
    CODES,
    MEDIA_TYPE,
    InvalidBodyError,
    Problem,
    ProblemBody,
    documented,
    first_errors,
    invalid,
    pointer_token,
    problem_of,
    title_of,
)
from mixture.api.middleware.ranges import (
    MOST_KEPT,
    PARTS,
    TooLongForPartsError,
    Whole,
    asks_for_parts,
    joined,
    ranged_answer,
)
from mixture.api.middleware.reads_at_once import Turns
from mixture.api.middleware.threads import Work, threads_of
from mixture.api.middleware.token_watch import Revocable, TokenWatch

__all__ = [
    "CODES", "CODE_HEADER", "Connection", "Edge", "Freshness", "Heads", "InvalidBodyError", "Kept", "LOGGING",
    "Lifetime", "Limits", "MEDIA_TYPE", "MOST_KEPT", "Measured", "Metrics", "PARTS", "Problem", "ProblemBody",
    "RateLimit", "Revocable", "StreamPlaces", "TRACE_HEADER", "TokenWatch", "TooLongForPartsError", "Turns", "Whole",
    "Work", "address_of", "asks_for_parts", "best_of", "client_of", "digest_in_tag", "documented", "first_errors",
    "invalid", "joined", "mixture_tag", "not_acceptable", "not_modified", "own_path", "pointer_token", "problem_of",
    "raise_file_limit", "ranged_answer", "required", "tag_of", "threads_of", "title_of", "unquoted_tags",
    "what_if_places", "write_places",
]  # fmt: skip
