"""MaxText's `grain_train_mixture_config_path`: JSON with a glob of ArrayRecord files and a weight by name.

Read too: `grain_train_files` with `glob,weight;glob,weight`, and a config of MaxText with either of them.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial

from mixture.errors import Place
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import MixtureFormat, WeightUnit
from mixture.formats.merging import file_reader, phase_name
from mixture.formats.reading import (
    LeftOut,
    Node,
    Reader,
    Scalar,
    entries,
    exact,
    has_key,
    number,
    optional,
    read_fields,
    read_text,
    refuse,
    root_of,
    some_fields,
    whole,
    word,
)
from mixture.formats.stages import Run, Stage, stage_writer
from mixture.units import quote

_SOURCES = ("grain_train_mixture_config_path", "grain_train_files")
"""The keys of MaxText's config that name text; the first counts where both do."""
_WEIGHT = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_INLINE = re.compile(r"(?!\w+:\s)[^\s{\[][^\n]*[,;][^\n]*")


def _text(run: Run, stage: Stage) -> str:
    # At most 17 digits, so that the floats are those that the texts say.
    rows = {run.domains[d].name: {"path": path, "weight": float(text)} for d, path, text in run.drawn(stage)}
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """A mixture config, MaxText's own config that names or holds one, or the value of `grain_train_files` alone."""
    if _INLINE.fullmatch(source.text.strip()):
        phase = _inline(source.text.strip(), source.place)
        return Declared((replace(phase, name=phase_name(source)),), KeyedBy.PATH, unit)
    root, left_out = root_of(source), LeftOut()
    if any(has_key(root, key) for key in _SOURCES):
        return _read_config(root, source, unit, left_out)
    phase = DeclaredPhase(_rows(root, left_out), root.place, name=phase_name(source))
    return Declared((phase,), keyed_by=KeyedBy.DOMAIN, unit=unit, remarks=left_out.remarks())


def _rows(root: Node, left_out: LeftOut) -> dict[str, Fraction]:
    return entries(root, partial(_read_row, left_out=left_out))


def _read_config(root: Node, source: SourceFile, unit: WeightUnit, left_out: LeftOut) -> Declared:
    count = partial(whole, least=1)
    readers: dict[str, Reader] = {
        **dict.fromkeys(_SOURCES, _read_file_text),
        "max_target_length": count,
        "steps": _read_steps,
        "data_shuffle_seed": whole,
        "tokenizer_path": optional(read_text),
    }
    said = some_fields(root, readers, left_out)
    named, inline = (said.get(key) for key in _SOURCES)
    if named:
        file = source.beside(named)
        phase, keyed_by = DeclaredPhase(_rows(root_of(file), left_out), file.place), KeyedBy.DOMAIN
    elif inline:
        phase, keyed_by = _inline(inline, root.place), KeyedBy.PATH
    else:
        refuse(root.place, f"neither {' nor '.join(_SOURCES)} is set", code="missing-key")
    phase = replace(
        phase, name=phase_name(source), steps=said.get("steps"), sequence_length=said.get("max_target_length")
    )
    return Declared(
        (phase,),
        keyed_by=keyed_by,
        unit=unit,
        tokenizer=said.get("tokenizer_path"),
        seed=said.get("data_shuffle_seed"),
        remarks=left_out.remarks(),
    )


def _read_file_text(node: Node) -> str | None:
    """A text; MaxText's own config leaves what is not used empty."""
    return node.text.strip() or None if isinstance(node, Scalar) else read_text(node)


def _read_steps(node: Node) -> int | None:
    """MaxText takes -1 for the steps of its learning rate schedule."""
    return None if word(node) == "-1" else whole(node, least=1)


def _inline(text: str, place: Place) -> DeclaredPhase:
    """`glob,weight;glob,weight`; one glob alone is all that is read."""
    parts = [part.strip().rpartition(",") for part in text.split(";") if part.strip()]
    if len(parts) == 1 and not _WEIGHT.fullmatch(parts[0][2].strip()):
        return DeclaredPhase({}, place, epochs={text.strip(" ;"): Fraction(1)})
    weights: dict[str, Fraction] = {}
    for glob, _, weight in parts:
        if not glob or not _WEIGHT.fullmatch(weight.strip()):
            refuse(
                place, f"{quote(weight)} has no weight", code="weights-missing", hint="expected glob,weight;glob,weight"
            )
        if glob in weights:
            refuse(place, f"{quote(glob)} is listed twice", code="duplicate-source", hint="remove one of the two")
        weights[glob] = exact(weight.strip())
    return DeclaredPhase(weights, place)


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
    write=stage_writer(_text, "json", comments=False),
    read=file_reader(_read),
)
