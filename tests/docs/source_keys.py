"""The keys of sources of token files as they stand in the code."""

from __future__ import annotations

import ast

from docs.pages import ROOT

CATALOG_SOURCES = ROOT / "mixture" / "data" / "linking" / "sources.py"
"""Where the keys of a catalog's sources are read: they have no schema."""


def catalog_source_keys() -> set[str]:
    """The names in tables of readers: dictionaries whose keys are texts, and whose values are functions."""
    tree = ast.parse(CATALOG_SOURCES.read_text(encoding="utf-8"))
    tables = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    pairs = [pair for table in tables for pair in zip(table.keys, table.values, strict=True)]
    return {key.value for key, value in pairs if isinstance(key, ast.Constant) and _is_reader(value)}


def _is_reader(value: ast.expr) -> bool:
    return isinstance(value, ast.Lambda) or getattr(value, "id", "").lstrip("_").startswith("read_")
