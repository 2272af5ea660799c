"""nanotron's `data_stages`: dataset folders and weights, by the training step that they begin at, the first at 1.

Keys: nanotron.config (huggingface/nanotron): DatasetStageArgs, DataArgs, NanosetDatasetsArgs, PretrainDatasetsArgs,
TokensArgs. A step's sequences are micro_batch_size · batch_accumulation_per_replica · parallelism.dp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from mixture.errors import Place
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Bodies, Body, Holds, MixtureFormat, Remark, WeightUnit
from mixture.formats.merging import merged
from mixture.formats.reading import (
    LeftOut,
    MappingNode,
    Node,
    Reader,
    entries,
    has_key,
    is_null,
    items,
    number,
    optional,
    read_fields,
    read_text,
    refuse,
    root_of,
    some_fields,
    whole,
)
from mixture.formats.reading import Sequence as SequenceNode
from mixture.formats.stages import Run, Stage, TokenType, file_word, token_type_of
from mixture.formats.yaml_text import Number, yaml_text
from mixture.units import decimal, quote
from mixture.wording import NAMED, listed

HOLDS = frozenset({Holds.PHASES})
_TEXT = "hf_dataset_or_datasets"
"""Datasets of text, in PretrainDatasetsArgs and SFTDatasetsArgs."""
_COUNT = partial(whole, least=1)


def write(run: Run) -> Bodies:
    """For each stage a config with it and those before: nanotron trains on the last of a config, whatever the step."""
    token_type = token_type_of(run.catalog)
    files: list[Body] = []
    for piece, _ in run.groups(HOLDS):
        for i, stage in enumerate(piece.stages, start=1):
            part = None if len(run.stages) == 1 else f"{len(files) + 1}-{file_word(stage.name)}"
            config = _config(piece, piece.stages[:i], token_type)
            files.append(Body(part, "yaml", yaml_text(config), "\n".join(one.about for one in piece.stages[:i])))
    return Bodies(tuple(files), (*_lost(run, token_type), *_repeats(run)))


def _config(run: Run, stages: Sequence[Stage], token_type: TokenType | None) -> dict[str, object]:
    """The sections `data_stages` and `tokens`; a batch as one replica would accumulate it."""
    return {
        "data_stages": [_stage(run, stage, token_type) for stage in stages],
        "tokens": {
            "sequence_length": stages[0].sequence_length,
            "train_steps": stages[-1].end_step,
            "micro_batch_size": 1,
            "batch_accumulation_per_replica": stages[0].batch_sequences,
        },
    }


def _lost(run: Run, token_type: TokenType | None) -> Iterator[Remark]:
    batch = run.stages[0].batch_sequences
    yield Remark(
        "batch-of-one-replica",
        f"batch_accumulation_per_replica is for one replica: {batch:,} sequences a step; divide it by yours and by"
        " micro_batch_size",
    )
    if len(run.stages) > 1:
        yield Remark(
            "stages-in-files",
            "nanotron trains on the last stage of its config: start each stage with its file, from the checkpoint",
        )
    if token_type is None:
        yield Remark(
            "token-type-unknown",
            "the lock does not say vocab_size and token_size_in_bytes, which nanotron needs: --catalog STORE does",
        )


def _repeats(run: Run) -> Iterator[Remark]:
    """What datatrove reads again within a run: a dataset that ends begins again, in the same order."""
    again: dict[str, tuple[int, str]] = {}
    for piece, _ in run.groups(HOLDS):
        for d, domain in enumerate(run.domains):
            length = piece.stages[0].sequence_length
            samples = domain.tokens // length
            drawn = sum(stage.sequences[d] for stage in piece.stages)
            if samples and drawn > samples:
                tokens, _ = again.get(domain.name, (0, ""))
                again[domain.name] = tokens + (drawn - samples) * length, decimal(Fraction(drawn, samples), digits=3)
    if again:
        worst = sorted(again, key=lambda name: (-again[name][0], name))
        named = [f"{quote(name)} {again[name][0]:,} tokens ({again[name][1]} epochs)" for name in worst[:NAMED]]
        message = "a dataset that ends begins again in the same order, not in the lock's new one for each epoch: "
        yield Remark("repeats-in-order", message + listed(named, more=len(worst) - len(named)))


def _stage(run: Run, stage: Stage, token_type: TokenType | None) -> dict[str, object]:
    drawn = run.drawn(stage)
    dataset: dict[str, object] = {
        "dataset_folder": [path for _, path, _ in drawn],
        "dataset_weights": [Number(text) for _, _, text in drawn],
    }
    if run.lock.tokenizer is not None:
        dataset["tokenizer_name"] = run.lock.tokenizer
    if token_type is not None:
        dataset |= {"vocab_size": token_type.vocabulary, "token_size_in_bytes": token_type.bytes}
    data = {"dataset": dataset, "num_loading_workers": 1, "seed": run.lock.data.seed}
    return {"name": stage.name, "start_training_step": stage.first_step + 1, "data": data}


@dataclass(frozen=True, slots=True)
class _Stage:
    name: str
    first_step: int
    weights: dict[str, Fraction]
    epochs: dict[str, Fraction]
    place: Place
    sequence_length: int | None
    seed: int | None
    tokenizer: str | None


def read(files: Sequence[SourceFile], unit: WeightUnit) -> Declared:
    """A config with its stages. A later file that begins with all stages of the one before replaces it: a run that is
    stopped to add a stage has such files. Any other is a stretch of its own.
    """
    parts: list[Declared] = []
    for source in files:
        part = _read(source, unit)
        if parts and _begins_with(part.phases, parts[-1].phases):
            parts.pop()
        parts.append(part)
    return merged(parts)


def _begins_with(phases: Sequence[DeclaredPhase], earlier: Sequence[DeclaredPhase]) -> bool:
    return len(phases) > len(earlier) and all(
        (phase.name, phase.weights, phase.epochs) == (before.name, before.weights, before.epochs)
        for phase, before in zip(phases, earlier, strict=False)
    )


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    left_out = LeftOut()
    tokenizer_of = partial(some_fields, readers={"tokenizer_name_or_path": optional(read_text)}, left_out=left_out)
    readers: dict[str, Reader] = {
        "data_stages": partial(items, read=partial(_read_stage, left_out=left_out)),
        "tokenizer": optional(tokenizer_of),
        "tokens": optional(partial(_read_tokens, left_out=left_out)),
        "parallelism": optional(partial(some_fields, readers={"dp": _COUNT}, left_out=left_out)),
    }
    root = root_of(source)
    said = some_fields(root, readers, left_out)
    if "data_stages" not in said:
        refuse(root.place, "the key 'data_stages' is missing", code="missing-key")
    stages = sorted(said["data_stages"], key=lambda stage: stage.first_step)
    tokens: dict[str, int] = said.get("tokens") or {}
    batch = tokens.get("batch_accumulation_per_replica")
    if batch is not None:
        batch *= tokens["micro_batch_size"] * (said.get("parallelism") or {}).get("dp", 1)
    tokenizers = [stage.tokenizer for stage in stages] + [(said.get("tokenizer") or {}).get("tokenizer_name_or_path")]
    return Declared(
        phases=tuple(_phases(stages, tokens.get("train_steps"), tokens.get("sequence_length"), batch)),
        keyed_by=KeyedBy.PATH,
        unit=unit,
        tokenizer=next((tokenizer for tokenizer in tokenizers if tokenizer is not None), None),
        seed=stages[0].seed,
        remarks=left_out.remarks(),
    )


def _phases(
    stages: Sequence[_Stage], steps: int | None, sequence_length: int | None, batch: int | None
) -> Iterator[DeclaredPhase]:
    if stages[0].first_step:
        refuse(stages[0].place, "no stage begins at training step 1", code="stages-out-of-order")
    starts = [stage.first_step for stage in stages]
    for stage, end in zip(stages, [*starts[1:], steps], strict=True):
        if end is not None and end <= stage.first_step:
            message = f"stage {quote(stage.name)} begins at step {stage.first_step + 1:,} and ends before {end + 1:,}"
            refuse(
                stage.place, message, code="stages-out-of-order", hint="each stage needs its own start_training_step"
            )
        yield DeclaredPhase(
            stage.weights,
            stage.place,
            name=stage.name,
            epochs=stage.epochs,
            steps=None if end is None else end - stage.first_step,
            sequence_length=stage.sequence_length or sequence_length,
            batch_sequences=batch,
        )


def _read_tokens(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    names = ("sequence_length", "train_steps", "micro_batch_size", "batch_accumulation_per_replica")
    fields = some_fields(node, dict.fromkeys(names, _COUNT), left_out)
    if ("micro_batch_size" in fields) != ("batch_accumulation_per_replica" in fields):
        hint = "give both micro_batch_size and batch_accumulation_per_replica"
        refuse(node.place, "the batch is incomplete", code="missing-key", hint=hint)
    return fields


def _read_stage(node: Node, *, left_out: LeftOut) -> _Stage:
    readers: dict[str, Reader] = {
        "name": read_text,
        "start_training_step": _COUNT,
        "sequence_length": optional(_COUNT),
        "data": partial(_read_data, left_out=left_out),
    }
    fields = read_fields(node, readers, required=("name", "start_training_step", "data"))
    data = fields["data"]
    return _Stage(
        name=fields["name"],
        first_step=fields["start_training_step"] - 1,
        weights=data["dataset"][0],
        epochs=data["dataset"][1],
        place=node.place,
        sequence_length=fields.get("sequence_length"),
        seed=data.get("seed"),
        tokenizer=data["dataset"][2],
    )


def _read_data(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    readers: dict[str, Reader] = {
        "dataset": partial(_read_dataset, left_out=left_out),
        "seed": optional(whole),
        **left_out.keys("num_loading_workers"),
    }
    return read_fields(node, readers, required=("dataset",))


def _read_dataset(node: Node, *, left_out: LeftOut) -> tuple[dict[str, Fraction], dict[str, Fraction], str | None]:
    """Weights by folder, how often folders are read whole where there are no weights, and the tokenizer."""
    if is_null(node):
        refuse(node.place, "the stage has no dataset", code="missing-key", hint="dataset_folder, dataset_weights")
    if has_key(node, _TEXT):
        return _read_text_datasets(node, left_out)
    readers: dict[str, Reader] = {
        "dataset_folder": _read_folders,
        "dataset_weights": optional(partial(items, read=number)),
        "tokenizer_name": optional(read_text),
        **left_out.keys("vocab_size", "token_size_in_bytes", "dataset_max_tokens", "dataset_read_path"),
        **left_out.keys("pad_samples_to_global_batch_size", "return_positions", "use_old_brrr_dataloader"),
        **left_out.keys("shuffle_files", "skip_in_stream"),
    }
    fields = read_fields(node, readers, required=("dataset_folder",))
    if isinstance(fields["dataset_folder"], dict):
        return fields["dataset_folder"], {}, fields.get("tokenizer_name")
    folders: list[str] = fields["dataset_folder"]
    weights: list[Fraction] | None = fields.get("dataset_weights")
    if weights is not None and len(weights) != len(folders):
        message = f"{len(folders):,} folders and {len(weights):,} weights"
        refuse(node.place, message, code="weights-missing", hint="give each folder a weight, or none")
    if len(set(folders)) < len(folders):
        twice = next(folder for i, folder in enumerate(folders) if folder in folders[:i])
        refuse(
            node.place,
            f"the folder {quote(twice)} is listed twice",
            code="duplicate-source",
            hint="remove one of the two",
        )
    if weights is None and len(folders) > 1:
        return {}, dict.fromkeys(folders, Fraction(1)), fields.get("tokenizer_name")
    return dict(zip(folders, weights or [Fraction(1)], strict=True)), {}, fields.get("tokenizer_name")


def _read_text_datasets(node: Node, left_out: LeftOut) -> tuple[dict[str, Fraction], dict[str, Fraction], None]:
    """Datasets that nanotron tokenizes itself: one, or what fraction of the examples of each is read."""
    readers: dict[str, Reader] = {
        _TEXT: lambda own: entries(own, number) if isinstance(own, MappingNode) else read_text(own),
        **left_out.keys("hf_dataset_splits", "hf_dataset_config_name", "text_column_name", "sft_dataloader"),
        **left_out.keys("dataset_processing_num_proc_per_process", "dataset_overwrite_cache", "debug_max_samples"),
    }
    datasets: dict[str, Fraction] | str = read_fields(node, readers, required=(_TEXT,))[_TEXT]
    return ({datasets: Fraction(1)}, {}, None) if isinstance(datasets, str) else ({}, datasets, None)


def _read_folders(node: Node) -> list[str] | dict[str, Fraction]:
    """Folders, or, as older versions have it, their weights by folder."""
    if isinstance(node, MappingNode):
        return entries(node, number)
    return items(node, read_text) if isinstance(node, SequenceNode) else [read_text(node)]


FORMAT = MixtureFormat(
    name="nanotron",
    title="nanotron: data_stages by start_training_step",
    units=(WeightUnit.SEQUENCES,),
    holds=HOLDS,
    draws="nanotron builds an index of the whole stage in which each dataset has its share, rounded to sequences.",
    version="nanotron 2411b02",
    write=write,
    read=read,
    continues=True,
)
