"""Token stores: opening, reading, verifying and making them."""

from mixture.data.store.agreement import disagreements, require_agreement, verify_store
from mixture.data.store.decode import decoder
from mixture.data.store.distant import fetch_description
from mixture.data.store.sequential import rows_in_order
from mixture.data.store.sparse_store import write_holes
from mixture.data.store.store import Store, Verify, open_store

__all__ = [
    "Store",
    "Verify",
    "decoder",
    "disagreements",
    "fetch_description",
    "open_store",
    "require_agreement",
    "rows_in_order",
    "verify_store",
    "write_holes",
]
