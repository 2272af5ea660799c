"""The rules of a spec, wherever they stand, and the files that it names beside itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mixture.planning.spec.models import GroupRule, Groups, Spec, TableColumn, Weights, WhereGroup


def rules_of(weights: Weights, path: str) -> Iterator[tuple[str, GroupRule]]:
    """Every rule of a phase's weights, by its path; `path` is that of the weights."""
    if not isinstance(weights, Groups):
        yield path, weights
        return
    for j, group in enumerate(weights.groups):
        if isinstance(group, WhereGroup):
            yield f"{path}[{j}].within", group.within


def named_tables(spec: Spec) -> Iterator[tuple[str, Path]]:
    """Every table, or store's folder, that a spec names, by the path of the key that names it; some more than once."""
    yield "catalog", spec.catalog.path
    for i, phase in enumerate(spec.phases):
        for key, rule in rules_of(phase.weights, f"phases[{i}].weights"):
            if isinstance(rule, TableColumn):
                yield key, rule.path
