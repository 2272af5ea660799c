"""Token stores: opening, reading, verifying and making them."""

from mixture.store.agreement import disagreements, require_agreement, verify_store
from mixture.store.decode import decoder
from mixture.store.description import ContentKind, StoreDescription, StoreDomain
from mixture.store.documents import Spans
from mixture.store.holes import write_holes
from mixture.store.intake.report import DomainReport, IngestProgress, IngestReport, Reason, Skipped, Stage
from mixture.store.intake.run import ingest
from mixture.store.rows import TokenReader
from mixture.store.store import Store, Verify, open_store

__all__ = [
    "ContentKind",
    "DomainReport",
    "IngestProgress",
    "IngestReport",
    "Reason",
    "Skipped",
    "Spans",
    "Stage",
    "Store",
    "StoreDescription",
    "StoreDomain",
    "TokenReader",
    "Verify",
    "decoder",
    "disagreements",
    "ingest",
    "open_store",
    "require_agreement",
    "verify_store",
    "write_holes",
]
