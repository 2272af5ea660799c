"""Text into a store: split into parts, tokenized, merged, resumed."""

from mixture.data.ingest.document_order import DocumentKeys
from mixture.data.ingest.resumption import Earlier, Resumed
from mixture.data.ingest.run import ingest
from mixture.data.ingest.sources import SourceDomain, Sources, TokenType, read_sources, sources_schema
from mixture.data.ingest.survey import SourcesReport, survey_sources

__all__ = [
    "DocumentKeys",
    "Earlier",
    "Resumed",
    "SourceDomain",
    "Sources",
    "SourcesReport",
    "TokenType",
    "ingest",
    "read_sources",
    "sources_schema",
    "survey_sources",
]
