"""The arguments of Hugging Face's `interleave_datasets`: datasets, probabilities, seed and stopping strategy.

A person loads the datasets by their paths, in this order; examples are what they hold: documents, or packed rows.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial

from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import MixtureFormat, WeightUnit
from mixture.formats.merging import file_reader, phase_name
from mixture.formats.reading import (
    LeftOut,
    Reader,
    items,
    number,
    optional,
    read_fields,
    read_text,
    refuse,
    root_of,
    whole,
)
from mixture.formats.stages import Run, Stage, stage_writer
from mixture.units import quote


def _text(run: Run, stage: Stage) -> str:
    drawn = run.drawn(stage)
    arguments = {
        "datasets": [path for _, path, _ in drawn],
        # At most 17 digits, so that the floats are those that the texts say.
        "probabilities": [float(text) for _, _, text in drawn],
        "seed": run.lock.data.seed,
        "stopping_strategy": "all_exhausted",
    }
    return json.dumps(arguments, indent=2, ensure_ascii=False) + "\n"


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """The arguments of a stretch of the run."""
    root, left_out = root_of(source), LeftOut()
    readers: dict[str, Reader] = {
        "datasets": partial(items, read=read_text),
        "probabilities": optional(partial(items, read=number)),
        "seed": optional(whole),
        **left_out.keys("stopping_strategy", "info", "split"),
    }
    fields = read_fields(root, readers, required=("datasets",))
    datasets = fields["datasets"]
    # Without probabilities it takes an example of each in turn.
    probabilities = fields.get("probabilities") or [Fraction(1)] * len(datasets)
    if len(datasets) != len(probabilities):
        message = f"{len(datasets):,} datasets and {len(probabilities):,} probabilities"
        refuse(root.place, message, code="weights-missing", hint="give each dataset one")
    for i, name in enumerate(datasets):
        if name in datasets[:i]:
            refuse(root.place, f"{quote(name)} is listed twice", code="duplicate-source", hint="remove one of the two")
    return Declared(
        phases=(DeclaredPhase(dict(zip(datasets, probabilities, strict=True)), root.place, name=phase_name(source)),),
        keyed_by=KeyedBy.PATH,
        unit=unit,
        seed=fields.get("seed"),
        remarks=left_out.remarks(),
    )


FORMAT = MixtureFormat(
    name="hf",
    title="Hugging Face datasets: the arguments of interleave_datasets",
    units=(WeightUnit.DOCUMENTS, WeightUnit.SEQUENCES),
    holds=frozenset(),
    draws="interleave_datasets draws each example at random by the probabilities, so that counts vary.",
    version="datasets 5.0.1",
    write=stage_writer(_text, "json", comments=False),
    read=file_reader(_read),
)
