"""The spec: what a person writes about a mixture, read with exact numbers and known places."""

from mixture.spec.findings import FindingCode
from mixture.spec.models import (
    BatchSize,
    Budget,
    CatalogSource,
    Extent,
    Form,
    GroupRule,
    Groups,
    Phase,
    ReplayGroup,
    Rule,
    ShareMap,
    Shuffle,
    Spec,
    TableColumn,
    TokenMap,
    Weights,
    WhereGroup,
)

__all__ = [
    "BatchSize",
    "Budget",
    "CatalogSource",
    "Extent",
    "FindingCode",
    "Form",
    "GroupRule",
    "Groups",
    "Phase",
    "ReplayGroup",
    "Rule",
    "ShareMap",
    "Shuffle",
    "Spec",
    "TableColumn",
    "TokenMap",
    "Weights",
    "WhereGroup",
]
