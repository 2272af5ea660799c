"""OLMo-core: each stage's source mixture and the dataset over it, whose every instance is read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import yaml  # type: ignore[import-untyped]
from olmo_core.data import NumpyFSLDatasetConfig, TokenizerConfig  # type: ignore[import-not-found]
from olmo_core.data.source_mixture import SourceMixtureDatasetConfig, SourceMixtureList  # type: ignore[import-not-found]

from benchmarks.judges.told import END, Drawn, counted, tell

BESIDE = re.compile(r"requested_tokens=(\d+), global_batch_size=(\d+), sequence_length=(\d+) and seed=(\d+)")


def judge(folder: Path) -> Drawn:
    """The raw files of `export-store --format npy`, in the ratios of every stage."""
    os.chdir(folder)
    drawn: Drawn = {}
    for path in sorted((folder / "for-olmo").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        beside = BESIDE.search(text)
        assert beside is not None
        tokens, batch, length, seed = map(int, beside.groups())
        mixture = SourceMixtureDatasetConfig(
            source_list=SourceMixtureList.from_dict(yaml.safe_load(text)),
            requested_tokens=tokens, global_batch_size=batch, seed=seed, render_tables=False,
        )  # fmt: skip
        dataset = NumpyFSLDatasetConfig.from_src_mix(
            mixture, sequence_length=length, work_dir=str(folder / "olmo-work"),
            tokenizer=TokenizerConfig(vocab_size=END + 1, eos_token_id=END, pad_token_id=END),
        ).build()  # fmt: skip
        dataset.prepare()
        drawn[path.name] = counted(dataset[i]["input_ids"] for i in range(len(dataset)))
    return drawn


if __name__ == "__main__":
    tell(judge, "ai2-olmo-core")
