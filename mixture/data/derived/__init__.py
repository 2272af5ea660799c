"""Stores made from stores: packed, split, exported."""

from mixture.data.derived.export import ExportFormat, export_store, file_stem
from mixture.data.derived.pack import PackReport, pack_store
from mixture.data.derived.split import SplitReport, split_store

__all__ = ["ExportFormat", "PackReport", "SplitReport", "export_store", "file_stem", "pack_store", "split_store"]
