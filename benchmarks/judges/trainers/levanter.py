"""Levanter: its mixture of datasets over the weights by step, with its own counting of steps as sequences."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import yaml  # type: ignore[import-untyped]
from levanter.data.dataset import ListAsyncDataset  # type: ignore[import-not-found]
from levanter.data.mixture import (  # type: ignore[import-not-found]
    MixtureDataset,
    rescale_mixture_schedule_for_batch_schedule,
)
from levanter.schedule import BatchSchedule  # type: ignore[import-not-found]

from benchmarks.judges.told import PHASES, Drawn, tell

NUM_EXAMPLES = 1_000
"""Of each dataset, which begins again after them."""


def judge(folder: Path) -> Drawn:
    """All sequences of the run, by phase. Its config class needs a later Python than its datasets."""
    drawn: Drawn = {}
    for path in sorted((folder / "for-levanter").glob("*.yaml")):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        data, trainer = config["data"], config["trainer"]
        weights = [(first, stage) for first, stage in data["train_weights"]]
        batches = BatchSchedule(trainer["train_batch_size"])
        mixture = MixtureDataset(
            {name: ListAsyncDataset([name] * NUM_EXAMPLES) for name in data["components"]},
            rescale_mixture_schedule_for_batch_schedule(weights, batches),
            data["mixture_block_size"],
            key=0,
            stop_strategy=data["stop_strategy"],
        )
        first = 0
        for phase, size in PHASES.items():
            names = asyncio.run(mixture.get_batch(range(first, first + size)))
            drawn[f"{path.name}:-{phase}."] = dict(sorted(Counter(names).items()))
            first += size
        assert first == trainer["num_train_steps"] * trainer["train_batch_size"]
    return drawn


if __name__ == "__main__":
    tell(judge, "marin-levanter")
