"""The files that a spec names beside itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mixture.spec.models import Groups, Spec, TableColumn, WhereGroup


def named_tables(spec: Spec) -> Iterator[tuple[str, Path]]:
    """Every table, or store's folder, that a spec names, by the path of the key that names it; some more than once."""
    yield "catalog", spec.catalog.path
    for i, phase in enumerate(spec.phases):
        key = f"phases[{i}].weights"
        if isinstance(phase.weights, TableColumn):
            yield key, phase.weights.path
        if isinstance(phase.weights, Groups):
            for j, group in enumerate(phase.weights.groups):
                if isinstance(group, WhereGroup) and isinstance(group.within, TableColumn):
                    yield f"{key}[{j}].within", group.within.path
