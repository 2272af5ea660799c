"""Bodies of requests and answers."""

from mixture.api.models.amendments import AmendmentMade, Lineage, NewAmendment
from mixture.api.models.diffs import DiffShown, moves_table
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
    "DiffShown",
    "Lineage",
    "LockShown",
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
    "moves_table",
]
