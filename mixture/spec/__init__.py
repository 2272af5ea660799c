"""The spec: what a person writes about a mixture, read with exact numbers and known places."""

from mixture.spec.amounts import SUM_TOLERANCE
from mixture.spec.edit import PhaseEdit, edit_spec
from mixture.spec.errors import SpecFileError
from mixture.spec.findings import FindingCode
from mixture.spec.load import load_spec, parse_spec
from mixture.spec.models import (
    BatchSize,
    Budget,
    CatalogSource,
    Extent,
    Form,
    GroupRule,
    Groups,
    Phase,
    QualityCurve,
    ReplayGroup,
    Rule,
    ShareMap,
    Shuffle,
    Spec,
    TableColumn,
    Temperature,
    TokenMap,
    Transition,
    Unimax,
    Weights,
    WhereGroup,
)
from mixture.spec.nodes import key_path
from mixture.spec.schema import SCHEMA_FILE, schema_text, spec_schema, whole_schema
from mixture.spec.tables import rules_of

__all__ = [
    "SCHEMA_FILE",
    "SUM_TOLERANCE",
    "BatchSize",
    "Budget",
    "CatalogSource",
    "Extent",
    "FindingCode",
    "Form",
    "GroupRule",
    "Groups",
    "Phase",
    "PhaseEdit",
    "QualityCurve",
    "ReplayGroup",
    "Rule",
    "ShareMap",
    "Shuffle",
    "Spec",
    "SpecFileError",
    "TableColumn",
    "Temperature",
    "TokenMap",
    "Transition",
    "Unimax",
    "Weights",
    "WhereGroup",
    "edit_spec",
    "key_path",
    "load_spec",
    "parse_spec",
    "rules_of",
    "schema_text",
    "spec_schema",
    "whole_schema",
]
