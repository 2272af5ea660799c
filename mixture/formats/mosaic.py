"""MosaicML Streaming's streams, in the sections of an llm-foundry config: `proportion`, or exact counts with `choose`.

Keys: streaming.Stream (mosaicml/streaming); train_loader.dataset, max_seq_len, max_duration and global_train_batch_size
(mosaicml/llm-foundry). All streams of a dataset have the same one of proportion, repeat and choose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
    entries,
    number,
    optional,
    read_fields,
    refuse,
    root_of,
    some_fields,
    whole,
    word,
)
from mixture.formats.run import Run, Stage
from mixture.formats.yaml_text import Number, yaml_text
from mixture.units import quote

_SCHEMES = ("proportion", "repeat", "choose")
_BATCHES = re.compile("([1-9][0-9]*)ba")


def write(run: Run) -> Bodies:
    """For each stage a file with proportions; where samples are sequences, another with what is chosen of each."""
    files: list[Body] = []
    remarks: list[Remark] = []
    for piece, part in run.groups(frozenset()):
        stage = piece.stages[0]
        files.append(Body(part, "yaml", _text(piece, stage, _proportion), stage.about))
        if run.unit is not WeightUnit.SEQUENCES:
            continue
        chosen = partial(_chosen, stage)
        name = f"{part}.choose" if part else "choose"
        files.append(Body(name, "yaml", _text(piece, stage, chosen), f"{stage.about} Counts are those of the lock."))
        none = [run.domains[d].name for d, _, _ in run.drawn(stage) if not stage.sequences[d]]
        if none:
            remarks.append(
                Remark("domains-vanish", f"in phase {stage.name} nothing is chosen of {len(none):,}, first {none[0]}")
            )
    return Bodies(tuple(files), tuple(remarks))


def _proportion(_: int, text: str) -> dict[str, object]:
    return {"proportion": Number(text)}


def _chosen(stage: Stage, domain: int, _: str) -> dict[str, object]:
    return {"choose": stage.sequences[domain]}


def _text(run: Run, stage: Stage, amount: Callable[[int, str], dict[str, object]]) -> str:
    streams = {
        run.domains[d].name: {"remote" if "://" in path else "local": path} | amount(d, text)
        for d, path, text in run.drawn(stage)
    }
    sequences = stage.steps * stage.batch_sequences
    dataset = {"streams": streams, "shuffle": True, "shuffle_seed": run.lock.data.seed}
    if run.unit is WeightUnit.SEQUENCES:
        dataset["epoch_size"] = sequences
    return yaml_text(
        {
            "max_seq_len": stage.sequence_length,
            "max_duration": f"{stage.steps}ba",
            "global_train_batch_size": stage.batch_sequences,
            "train_loader": {"dataset": dataset | {"max_seq_len": stage.sequence_length}},
        }
    )


def read(files: Sequence[SourceFile], unit: WeightUnit) -> Declared:
    """A config each, with `train_loader.dataset.streams`, in the order of the run."""
    return merged([_read(source, unit) for source in files])


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    root, left_out = root_of(source), LeftOut()
    dataset_of = partial(_read_dataset, left_out=left_out)
    readers: dict[str, Reader] = {
        "max_seq_len": _constant(left_out),
        "global_train_batch_size": _constant(left_out),
        "max_duration": partial(_read_duration, left_out=left_out),
        "train_loader": partial(some_fields, readers={"dataset": dataset_of}, left_out=left_out),
    }
    said = some_fields(root, readers, left_out)
    dataset: dict[str, Any] = said.get("train_loader", {}).get("dataset", {})
    if "streams" not in dataset:
        refuse(root.place, "the key 'train_loader.dataset.streams' is missing", code="missing-key")
    weights, scheme = _one_scheme(dataset["streams"], root)
    batch, steps = said.get("global_train_batch_size"), said.get("max_duration")
    if steps is None and batch and dataset.get("epoch_size") and not dataset["epoch_size"] % batch:
        steps = dataset["epoch_size"] // batch
    phase = DeclaredPhase(
        weights,
        root.place,
        name=phase_name(source),
        steps=steps,
        sequence_length=said.get("max_seq_len") or dataset.get("max_seq_len"),
        batch_sequences=batch,
    )
    return Declared(
        phases=(phase,),
        keyed_by=KeyedBy.DOMAIN,
        unit=WeightUnit.EPOCHS if scheme == "repeat" else unit,
        seed=dataset.get("shuffle_seed"),
        remarks=left_out.remarks(),
    )


def _constant(left_out: LeftOut) -> Callable[[Node], int | None]:
    """A whole number; a variable of the config, `${variables.max_seq_len}`, is left out."""

    def read_constant(node: Node) -> int | None:
        if "${" in word(node):
            left_out.note(node)
            return None
        return whole(node, least=1)

    return read_constant


def _read_duration(node: Node, *, left_out: LeftOut) -> int | None:
    match = _BATCHES.fullmatch(word(node))
    if not match:
        left_out.note(node)  # in epochs or tokens: what that is in steps, the file does not say
    return int(match[1]) if match else None


def _read_dataset(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    readers: dict[str, Reader] = {
        "streams": partial(entries, read=partial(_read_stream, left_out=left_out)),
        "epoch_size": optional(_constant(left_out)),
        "max_seq_len": _constant(left_out),
        "shuffle_seed": _constant_seed(left_out),
    }
    return some_fields(node, readers, left_out)


def _constant_seed(left_out: LeftOut) -> Callable[[Node], int | None]:
    def read_seed(node: Node) -> int | None:
        if "${" in word(node):
            left_out.note(node)
            return None
        return whole(node)

    return read_seed


def _read_stream(node: Node, *, left_out: LeftOut) -> tuple[str | None, Fraction, Node]:
    readers: dict[str, Reader] = {
        **dict.fromkeys(_SCHEMES, number),
        **left_out.keys("remote", "local", "split", "download_retry", "download_timeout", "validate_hash", "keep_zip"),
    }
    fields = read_fields(node, readers)
    schemes = [scheme for scheme in _SCHEMES if scheme in fields]
    if len(schemes) > 1:
        refuse(node.place, f"{schemes[0]} and {schemes[1]} are both given", code="key-conflict", hint="one is right")
    return (schemes[0], fields[schemes[0]], node) if schemes else (None, Fraction(0), node)


def _one_scheme(streams: dict[str, tuple[str | None, Fraction, Node]], root: Node) -> tuple[dict[str, Fraction], str]:
    schemes = {scheme for scheme, _, _ in streams.values()}
    if None in schemes or len(schemes) != 1:
        without = next((name for name, (scheme, _, _) in streams.items() if scheme is None), None)
        place = root.place if without is None else streams[without][2].place
        message = "the streams are weighed in several ways" if without is None else f"{quote(without)} has no weight"
        refuse(place, message, code="weights-mixed", hint=f"all have one of {', '.join(_SCHEMES)}")
    return {name: weight for name, (_, weight, _) in streams.items()}, str(schemes.pop())


FORMAT = MixtureFormat(
    name="mosaic",
    title="MosaicML Streaming: streams with proportion, and with choose",
    units=(WeightUnit.SEQUENCES, WeightUnit.DOCUMENTS),
    holds=frozenset(),
    draws="Streaming has each share exactly over an epoch of epoch_size samples, and not before its end.",
    write=write,
    read=read,
)
