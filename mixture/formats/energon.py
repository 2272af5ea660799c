"""Megatron-Energon's metadatasets: `blend` with weights, and `blend_epochized` with how often each dataset is read.

Keys: docs of NVIDIA/Megatron-Energon, MetadatasetV2. Samples are what the dataset holds: documents, or packed rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Bodies, Body, MixtureFormat, Remark, WeightUnit
from mixture.formats.merging import merged, phase_name
from mixture.formats.reading import (
    LeftOut,
    Node,
    Reader,
    items,
    number,
    optional,
    read_fields,
    read_text,
    refuse,
    root_of,
    word,
)
from mixture.formats.run import Run, Stage
from mixture.formats.shares import FLOAT_DIGITS, plain
from mixture.formats.yaml_text import Number, Row, yaml_text
from mixture.plan import decimal
from mixture.plan.words import names_of
from mixture.units import quote

_HEADER = {"__module__": "megatron.energon", "__class__": "MetadatasetV2"}
_LEAST = Fraction(1, 1 << 24)
"""Beside a sum of 1 in 32-bit floats, what is less adds nothing."""


def write(run: Run) -> Bodies:
    """For each stage a blend by weight, and one by repetitions, which is exact over a pass through all of it."""
    files: list[Body] = []
    remarks: list[Remark] = []
    for piece, part in run.groups(frozenset()):
        stage = piece.stages[0]
        rows = [Row(weight=Number(text), path=path) for _, path, text in run.drawn(stage)]
        files.append(Body(part, "yaml", _text({"blend": rows}), stage.about))
        epochs = [
            Row(repetitions=Number(_epochs(run, stage, d)), path=path)
            for d, path, _ in run.drawn(stage)
            if stage.sequences[d]
        ]
        files.append(
            Body(f"{part}.epochized" if part else "epochized", "yaml", _text({"blend_epochized": epochs}), stage.about)
        )
        never = [run.domains[d].name for d, _, text in run.drawn(stage) if Fraction(text) < _LEAST]
        if never:
            remarks.append(
                Remark(
                    "domains-vanish",
                    f"in phase {stage.name} the weights of {names_of(never, quote)} are below 2^-24, which Energon's"
                    " 32-bit sums do not see",
                )
            )
    return Bodies(tuple(files), tuple(remarks))


def _text(train: dict[str, object]) -> str:
    return yaml_text(_HEADER | {"splits": {"train": train}})


def _epochs(run: Run, stage: Stage, domain: int) -> str:
    """How often a stage reads a domain whole."""
    drawn = Fraction(stage.sequences[domain] * stage.sequence_length, run.domains[domain].tokens)
    return plain(decimal(drawn, digits=FLOAT_DIGITS))


def read(files: Sequence[SourceFile], unit: WeightUnit) -> Declared:
    """A metadataset each, in the order of the run; its training split."""
    return merged([_read(source, unit) for source in files])


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    root, left_out = root_of(source), LeftOut()
    train_of = partial(_read_train, left_out=left_out)
    splits: dict[str, Reader] = {"train": train_of, **left_out.keys("val", "test")}
    readers: dict[str, Reader] = {
        "__module__": _expected,
        "__class__": _expected,
        "splits": partial(read_fields, readers=splits, required=("train",)),
    }
    train: dict[str, Any] = read_fields(root, readers, required=("splits",))["splits"]["train"]
    is_epochized = "blend_epochized" in train
    weights: dict[str, Fraction] = {}
    for path, weight, node in train["blend_epochized" if is_epochized else "blend"]:
        if path in weights:
            refuse(node.place, f"the path {quote(path)} stands twice", code="duplicate-source", hint="one is right")
        weights[path] = weight
    return Declared(
        phases=(DeclaredPhase(weights, root.place, name=phase_name(source)),),
        keyed_by=KeyedBy.PATH,
        unit=WeightUnit.EPOCHS if is_epochized else unit,
        remarks=left_out.remarks(),
    )


def _expected(node: Node) -> None:
    """Another class has other keys."""
    if word(node) not in _HEADER.values():
        hint = " and ".join(f"{key}: {value}" for key, value in _HEADER.items())
        refuse(
            node.place, f"{quote(word(node))} is not a metadataset of version 2", code="not-a-metadataset", hint=hint
        )


def _read_train(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    weighed = partial(_read_row, amount="weight", left_out=left_out)
    repeated = partial(_read_row, amount="repetitions", left_out=left_out)
    readers: dict[str, Reader] = {
        "blend": partial(items, read=weighed),
        "blend_epochized": partial(items, read=repeated),
        **left_out.keys("subflavors", "shuffle_over_epochs_multiplier"),
    }
    fields = read_fields(node, readers, alternatives=("blend", "blend_epochized"))
    if "blend" not in fields and "blend_epochized" not in fields:
        refuse(node.place, "it has no blend", code="missing-key", hint="blend or blend_epochized is right here")
    return fields


def _read_row(node: Node, *, amount: str, left_out: LeftOut) -> tuple[str, Fraction, Node]:
    readers: dict[str, Reader] = {
        "path": read_text,
        amount: optional(number),
        **left_out.keys("split_part", "subflavors", "subflavor", "subset", "shuffle_over_epochs_multiplier"),
        **left_out.keys("split_config", "dataset_config", "aux"),
    }
    fields = read_fields(node, readers, required=("path",))
    said = fields.get(amount)
    return fields["path"], Fraction(1) if said is None else said, node


FORMAT = MixtureFormat(
    name="energon",
    title="Megatron-Energon: blend and blend_epochized",
    units=(WeightUnit.DOCUMENTS, WeightUnit.SEQUENCES),
    holds=frozenset(),
    draws="Energon draws a blend at random in every worker, so that counts wander; blend_epochized is exact"
    " over a pass.",
    write=write,
    read=read,
)
