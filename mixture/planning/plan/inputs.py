"""What a spec is planned over: its catalog, columns of tables, selections. Planning itself reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import Place
from mixture.planning.catalog import Catalog, TableFiles, read_catalog, read_column
from mixture.planning.spec import Groups, Spec, TableColumn, WhereGroup, rules_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a plan is made from, beside the spec.

    columns:  the columns of tables that weights are in: exact numbers by domain
    selected: the domains, by index into the catalog's, that each condition of the spec is true for
    """

    catalog: Catalog
    columns: Mapping[TableColumn, Mapping[str, Fraction]]
    selected: Mapping[str, tuple[int, ...]]


def read_inputs(
    spec: Spec, *, tables: TableFiles | None = None, catalog: Catalog | None = None, seconds: float | None = None
) -> Inputs:
    """Read the tables that a spec names, each once, and work its conditions out.

    tables:  what to read from; the files that the spec names if it is not given
    catalog: the spec's own, where it is read already
    seconds: how long all conditions may take together; None: as long as they do

    Raises CatalogError, with the place in the table, or in the spec.
    """
    tables = tables or TableFiles()
    if catalog is None:
        source = spec.catalog
        catalog = read_catalog(source.path, domain=source.domain, place=spec.place("catalog"), tables=tables)
    columns: dict[TableColumn, Mapping[str, Fraction]] = {}
    conditions: dict[str, Place | None] = {}
    for i, phase in enumerate(spec.phases):
        path = f"phases[{i}].weights"
        for key, rule in rules_of(phase.weights, path):
            if isinstance(rule, TableColumn) and rule not in columns:
                place = spec.place(f"{key}.column")
                columns[rule] = read_column(rule.path, rule.column, domain=rule.domain, place=place, tables=tables)
        for j, group in enumerate(phase.weights.groups if isinstance(phase.weights, Groups) else ()):
            if isinstance(group, WhereGroup):
                conditions.setdefault(group.where, spec.place(f"{path}[{j}].where"))
    return Inputs(catalog, columns, catalog.select_each(conditions, seconds=seconds))
