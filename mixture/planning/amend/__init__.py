"""Locks that continue a run in another way from a step on."""

from mixture.planning.amend.amend import amend
from mixture.planning.amend.report import (
    HALF,
    AmendedDomain,
    AmendedLockReport,
    AmendmentReport,
    amended_domains,
    amended_json,
)

__all__ = [
    "AmendedDomain",
    "AmendedLockReport",
    "AmendmentReport",
    "HALF",
    "amend",
    "amended_domains",
    "amended_json",
]
