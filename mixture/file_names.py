"""Names that files have wherever a mixture or a store lies."""

from __future__ import annotations

SPEC_FILE = "mixture.yaml"
LOCK_FILE = "mixture.lock.json"
STORE_FILE = "store.json"
"""A store's own description: a folder that has one is a store."""
STORE_TABLE = "domains.parquet"
"""The table of a store's domains, which is its catalog."""
