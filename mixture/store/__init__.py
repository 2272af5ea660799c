"""Token stores: opening, reading, verifying and making them."""

from mixture.objects import ObjectOptions
from mixture.store.agreement import disagreements, require_agreement, verify_store
from mixture.store.attributes import Attribute, attribute_text, attribute_value
from mixture.store.decode import decoder
from mixture.store.description import ContentKind, StoreDescription, StoreDomain
from mixture.store.documents import Spans
from mixture.store.export import ExportedDomain, ExportFormat, export_store
from mixture.store.foreign.build import add_domain, build_catalog
from mixture.store.foreign.catalogs import CatalogReport, DomainChange
from mixture.store.foreign.refresh import refresh_catalog
from mixture.store.gaps import PADDING
from mixture.store.holes import write_holes
from mixture.store.in_order import OrderedRows, rows_in_order
from mixture.store.intake.report import (
    ColumnReport,
    DomainReport,
    Empty,
    EndInText,
    IngestProgress,
    IngestReport,
    Reason,
    Skipped,
    Stage,
    TokenInText,
    Unfit,
    Unreadable,
)
from mixture.store.intake.resumption import Earlier, Resumed
from mixture.store.intake.run import ingest
from mixture.store.intake.sources import sources_schema
from mixture.store.intake.survey import FoundSources, SourcesReport, survey_sources
from mixture.store.intake.texts import MOST_SHOWN, UnreadableError
from mixture.store.pack import PackedDomain, PackReport, pack_store
from mixture.store.packed import LongDocuments
from mixture.store.rows import TokenReader
from mixture.store.split import LengthDomain, SplitReport, split_store
from mixture.store.store import Store, Verify, open_store

__all__ = [
    "CatalogReport",
    "ColumnReport",
    "ContentKind",
    "DomainChange",
    "DomainReport",
    "Empty",
    "Earlier",
    "EndInText",
    "ExportFormat",
    "ExportedDomain",
    "FoundSources",
    "IngestProgress",
    "IngestReport",
    "LengthDomain",
    "LongDocuments",
    "MOST_SHOWN",
    "PADDING",
    "OrderedRows",
    "PackReport",
    "PackedDomain",
    "ObjectOptions",
    "Reason",
    "Resumed",
    "Skipped",
    "SourcesReport",
    "Spans",
    "SplitReport",
    "Stage",
    "Store",
    "StoreDescription",
    "StoreDomain",
    "TokenInText",
    "TokenReader",
    "Unfit",
    "Unreadable",
    "UnreadableError",
    "Verify",
    "add_domain",
    "Attribute",
    "attribute_text",
    "attribute_value",
    "build_catalog",
    "decoder",
    "disagreements",
    "export_store",
    "ingest",
    "open_store",
    "pack_store",
    "refresh_catalog",
    "require_agreement",
    "sources_schema",
    "rows_in_order",
    "split_store",
    "survey_sources",
    "verify_store",
    "write_holes",
]
