"""The catalog: what domains there are, how large each is, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from mixture.errors import CatalogError, Place, nearest
from mixture.json_text import digest
from mixture.names import is_held_out
from mixture.planning.catalog.cells import cell_text, count, domain_names, number
from mixture.planning.catalog.columns import arrow_column
from mixture.planning.catalog.reading import TableFiles
from mixture.planning.catalog.table import Cell, Table
from mixture.units import Unit, format_exact, quote

TOKENS = "tokens"
DOCUMENTS = "documents"
TOKENIZER = "tokenizer"
MAX_EPOCHS = "max_epochs"
PACKED, PADDING = "packed", "padding"
"""Columns of a store of packed rows: the tokens of a row, and the domain's tokens of padding."""
CATALOG_COLUMNS = ("domain", TOKENS, DOCUMENTS, TOKENIZER, MAX_EPOCHS)
"""Those that a catalog itself reads; every other column is an attribute."""


@dataclass(frozen=True, slots=True)
class CatalogDomain:
    """One domain: its name, size in tokens and documents, the tokenizer that counted, the epochs it may be read."""

    name: str
    tokens: int
    documents: int | None = None
    tokenizer: str | None = None
    max_epochs: Fraction | None = None

    @property
    def held_out(self) -> bool:
        """True for a reserved name (``NAME@validation``): no phase may weigh this domain."""
        return is_held_out(self.name)


@dataclass(frozen=True)
class Catalog:
    """All domains in order of name (code points), whatever their order in the file.

    source:   the file, or the store's folder
    domains:  what a plan needs of each
    table:    all columns in the same order of rows, for conditions
    digest:   SHA-256 (lower-case hex) of what the table says; the order of rows and columns and the name of the domain
              column do not matter. Numbers count by value, except in CSV, where those of other columns than the
              catalog's own count as written; tables of several formats agree where numbers are spelled alike
    as_found: the domains whose text may lie in the order in which it was found (`TableFile.domains_as_found`)
    """

    source: Path
    domains: tuple[CatalogDomain, ...]
    table: pa.Table
    digest: str
    as_found: frozenset[str]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The domains' names."""
        return tuple(domain.name for domain in self.domains)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def tokens(self) -> int:
        """The sum over all domains."""
        return sum(domain.tokens for domain in self.domains)

    def index(self, name: str, *, place: Place | None = None) -> int:
        """A domain's place in the order. Raises CatalogError `unknown-domain`, with the nearest name."""
        index = self._indices.get(name)
        if index is None:
            raise CatalogError(
                f"unknown domain {quote(name)}",
                code="unknown-domain",
                place=place,
                hint=nearest(name, self.names) or f"it is not among the {len(self.names):,} of {self.source.name}",
                name=name,
            )
        return index

    @property
    def packed(self) -> dict[str, int]:
        """The tokens of a row by name, of domains that are packed rows: each is a sequence of that length, no other."""
        fields = [name for name in self.table.column_names if name in (PACKED, PADDING)]
        if len(fields) < 2 or not all(pa.types.is_integer(self.table[name].type) for name in fields):
            return {}
        rows = zip(self.names, self.table[PACKED].to_pylist(), strict=True)
        return {name: tokens for name, tokens in rows if tokens is not None}

    def select(self, where: str, *, place: Place | None = None, seconds: float | None = None) -> tuple[int, ...]:
        """The indices, ascending, of the domains for which a condition is true; never of held-out ones.

        where is one boolean DuckDB expression over the columns, held to an allow-list (see `condition`). A condition
        that is NULL for a domain does not select it. seconds is how long it may take, None: as long as it does. Raises
        CatalogError at this place.
        """
        return self.select_each({where: place}, seconds=seconds)[where]

    def select_each(
        self, conditions: Mapping[str, Place | None], *, seconds: float | None = None
    ) -> dict[str, tuple[int, ...]]:
        """`select` of each condition, by its text; the values are their places, and seconds are for all together."""
        if not conditions:
            return {}
        from mixture.planning.catalog.selection import select_rows

        selected = select_rows(self.table, conditions, seconds=seconds)
        held_out = {d for d, domain in enumerate(self.domains) if domain.held_out}
        return {where: tuple(d for d in rows if d not in held_out) for where, rows in selected.items()}


