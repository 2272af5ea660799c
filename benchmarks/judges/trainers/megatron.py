"""megatron-core's builder of blended GPT datasets, over the blends and sizes that the lines of arguments say."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import SimpleNamespace

from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder  # type: ignore[import-not-found]
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig  # type: ignore[import-not-found]
from megatron.core.datasets.utils import get_blend_from_list  # type: ignore[import-not-found]

from benchmarks.judges.told import END, Drawn, counted, tell


def arguments(path: Path) -> list[Namespace]:
    """A line for each start."""
    parser = ArgumentParser()
    for name in ("--seq-length", "--global-batch-size", "--train-iters", "--train-samples"):
        parser.add_argument(name, type=int)
    parser.add_argument("--data-args-path")
    parser.add_argument("--phase-transition-iterations", type=lambda text: [int(word) for word in text.split(",")])
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [parser.parse_args(line.split()) for line in lines]


def samples(said: Namespace, consumed: int) -> int:
    """The samples of the phase that begins behind so many, as Megatron-LM's training loop counts them."""
    assert said.train_iters is None, "Megatron-LM takes --train-iters or --train-samples"
    steps = said.phase_transition_iterations
    bounds: list[int] = [0, *(step * said.global_batch_size for step in steps), said.train_samples]
    return min(bound for bound in bounds if bound > consumed) - max(bound for bound in bounds if bound <= consumed)


def judge(folder: Path) -> Drawn:
    """Both phases, of the list and of the per-split file."""
    os.chdir(folder)
    tokenizer = SimpleNamespace(eod=END, pad=END + 1, vocab_size=END + 2, unique_identifiers={"class": "bytes"})
    drawn: Drawn = {}
    consumed = 0
    for said in arguments(folder / "for-megatron" / "judged.megatron.args.txt"):
        blend = folder / "for-megatron" / said.data_args_path
        size = samples(said, consumed)
        splits = json.loads(blend.with_suffix(".json").read_text(encoding="utf-8"))
        choices = {
            blend.name: {"blend": get_blend_from_list(blend.read_text(encoding="utf-8").split()), "split": "1,0,0"},
            blend.with_suffix(".json").name: {
                "blend_per_split": [get_blend_from_list(splits[name]) for name in ("train", "valid", "test")]
            },
        }
        for name, choice in choices.items():
            config = GPTDatasetConfig(
                random_seed=1234, sequence_length=said.seq_length, tokenizer=tokenizer, create_attention_mask=False,
                reset_position_ids=False, reset_attention_mask=False, eod_mask_loss=False, **choice,
            )  # fmt: skip
            train, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [size, 0, 0], lambda: True, config).build()
            drawn[name] = counted(train[i]["tokens"] for i in range(size))
        consumed += size
    return drawn


if __name__ == "__main__":
    tell(judge, "megatron-core")
