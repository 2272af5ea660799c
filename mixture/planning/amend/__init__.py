"""Locks that continue a run in another way from a step on."""

from mixture.planning.amend.amend import amend
from mixture.planning.amend.report import HALF, AmendedDomain, AmendmentReport, amended_domains, amended_json

__all__ = [
    "AmendedDomain",
    "AmendmentReport",
    "HALF",
    "amend",
    "amended_domains",
    "amended_json",
]
