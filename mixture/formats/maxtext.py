"""MaxText's `grain_train_mixture_config_path`: JSON with a glob of ArrayRecord files and a weight by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Bodies, Body, MixtureFormat, WeightUnit
from mixture.formats.merging import merged, phase_name
from mixture.formats.reading import LeftOut, Node, entries, number, read_fields, root_of
from mixture.formats.run import Run, Stage


def write(run: Run) -> Bodies:
    """One object a stage."""
    files = [
        Body(part, "json", _text(piece, piece.stages[0]), piece.stages[0].about, comments=False)
        for piece, part in run.groups(frozenset())
    ]
    return Bodies(tuple(files))


def _text(run: Run, stage: Stage) -> str:
    # At most 17 digits, so that the floats are those that the texts say.
    rows = {run.domains[d].name: {"path": path, "weight": float(text)} for d, path, text in run.drawn(stage)}
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def read(files: Sequence[SourceFile], unit: WeightUnit) -> Declared:
    """A mixture each, in the order of the run."""
    return merged([_read(source, unit) for source in files])


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    root, left_out = root_of(source), LeftOut()
    weights = entries(root, partial(_read_row, left_out=left_out))
    return Declared(
        phases=(DeclaredPhase(weights, root.place, name=phase_name(source)),),
        keyed_by=KeyedBy.DOMAIN,
        unit=unit,
        remarks=left_out.remarks(),
    )


def _read_row(node: Node, *, left_out: LeftOut) -> Fraction:
    fields = read_fields(node, {"weight": number, **left_out.keys("path")}, required=("path", "weight"))
    weight: Fraction = fields["weight"]
    return weight


FORMAT = MixtureFormat(
    name="maxtext",
    title="MaxText on Grain: a mixture config with path and weight by name",
    units=(WeightUnit.DOCUMENTS, WeightUnit.SEQUENCES),
    holds=frozenset(),
    draws="Grain mixes records before MaxText packs them, stops at the first dataset that ends, and rounds weights to"
    " hundredths of the smallest.",
    version="MaxText e591f30 on grain 0.2.18",
    write=write,
    read=read,
)
