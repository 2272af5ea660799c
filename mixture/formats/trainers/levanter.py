"""Levanter's data config: `components` and `train_weights`, one set of weights or a list of them by first step.

Keys: levanter.data.text.LmDataConfig and TrainerConfig (marin-community/marin, lib/levanter).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import gcd, isqrt
from typing import Any, Generic, TypeVar

from mixture.errors import Place, nearest
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Bodies, Body, Holds, MixtureFormat, Remark, WeightUnit
from mixture.formats.merging import file_reader
from mixture.formats.reading import (
    LeftOut,
    Node,
    Reader,
    entries,
    has_key,
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
from mixture.formats.stages import Run
from mixture.formats.yaml_text import Number, yaml_text
from mixture.schedule import WHOLE
from mixture.units import quote
from mixture.wording import names_of

LARGEST_BLOCK = (1 << 16) - 1
"""Sequences of a mixture block: Levanter numbers them in 16 bits."""

T = TypeVar("T")

_OTHER_KEYS = (
    "vocab_size", "cache_dir", "cache_options", "enforce_eos", "auto_build_caches", "chat_template", "shuffle",
    "permutation_type", "block_cross_document_attention", "stop_strategy", "target_budget", "experiment_budget",
    "simulated_epoch_subset_seed", "mixture_block_size", "max_train_batches", "num_validation_sequences",
    "shuffle_before_trainval_split", "configs",
)  # fmt: skip

HOLDS = frozenset({Holds.PHASES, Holds.BATCHES})
_LENGTHS = ("max_seq_len", "seq_len")
"""What a model calls its sequence length, which counts where `train_seq_len` is not set; later and earlier versions."""
_LENGTH = partial(whole, least=1)


def write(run: Run) -> Bodies:
    """A `data` section for each sequence length, with what `trainer` needs to know beside it."""
    files: list[Body] = []
    remarks: list[Remark] = []
    for piece, part in run.groups(HOLDS):
        block = block_size(piece)
        files.append(Body(part, "yaml", yaml_text(_config(piece, block)), piece.about))
        remarks += _lost(piece, block)
    return Bodies(tuple(files), tuple(remarks))


def block_size(run: Run) -> int:
    """The largest mixture block, in sequences, at whose multiples all weights of a run change."""
    boundary, common = 0, 0
    for stage in run.stages[:-1]:
        boundary += stage.steps * stage.batch_sequences
        common = gcd(common, boundary)
    if common <= LARGEST_BLOCK:
        return common or LARGEST_BLOCK
    divisors = {d for n in range(1, min(isqrt(common), LARGEST_BLOCK) + 1) if not common % n for d in (n, common // n)}
    return max(d for d in divisors if d <= LARGEST_BLOCK)


def _config(run: Run, block: int) -> dict[str, object]:
    names = [domain.name for domain in run.domains]
    batches = _changes([(stage.first_step, stage.batch_sequences) for stage in run.stages])
    weights = _changes([(stage.first_step, stage.texts) for stage in run.stages])
    data: dict[str, object] = {} if run.lock.tokenizer is None else {"tokenizer": run.lock.tokenizer}
    data |= {
        "components": {name: {"cache_dir": path} for name, path in zip(names, run.paths, strict=True)},
        "train_weights": [
            [first, {name: Number(text) for name, text in zip(names, texts, strict=True)}] for first, texts in weights
        ],
        "stop_strategy": "restart",
        "mixture_block_size": block,
    }
    sizes = [{"start": first, "value": size} for first, size in batches]
    trainer = {"train_batch_size": batches[0][1] if len(sizes) == 1 else sizes, "num_train_steps": run.steps}
    return {"data": data, "trainer": trainer, "train_seq_len": run.stages[0].sequence_length}


def _changes(values: list[tuple[int, T]]) -> list[tuple[int, T]]:
    """Those that differ from the one before."""
    return [value for i, value in enumerate(values) if not i or value[1] != values[i - 1][1]]


def _lost(run: Run, block: int) -> list[Remark]:
    """Domains with less than a sequence in a block, which are never drawn."""
    remarks = []
    for stage in run.stages:
        never = [run.domains[d].name for d, weight in enumerate(stage.weights) if 0 < weight * block < WHOLE]
        if never:
            remarks.append(
                Remark(
                    "domains-vanish",
                    f"in phase {stage.name}, {names_of(never, quote)} would have less than one sequence in a block of"
                    f" {block:,}: Levanter draws nothing from them",
                )
            )
    return remarks


@dataclass(frozen=True, slots=True)
class _From(Generic[T]):
    """What holds from a step on."""

    first_step: int
    value: T
    place: Place


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """A config of a run, or its `data` section alone; of several files, each is a stretch of its own."""
    root, left_out = root_of(source), LeftOut()
    data_of = partial(_read_data, left_out=left_out)
    config: dict[str, Any] = {"data": data_of(root)} if not has_key(root, "data") else {}
    if not config:
        trainer_of = partial(_read_trainer, left_out=left_out)
        readers: dict[str, Reader] = {
            "data": data_of,
            "trainer": optional(trainer_of),
            "train_seq_len": optional(_LENGTH),
            "model": optional(partial(some_fields, readers=dict.fromkeys(_LENGTHS, _LENGTH), left_out=left_out)),
            "data_seed": optional(whole),
        }
        config = some_fields(root, readers, left_out)
    data, trainer = config["data"], config.get("trainer") or {}
    model: dict[str, int] = config.get("model") or {}
    length = config.get("train_seq_len") or next((model[key] for key in _LENGTHS if key in model), None)
    seed = config.get("data_seed")
    batches: list[_From[int]] = trainer.get("train_batch_size", [])
    return Declared(
        phases=tuple(_phases(data["train_weights"], batches, trainer.get("num_train_steps"), length)),
        keyed_by=KeyedBy.DOMAIN,
        unit=unit,
        tokenizer=data.get("tokenizer"),
        seed=trainer.get("seed") if seed is None else seed,
        remarks=left_out.remarks(),
    )


def _read_data(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    readers: dict[str, Reader] = {
        "tokenizer": read_text,
        "components": partial(_read_components, left_out=left_out),
        "train_weights": optional(_read_weights),
        **left_out.keys(*_OTHER_KEYS),
    }
    data = read_fields(node, readers, required=() if has_key(node, "components") else ("train_weights",))
    if data.get("train_weights") is None:
        if "components" not in data:
            refuse(node.place, "the key 'train_weights' is missing", code="missing-key")
        # Levanter gives each component the same weight, whatever its size.
        data["train_weights"] = [_From(0, dict.fromkeys(data["components"], Fraction(1)), node.place)]
    elif "components" in data:
        _check_components(data["train_weights"], data["components"])
    return data


def _read_components(node: Node, *, left_out: LeftOut) -> dict[str, None]:
    """Their names; where their text lies is the store's to know."""
    left_out.note(node)
    return entries(node, lambda _: None)


