"""The table of domains: reading it, selecting from it, and the overview that says what its clusters are about."""

from mixture.catalog.catalog import CATALOG_COLUMNS, Catalog, CatalogDomain, read_catalog, read_column
from mixture.catalog.csv_table import typed_cells
from mixture.catalog.overview import (
    OVERVIEW,
    Overview,
    OverviewCluster,
    OverviewDomain,
    OverviewMade,
    OverviewQuality,
    OverviewSource,
    QualityFeature,
    check_overview,
    read_overview,
    write_overview,
)
from mixture.catalog.reading import TABLE_ENDINGS, TEXT_ENDINGS, GivenTables, TableFile, TableFiles

__all__ = [
    "CATALOG_COLUMNS",
    "OVERVIEW",
    "TABLE_ENDINGS",
    "TEXT_ENDINGS",
    "Catalog",
    "CatalogDomain",
    "GivenTables",
    "Overview",
    "OverviewCluster",
    "OverviewDomain",
    "OverviewMade",
    "OverviewQuality",
    "OverviewSource",
    "QualityFeature",
    "TableFile",
    "TableFiles",
    "check_overview",
    "read_catalog",
    "read_column",
    "typed_cells",
    "read_overview",
    "write_overview",
]
