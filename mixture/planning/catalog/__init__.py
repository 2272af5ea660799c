"""The table of domains: reading it, selecting from it, and the overview that says what its clusters are about."""

from mixture.planning.catalog.catalog import (
    CATALOG_COLUMNS,
    PACKED,
    PADDING,
    Catalog,
    CatalogDomain,
    read_catalog,
    read_column,
)
from mixture.planning.catalog.cells import cell_text
from mixture.planning.catalog.csv_table import typed_cells
from mixture.planning.catalog.grouping import Key, grouped, grouping_columns
from mixture.planning.catalog.overview import (
    MOST_TYPICAL,
    OVERVIEW,
    Overview,
    OverviewCluster,
    OverviewDomain,
    OverviewMade,
    OverviewQuality,
    OverviewSource,
    QualityFeature,
    check_overview,
    is_day,
    read_overview,
    write_overview,
)
from mixture.planning.catalog.reading import (
    TABLE_ENDINGS,
    TEXT_ENDINGS,
    GivenTables,
    TableFile,
    TableFiles,
    check_format,
    no_file,
)
from mixture.planning.catalog.table import Cell

__all__ = [
    "CATALOG_COLUMNS", "Catalog", "CatalogDomain", "Cell", "GivenTables", "Key", "MOST_TYPICAL", "OVERVIEW", "Overview",
    "OverviewCluster", "OverviewDomain", "OverviewMade", "OverviewQuality", "OverviewSource", "PACKED", "PADDING",
    "QualityFeature", "TABLE_ENDINGS", "TEXT_ENDINGS", "TableFile", "TableFiles", "cell_text", "check_format",
    "check_overview", "grouped", "grouping_columns", "is_day", "no_file", "read_catalog", "read_column",
    "read_overview", "typed_cells", "write_overview",
]  # fmt: skip
