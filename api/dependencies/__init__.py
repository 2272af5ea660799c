"""What routes are given: services, callers, lineages, takedowns."""

from mixture.api.dependencies.lineages import KnownLineage, lineage_known
from mixture.api.dependencies.publishing_rules import check_consumed, check_free, check_lineage
from mixture.api.dependencies.security import Publisher, Reads, Runner, TokenFirst, check_reports
from mixture.api.dependencies.services import AppServices, Asked, AskedMixture, AskedOther, Services
from mixture.api.dependencies.takedowns import masks_of_documents

__all__ = [
    "AppServices",
    "Asked",
    "AskedMixture",
    "AskedOther",
    "KnownLineage",
    "Publisher",
    "Reads",
    "Runner",
    "Services",
    "TokenFirst",
    "check_consumed",
    "check_free",
    "check_lineage",
    "check_reports",
    "lineage_known",
    "masks_of_documents",
]
