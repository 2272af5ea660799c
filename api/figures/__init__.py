"""The numbers that routes and pages both show."""

from mixture.api.figures.catalog_figures import CatalogFigures, CellFigures, Figures
from mixture.api.figures.catalog_map import TITLE_COLUMN, axes_of, catalog_map, kind_columns
from mixture.api.figures.catalog_sums import SUMS, integers, sums_by
from mixture.api.figures.domains import DomainShown, domain_shown
from mixture.api.figures.moves import moves_table
from mixture.api.figures.plans import PlannedDomains
from mixture.api.figures.runs import FIGURES, read_by, standing
from mixture.api.figures.steps import PARTS, asked_slots, read_sequences, schedule_with, sequences_by_domain, weights_at
from mixture.api.figures.tables import PROGRESS, counts_table, progress_table, sequences_table
from mixture.api.figures.traces import (
    READ_SUMS,
    READS,
    TraceRow,
    bounded_sums,
    check_traced,
    document_traces,
    reads_page,
    sums_table,
    trace_row,
    traces_table,
)

__all__ = [
    "CatalogFigures", "CellFigures", "DomainShown", "FIGURES", "Figures", "PARTS", "PROGRESS", "PlannedDomains",
    "READS", "READ_SUMS", "SUMS", "TITLE_COLUMN", "TraceRow", "asked_slots", "axes_of", "bounded_sums", "catalog_map",
    "check_traced", "counts_table", "document_traces", "domain_shown", "integers", "kind_columns", "moves_table",
    "progress_table", "read_by", "read_sequences", "reads_page", "schedule_with", "sequences_by_domain",
    "sequences_table", "standing", "sums_by", "sums_table", "trace_row", "traces_table", "weights_at",
]  # fmt: skip
