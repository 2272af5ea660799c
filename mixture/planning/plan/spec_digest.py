"""The digest of what a spec says, whatever its spelling."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction

from pydantic import BaseModel

from mixture.json_text import digest
from mixture.planning.spec import Extent, Spec, TableColumn

_LATER = ("domain_max_epochs", "transition")
"""Keys that came later: where they are not used, the digest is the one that locks already have."""


def spec_digest(spec: Spec, columns: Mapping[TableColumn, Mapping[str, Fraction]]) -> str:
    """The digest of what a spec says. A table's column counts as the weights in it, the catalog has its own digest.

    File names, comments, the order of keys and the spelling of numbers do not matter.
    """
    said = {
        name: _plain(getattr(spec, name), columns)
        for name in type(spec).model_fields
        if name not in ("path", "places", "catalog", "accept") and (getattr(spec, name) or name not in _LATER)
    }
    return digest(said | {"accept": sorted(set(spec.accept))})


def _plain(value: object, columns: Mapping[TableColumn, Mapping[str, Fraction]]) -> object:
    """A value of the spec as JSON has it; exact numbers as the text of their lowest terms."""
    match value:
        case TableColumn():
            return {"column": _plain(columns[value], columns)}
        case Extent():
            return {"form": value.form.value, "amount": str(Fraction(value.amount)), "unit": value.unit.value}
        case BaseModel():
            held = {name: getattr(value, name) for name in type(value).model_fields}
            return {name: _plain(one, columns) for name, one in held.items() if one or name not in _LATER}
        case Mapping():
            return {name: _plain(held, columns) for name, held in value.items()}
        case tuple():
            return [_plain(held, columns) for held in value]
        case Enum():
            return value.value
        case Fraction():
            return str(value)
    return value
