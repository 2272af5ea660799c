"""MosaicML Streaming's streams, in the sections of an llm-foundry config: `proportion`, or exact counts with `choose`.

Keys: streaming.Stream (mosaicml/streaming); train_loader.dataset, max_seq_len, max_duration and global_train_batch_size
(mosaicml/llm-foundry). Either all streams have a proportion, or each has repeat, choose or none of
them, which reads it once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
    has_key,
    interpolated,
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
from mixture.formats.stages import Run, Stage
from mixture.formats.yaml_text import Number, yaml_text
from mixture.units import quote
from mixture.wording import names_of

_SCHEMES = ("proportion", "repeat", "choose")
_DURATION = re.compile(r"([0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][0-9]{1,2})?)(ep|ba|sp|tok)?")
_ABBREVIATED = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmbt])")
_ABBREVIATIONS = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_Stream = tuple[str | None, Fraction, Node]
"""The key of its weight, or None; the weight; where it is."""


def write(run: Run) -> Bodies:
    """For each stage a file with proportions; where samples are sequences, another with what is chosen of each.

    `max_duration` is how far the run is at the stage's end: Composer counts from the start of the run.
    """
    files: list[Body] = []
    remarks: list[Remark] = []
    for stage, (_, part) in zip(run.stages, run.groups(frozenset()), strict=True):
        size = {"epoch_size": stage.steps * stage.batch_sequences} if run.unit is WeightUnit.SEQUENCES else {}
        files.append(Body(part, "yaml", _text(run, stage, _proportion, size), stage.about))
        if run.unit is not WeightUnit.SEQUENCES:
            continue
        chosen = partial(_chosen, stage)
        name = f"{part}.choose" if part else "choose"
        # Streaming takes the sum of what is chosen for the epoch, and refuses another size beside it.
        about = f"{stage.about} Counts are those of the lock."
        files.append(Body(name, "yaml", _text(run, stage, chosen, {}), about))
        none = [run.domains[d].name for d, _, _ in run.drawn(stage) if not stage.sequences[d]]
        if none:
            remarks.append(
                Remark("domains-vanish", f"in phase {stage.name}, no sample is chosen from {names_of(none, quote)}")
            )
    return Bodies(tuple(files), tuple(remarks))


def _proportion(_: int, text: str) -> dict[str, object]:
    return {"proportion": Number(text)}


def _chosen(stage: Stage, domain: int, _: str) -> dict[str, object]:
    return {"choose": stage.sequences[domain]}


def _text(run: Run, stage: Stage, amount: Callable[[int, str], dict[str, object]], size: Mapping[str, object]) -> str:
    streams = {
        run.domains[d].name: {"remote" if "://" in path else "local": path} | amount(d, text)
        for d, path, text in run.drawn(stage)
    }
    dataset = {"streams": streams, "shuffle": True, "shuffle_seed": run.lock.data.seed, **size}
    return yaml_text(
        {
            "max_seq_len": stage.sequence_length,
            "max_duration": f"{stage.end_step}ba",
            "global_train_batch_size": stage.batch_sequences,
            "train_loader": {"dataset": dataset | {"max_seq_len": stage.sequence_length}},
        }
    )


def read(files: Sequence[SourceFile], unit: WeightUnit) -> Declared:
    """A config each, with `train_loader.dataset.streams`, in the order of the run.

    Composer counts `max_duration` from the start of the run, so that of a later file has the earlier files in it; one
    that says no more than the file before it is a run of its own, and counts from its own start.
    """
    parts: list[Declared] = []
    before: DeclaredPhase | None = None
    for source in files:
        part = _read(source, unit)
        (phase,) = part.phases
        if has_key(root_of(source), "max_duration"):
            own = phase if before is None else _after(phase, before)
            part, before = replace(part, phases=(own,)), phase
            if own is not phase:
                message = (
                    f"max_duration counts from the start of the run: {source.path.name} continues the file before it"
                )
                part = replace(part, remarks=(*part.remarks, Remark("counted-from-start", message)))
        parts.append(part)
    return merged(parts)


def _after(phase: DeclaredPhase, before: DeclaredPhase) -> DeclaredPhase:
    """A phase without what the run had read before it, where both are counted alike."""
    if phase.steps and before.steps and phase.steps > before.steps:
        return replace(phase, steps=phase.steps - before.steps)
    if phase.samples and before.samples and phase.samples > before.samples:
        return replace(phase, samples=phase.samples - before.samples)
    if phase.tokens and before.tokens and phase.tokens > before.tokens:
        return replace(phase, tokens=phase.tokens - before.tokens)
    return phase


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    root, left_out = interpolated(root_of(source)), LeftOut()
    dataset_of = partial(_read_dataset, left_out=left_out)
    loader: dict[str, Reader] = {"dataset": dataset_of, "drop_last": _read_flag}
    readers: dict[str, Reader] = {
        "max_seq_len": _count(left_out),
        "global_train_batch_size": _count(left_out),
        "max_duration": partial(_read_duration, left_out=left_out),
        "train_loader": partial(some_fields, readers=loader, left_out=left_out),
        "tokenizer": optional(partial(some_fields, readers={"name": optional(read_text)}, left_out=left_out)),
    }
    said = some_fields(root, readers, left_out)
    dataset: dict[str, Any] = said.get("train_loader", {}).get("dataset", {})
    streams: dict[str, _Stream] | None = dataset.get("streams")
    if streams is None:
        path = dataset.get("remote") or dataset.get("local")
        if path is None:
            refuse(root.place, "the key 'train_loader.dataset.streams' is missing", code="missing-key")
        streams = {path: (None, Fraction(0), root)}
    scheme = _scheme(streams)
    batch = said.get("global_train_batch_size")
    phase = DeclaredPhase(
        {name: amount for name, (own, amount, _) in streams.items() if own == scheme},
        root.place,
        name=phase_name(source),
        sequence_length=said.get("max_seq_len") or dataset.get("max_seq_len"),
        batch_sequences=batch,
        epochs={
            name: Fraction(1) if own is None else amount
            for name, (own, amount, _) in streams.items()
            if own in (None, "repeat")
        },
        counts=scheme == "choose",
    )
    return Declared(
        phases=(_with_length(phase, said, dataset),),
        keyed_by=KeyedBy.DOMAIN if "streams" in dataset else KeyedBy.PATH,
        unit=unit,
        tokenizer=(said.get("tokenizer") or {}).get("name"),
        seed=dataset.get("shuffle_seed"),
        remarks=left_out.remarks(),
    )


def _scheme(streams: Mapping[str, _Stream]) -> str:
    """Whether weights are shares or counts. Streams without a weight are read once; shares and counts do not mix."""
    shares = [name for name, (scheme, _, _) in streams.items() if scheme == "proportion"]
    other = next((name for name in streams if name not in shares), None)
    if shares and other is not None:
        place = streams[other][2].place
        message = f"{quote(shares[0])} has a proportion, but {quote(other)} has none"
        refuse(place, message, code="weights-mixed", hint="give all streams a proportion, or none of them")
    return "proportion" if shares else "choose"


def _with_length(phase: DeclaredPhase, said: Mapping[str, Any], dataset: Mapping[str, Any]) -> DeclaredPhase:
    """The phase as long as `max_duration` says: in batches, samples, tokens or epochs of `epoch_size` samples."""
    batch: int | None = phase.batch_sequences
    size: int | None = dataset.get("epoch_size")
    if said.get("max_duration") is None:
        return phase if not batch or not size or size % batch else replace(phase, steps=size // batch)
    if size is None and phase.counts and not phase.epochs:
        size = int(sum(phase.weights.values()))
    amount, measure = said["max_duration"]
    match measure:
        case "ba":
            return replace(phase, steps=int(amount))
        case "sp":
            return replace(phase, samples=int(amount))
        case "tok":
            return replace(phase, tokens=int(amount))
    if size is None:
        return replace(phase, passes=amount)
    if batch is None:
        return replace(phase, samples=int(amount * size))
    steps = size // batch if said["train_loader"].get("drop_last") else -(-size // batch)
    return replace(phase, steps=int(amount * steps))


def _count(left_out: LeftOut, *, least: int = 1) -> Callable[[Node], int | None]:
    """A count as Streaming reads it, `64k` too; a variable that the file does not define is left out."""

    def read_count(node: Node) -> int | None:
        if "${" in word(node):
            left_out.note(node)
            return None
        abbreviated = _ABBREVIATED.fullmatch(word(node).strip().lower())
        if abbreviated is not None:
            return int(Fraction(abbreviated[1]) * _ABBREVIATIONS[abbreviated[2]])
        return whole(node, least=least)

    return read_count


def _read_flag(node: Node) -> bool:
    return word(node).lower() == "true"


def _read_duration(node: Node, *, left_out: LeftOut) -> tuple[Fraction, str] | None:
    """How much, of what: a bare number is epochs, as Composer takes it."""
    match = _DURATION.fullmatch(word(node).strip())
    if match is None or not Fraction(match[1].replace("_", "")):
        left_out.note(node)
        return None
    return Fraction(match[1].replace("_", "")), match[2] or "ep"


def _read_dataset(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    readers: dict[str, Reader] = {
        "streams": optional(partial(entries, read=partial(_read_stream, left_out=left_out))),
        "remote": optional(read_text),
        "local": optional(read_text),
        "epoch_size": optional(_count(left_out)),
        "max_seq_len": optional(_count(left_out)),
        "shuffle_seed": optional(_count(left_out, least=0)),
    }
    return {key: value for key, value in some_fields(node, readers, left_out).items() if value is not None}


def _read_stream(node: Node, *, left_out: LeftOut) -> _Stream:
    readers: dict[str, Reader] = {
        **dict.fromkeys(_SCHEMES, optional(number)),
        **left_out.keys("remote", "local", "split", "download_retry", "download_timeout", "validate_hash", "keep_zip"),
    }
    fields = read_fields(node, readers)
    schemes = [scheme for scheme in _SCHEMES if fields.get(scheme) is not None]
    if len(schemes) > 1:
        refuse(
            node.place,
            f"{schemes[0]} and {schemes[1]} are both given",
            code="key-conflict",
            hint="remove one of the two",
        )
    return (schemes[0], fields[schemes[0]], node) if schemes else (None, Fraction(0), node)


FORMAT = MixtureFormat(
    name="mosaic",
    title="MosaicML Streaming: streams with proportion, and with choose",
    units=(WeightUnit.SEQUENCES, WeightUnit.DOCUMENTS),
    holds=frozenset(),
    draws="Streaming has each share exactly over an epoch of epoch_size samples, and not before its end.",
    version="mosaicml-streaming 0.13.0",
    write=write,
    read=read,
)
