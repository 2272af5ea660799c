"""A spec with changes: other shares, another budget, other boundaries, planned again and stored nowhere."""

from mixture.planning.whatif.changes import Changes, PhaseChange
from mixture.planning.whatif.faults import ChangesError, Faults
from mixture.planning.whatif.heading import changed_name
from mixture.planning.whatif.original import Original, PhaseWeights, original_of
from mixture.planning.whatif.settings import parse_changes
from mixture.planning.whatif.shares import Points, Share, parse_share
from mixture.planning.whatif.whatif import WhatIf, what_if

__all__ = [
    "Changes",
    "ChangesError",
    "Faults",
    "Original",
    "PhaseChange",
    "PhaseWeights",
    "Points",
    "Share",
    "WhatIf",
    "changed_name",
    "original_of",
    "parse_changes",
    "parse_share",
    "what_if",
]
