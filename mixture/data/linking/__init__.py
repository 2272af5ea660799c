"""A store over token files of other programs: found, counted, written, refreshed."""

from mixture.data.linking.build import add_domain, build_catalog
from mixture.data.linking.catalogs import CatalogReport, DomainChange
from mixture.data.linking.refresh import refresh_catalog

__all__ = [
    "CatalogReport",
    "DomainChange",
    "add_domain",
    "build_catalog",
    "refresh_catalog",
]
