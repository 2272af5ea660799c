"""Mixtures in the formats of trainers: written from locks, read as specs, with what is lost said."""

from __future__ import annotations

from mixture.errors import FormatError, nearest
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile, read_file
from mixture.formats.exporting import Exported, export_mixture
from mixture.formats.format import Bodies, Body, Holds, MixtureFormat, Remark, WeightUnit
from mixture.formats.importing import Given, Imported, import_mixture
from mixture.formats.installed import Formats
from mixture.formats.merging import phase_name
from mixture.formats.paths import DOMAIN
from mixture.formats.stages import Run, Stage
from mixture.formats.trainers import BUILT_IN
from mixture.units import quote

FORMATS = Formats(BUILT_IN)
"""All formats by name: the library's own, and those of installed packages."""


def format_of(name: str) -> MixtureFormat:
    """The format of this name. Raises FormatError `unknown-mixture-format`, with the nearest, or as `Formats` does."""
    form = FORMATS.get(name)
    if form is None:
        hint = nearest(name, FORMATS) or f"formats: {', '.join(FORMATS)}"
        raise FormatError(f"unknown format {quote(name)}", code="unknown-mixture-format", hint=hint, name=name)
    return form


__all__ = [
    "Bodies",
    "Body",
    "DOMAIN",
    "Declared",
    "DeclaredPhase",
    "Exported",
    "FORMATS",
    "Formats",
    "Given",
    "Holds",
    "Imported",
    "KeyedBy",
    "MixtureFormat",
    "Remark",
    "Run",
    "SourceFile",
    "Stage",
    "WeightUnit",
    "export_mixture",
    "format_of",
    "import_mixture",
    "phase_name",
    "read_file",
]
