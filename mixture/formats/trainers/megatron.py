"""Megatron-LM's blends: a list of weights and paths for each phase, the same as per-split JSON, and the arguments.

Arguments: --data-args-path, --per-split-data-args-path, --phase-transition-iterations with a fixed global batch and
--train-samples (NVIDIA/Megatron-LM). A phase ends where training stops itself; the next line of arguments starts it
again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from mixture.errors import FormatError
from mixture.formats.declared import Declared, SourceFile
from mixture.formats.format import Bodies, Body, Holds, MixtureFormat, Remark, WeightUnit
from mixture.formats.merging import merged
from mixture.formats.stages import Run, Stage
from mixture.formats.trainers.megatron_args import lacks_blend, read_arguments
from mixture.formats.trainers.megatron_lists import read_blend, read_per_split
from mixture.units import quote

HOLDS = frozenset(Holds)
_OPTION = re.compile(r"(?:^|[\s(=\"'])--[A-Za-z]")
"""What a command line has, and a list has not."""


def write(run: Run) -> Bodies:
    """`args.txt`, a line of arguments for each start, and for each the blend as a list and as per-split JSON."""
    files: list[Body] = []
    lines: list[str] = []
    for piece, part in run.groups(frozenset()):
        stage, name = piece.stages[0], part or "data"
        blend = [text for _, path, weight in piece.drawn(stage) for text in (weight, path)]
        _check(blend)
        pairs = zip(blend[::2], blend[1::2], strict=True)
        listed = "".join(f"{weight} {path}\n" for weight, path in pairs)
        splits = {"train": blend, "valid": None, "test": None}
        files += [
            Body(name, "txt", listed, stage.about, comments=False),
            Body(name, "json", json.dumps(splits, indent=2, ensure_ascii=False) + "\n", stage.about, comments=False),
        ]
    for stage, body in zip(run.stages, files[::2], strict=True):
        lines.append(" ".join(_arguments(run, stage, f"{run.stem}.megatron.{body.part}.txt")))
    about = f"A line for each start.\n{run.about}"
    return Bodies((Body("args", "txt", "\n".join(lines) + "\n", about), *files), tuple(_lost(run)))


def _arguments(run: Run, stage: Stage, blend: str) -> list[str]:
    ends = ",".join(str(one.end_step) for one in run.stages[:-1])
    # Megatron compares transitions with --train-samples, which is not set where --train-iters is.
    samples = ("--train-samples", str(run.steps * stage.batch_sequences), "--phase-transition-iterations", ends)
    return [
        *("--data-args-path", blend),
        *("--seq-length", str(stage.sequence_length)),
        *("--global-batch-size", str(stage.batch_sequences)),
        *(samples if ends else ("--train-iters", str(run.steps))),
    ]


def _check(blend: Sequence[str]) -> None:
    for path in blend[1::2]:
        if any(character.isspace() for character in path):
            raise FormatError(
                f"the path {quote(path)} has a space, which separates the entries of Megatron's lists",
                code="path-with-space",
                hint="use a --path-template that makes paths without spaces",
                path=path,
            )


def _lost(run: Run) -> list[Remark]:
    remarks = [Remark("splits-empty", "the per-split files have null for validation and test: fill in their text")]
    if len({(stage.batch_sequences, stage.sequence_length) for stage in run.stages}) > 1:
        message = (
            "Megatron counts the samples of a phase by one global batch and sequence length: where they change, start a"
            " new run from the checkpoint instead of a transition"
        )
        remarks.append(Remark("batch-must-stay", message))
    return remarks


def read(files: Sequence[SourceFile], unit: WeightUnit) -> Declared:
    """A list of weights and paths, per-split JSON, or arguments that name or hold them, a line for each start.

    Where a script takes its list from a command, the list is the file after it.
    """
    parts: list[Declared] = []
    scripts: list[SourceFile] = []
    for source in files:
        is_json = source.text.lstrip().startswith("{")
        if not is_json and _OPTION.search(source.text):
            if lacks_blend(source):
                scripts.append(source)
            else:
                parts.append(read_arguments(source, unit))
            continue
        listed = read_per_split(source, unit) if is_json else read_blend(source, unit)
        parts.append(read_arguments(scripts.pop(), unit, listed) if scripts else listed)
    parts += [read_arguments(source, unit) for source in scripts]
    return merged(parts)


FORMAT = MixtureFormat(
    name="megatron",
    title="Megatron-LM: data-args lists, per-split JSON, phase-transition-iterations",
    units=(WeightUnit.SEQUENCES,),
    holds=HOLDS,
    draws="Megatron takes the dataset that is farthest behind its weight, always in the same order: within a sequence"
    " of the share.",
    version="Megatron-LM d98e8a6, megatron-core 0.16.1",
    write=write,
    read=read,
)
