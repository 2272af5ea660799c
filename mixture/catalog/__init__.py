"""The table of domains: reading it, and selecting from it."""

from mixture.catalog.catalog import Catalog, CatalogDomain, read_catalog, read_column

__all__ = ["Catalog", "CatalogDomain", "read_catalog", "read_column"]
