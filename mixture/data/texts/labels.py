"""What a sources file says of its domains: labels, which become columns of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from mixture.errors import Place
from mixture.planning.catalog import CATALOG_COLUMNS, typed_cells
from mixture.planning.yamlfile import TEXT, Gatherer, Node, Schema, read_text, refuse, unique_entries
from mixture.planning.yamlfile import Mapping as MappingNode
from mixture.units import LARGEST_COUNT, quote


@dataclass(frozen=True, slots=True)
class Label:
    """A label as written."""

    text: str
    place: Place


Labels = Mapping[str, Label]

LABELS: Schema = {
    "type": "object",
    "propertyNames": {"pattern": TEXT["pattern"], "not": {"enum": list(CATALOG_COLUMNS)}},
    "additionalProperties": TEXT,
}
"""What `read_labels` takes."""


def read_labels(node: Node) -> Labels:
    """The labels of a domain by name. Raises SpecError."""
    if not isinstance(node, MappingNode):
        hint = "labels: {cluster: c03, quality: 4}"
        refuse(node.place, "this is not a mapping of labels", code="not-a-mapping", hint=hint)
    labels: dict[str, Label] = {}
    gatherer = Gatherer()
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            name = read_text(key)
            if name in CATALOG_COLUMNS:
                hint = f"a catalog itself has the columns {', '.join(CATALOG_COLUMNS)}"
                refuse(key.place, f"a label can not be called {quote(name)}", code="label-taken", hint=hint)
            labels[name] = Label(read_text(value), value.place)
    gatherer.finish()
    return labels


def label_columns(domains: Sequence[Labels]) -> dict[str, pa.Array[Any]]:
    """A column for each label that a domain has, in order of name, null where one has none.

    As in a CSV table, which knows no quotes either, a column is of numbers only where every value is one and none has
    two spellings: int64, float64 or decimal128, else string. Raises SpecError.
    """
    names = sorted({name for labels in domains for name in labels})
    return {name: _column([labels.get(name) for labels in domains]) for name in names}


def _column(labels: list[Label | None]) -> pa.Array[Any]:
    cells = typed_cells([label.text if label else None for label in labels])
    for label, cell in zip(labels, cells, strict=True):
        if label and isinstance(cell, int) and abs(cell) > LARGEST_COUNT:
            hint = "a number that is only a label needs a letter"
            refuse(label.place, f"{label.text} is above 2^63 - 1", code="integer-too-large", hint=hint)
    return pa.array(cells)
