"""Bodies of requests and answers."""

from mixture.api.models.amendments import AmendmentMade, Lineage, LockVersion, NewAmendment
from mixture.api.models.plans import LockShown
from mixture.api.models.runs import (
    RUN,
    NewProgress,
    NewRun,
    NextBoundary,
    Progress,
    ReadRow,
    Run,
    RunHead,
    RunIds,
    Standing,
)

__all__ = [
    "AmendmentMade",
    "Lineage",
    "LockShown",
    "LockVersion",
    "NewAmendment",
    "NewProgress",
    "NewRun",
    "NextBoundary",
    "Progress",
    "RUN",
    "ReadRow",
    "Run",
    "RunHead",
    "RunIds",
    "Standing",
]
