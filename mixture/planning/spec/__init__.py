"""The spec: what a person writes about a mixture, read with exact numbers and known places."""

from mixture.planning.spec.amounts import SUM_TOLERANCE
from mixture.planning.spec.edit import PhaseEdit, edit_spec
from mixture.planning.spec.finding_codes import FindingCode
from mixture.planning.spec.models import (
    BatchSize,
    Budget,
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
from mixture.planning.spec.reading import parse_spec, read_spec
from mixture.planning.spec.schema import SCHEMA_FILE, schema_text, spec_schema, whole_schema
from mixture.planning.spec.source import decode_source, read_source
from mixture.planning.spec.tables import named_tables, rules_of

__all__ = [
    "BatchSize", "Budget", "Extent", "FindingCode", "Form", "GroupRule", "Groups", "Phase", "PhaseEdit", "QualityCurve",
    "ReplayGroup", "Rule", "SCHEMA_FILE", "SUM_TOLERANCE", "ShareMap", "Shuffle", "Spec", "TableColumn", "Temperature",
    "TokenMap", "Transition", "Unimax", "Weights", "WhereGroup", "decode_source", "edit_spec", "read_spec",
    "named_tables", "parse_spec", "read_source", "rules_of", "schema_text", "spec_schema", "whole_schema",
]  # fmt: skip