def _check_components(weights: Sequence[_From[dict[str, Fraction]]], components: Mapping[str, object]) -> None:
    for part in weights:
        for name in part.value:
            if name not in components:
                hint = nearest(name, components) or "expected a name of `components`"
                refuse(part.place, f"{quote(name)} is not a component", code="unknown-component", hint=hint)


def _read_weights(node: Node) -> list[_From[dict[str, Fraction]]]:
    """One set of weights for the whole run, or a list of [first step, weights]."""
    if not isinstance(node, SequenceNode):
        return [_From(0, entries(node, number), node.place)]
    return _in_order(items(node, _read_stage))


def _read_stage(node: Node) -> _From[dict[str, Fraction]]:
    if not isinstance(node, SequenceNode) or len(node.items) != 2:
        refuse(node.place, "expected a step and its weights", code="not-a-stage", hint="[0, {web: 0.7, code: 0.3}]")
    return _From(whole(node.items[0]), entries(node.items[1], number), node.place)


def _read_trainer(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    readers: dict[str, Reader] = {
        "train_batch_size": _read_batches,
        "num_train_steps": partial(whole, least=1),
        "seed": optional(whole),
    }
    return some_fields(node, readers, left_out)


def _read_batches(node: Node) -> list[_From[int]]:
    if not isinstance(node, SequenceNode):
        return [_From(0, whole(node, least=1), node.place)]
    return _in_order(items(node, _read_batch))


def _read_batch(node: Node) -> _From[int]:
    fields = read_fields(node, {"start": whole, "value": partial(whole, least=1)}, required=("start", "value"))
    return _From(fields["start"], fields["value"], node.place)


def _in_order(parts: list[_From[T]]) -> list[_From[T]]:
    """They begin at step 0, each after the one before."""
    for part, before in zip(parts, [None, *parts], strict=False):
        if (before is None and part.first_step) or (before is not None and part.first_step <= before.first_step):
            hint = (
                "the first must begin at step 0" if before is None else f"must begin after step {before.first_step:,}"
            )
            refuse(part.place, f"a stage begins at step {part.first_step:,}", code="stages-out-of-order", hint=hint)
    return parts


def _phases(
    weights: Sequence[_From[dict[str, Fraction]]],
    batches: Sequence[_From[int]],
    steps: int | None,
    sequence_length: int | None,
) -> Iterator[DeclaredPhase]:
    """A phase for each change of weights or of the batch."""
    starts = sorted({part.first_step for held in (weights, batches) for part in held})
    starts = [step for step in starts if steps is None or step < steps]
    for first, end in zip(starts, [*starts[1:], steps], strict=True):
        part = next(weight for weight in reversed(weights) if weight.first_step <= first)
        batch = next((one.value for one in reversed(batches) if one.first_step <= first), None)
        yield DeclaredPhase(
            weights=part.value,
            place=part.place,
            steps=None if end is None else end - first,
            sequence_length=sequence_length,
            batch_sequences=batch,
        )


FORMAT = MixtureFormat(
    name="levanter",
    title="Levanter: components and train_weights by step",
    units=(WeightUnit.SEQUENCES,),
    holds=HOLDS,
    draws="Levanter gives each domain its whole sequences of every block of mixture_block_size, rounded down, and what"
    " is left over to the largest.",
    version="marin-levanter 0.2.227.dev40316220070 (`components`; earlier versions call them `configs`)",
    write=write,
    read=file_reader(_read),
    continues=True,
)
