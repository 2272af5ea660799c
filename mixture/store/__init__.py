"""Token stores: opening, reading, verifying and making them."""

from mixture.store.agreement import disagreements, verify_store
from mixture.store.documents import Spans
from mixture.store.holes import write_holes
from mixture.store.rows import TokenReader
from mixture.store.store import Store, StoreDomain, Verify, open_store

__all__ = [
    "Spans",
    "Store",
    "StoreDomain",
    "TokenReader",
    "Verify",
    "disagreements",
    "open_store",
    "verify_store",
    "write_holes",
]