def read_catalog(
    path: Path | str, *, domain: str = "domain", place: Place | None = None, tables: TableFiles | None = None
) -> Catalog:
    """The catalog in a CSV, Parquet, JSON or JSON lines table, or in a store's folder.

    domain is the column that names the domains; the column `tokens` is needed, `documents`, `tokenizer` and
    `max_epochs` are read where they are there. place is where a spec names the catalog; tables are what it is read
    from, files if they are not given. Raises CatalogError.
    """
    path, tables = Path(path), tables or TableFiles()
    table = tables.table(path, place=place)
    table.column(domain, place=place)
    table.column(TOKENS)
    rows = domain_names(table, domain)
    domains = {row: _domain(table, name, row) for name, row in rows.items()}
    table = _with_domains(table, domain, [domains[row] for row in range(table.num_rows)])
    order = tuple(rows.values())
    typed = pa.table({column: arrow_column(table, column, order) for column in table.columns})
    as_found = tables.file(path).domains_as_found(rows)
    return Catalog(path, tuple(domains.values()), typed, _digest(table, domain, order), as_found)


def read_column(
    path: Path | str,
    column: str,
    *,
    domain: str = "domain",
    place: Place | None = None,
    tables: TableFiles | None = None,
) -> dict[str, Fraction]:
    """A column of a table as exact numbers by domain, in order of name.

    A decimal counts as written, a float as the shortest decimal that reads back to it. place is where a spec names
    the column; tables are as in `read_catalog`. Raises CatalogError, for an empty cell too.
    """
    table = (tables or TableFiles()).table(Path(path), place=place)
    table.column(domain, place=place)
    table.column(column, place=place)
    rows = domain_names(table, domain)
    return {name: number(table, row, column, unit=Unit.PERCENT) for name, row in rows.items()}


def _domain(table: Table, name: str, row: int) -> CatalogDomain:
    tokenizer = cell_text(table.columns[TOKENIZER][row]) if TOKENIZER in table.columns else None
    documents = count(table, row, DOCUMENTS, unit=None) if _holds(table, row, DOCUMENTS) else None
    max_epochs = number(table, row, MAX_EPOCHS, unit=Unit.EPOCHS) if _holds(table, row, MAX_EPOCHS) else None
    if max_epochs == 0:
        hint = "a domain that is not to be read has weight 0"
        raise table.error("max_epochs is 0", row=row, code="out-of-range", hint=hint, column=MAX_EPOCHS)
    return CatalogDomain(name, count(table, row, TOKENS, unit=Unit.TOKENS), documents, tokenizer, max_epochs)


def _holds(table: Table, row: int, column: str) -> bool:
    return column in table.columns and table.columns[column][row] is not None


def _with_domains(table: Table, domain: str, domains: list[CatalogDomain]) -> Table:
    """The table with the columns that domains are read from as they were read."""
    read: dict[str, list[Cell]] = {
        domain: [row.name for row in domains],
        TOKENS: [row.tokens for row in domains],
        DOCUMENTS: [row.documents for row in domains],
        TOKENIZER: [row.tokenizer for row in domains],
        MAX_EPOCHS: [None if row.max_epochs is None else Decimal(format_exact(row.max_epochs)) for row in domains],
    }
    columns = {column: read.get(column, cells) for column, cells in table.columns.items()}
    return replace(table, columns=columns, written={n: cells for n, cells in table.written.items() if n not in read})


def _digest(table: Table, domain: str, order: tuple[int, ...]) -> str:
    """SHA-256 of the canonical JSON of all cells as text, the names of the domains by themselves.

    A column without any value says nothing, and is left out.
    """
    columns = {**table.columns, **table.written}
    texts = {column: [cell_text(cells[row]) for row in order] for column, cells in columns.items()}
    names = texts.pop(domain)
    says = {"domains": names, "columns": {column: cells for column, cells in texts.items() if set(cells) != {None}}}
    return digest(says)
