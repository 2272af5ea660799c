"""Stores made from stores: packed, split, exported."""

from mixture.data.derived.export import ExportedDomain, ExportFormat, export_store, file_stem
from mixture.data.derived.pack import PackedDomain, PackReport, pack_store
from mixture.data.derived.split import LengthDomain, SplitReport, split_store

__all__ = [
    "ExportFormat",
    "ExportedDomain",
    "LengthDomain",
    "PackReport",
    "PackedDomain",
    "SplitReport",
    "export_store",
    "file_stem",
    "pack_store",
    "split_store",
]
