"""Megatron-Energon: each metadataset over WebDatasets whose samples are rows, read by one worker."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import webdataset  # type: ignore[import-not-found]
import yaml  # type: ignore[import-untyped]
from megatron.energon import WorkerConfig, get_loader, get_train_dataset  # type: ignore[import-not-found]
from megatron.energon.flavors import BaseWebdatasetFactory  # type: ignore[import-not-found]

from benchmarks.judges.told import END, Drawn, counted, tell

LENGTH = 64
DATASET = {
    "sample_type": {"__module__": "megatron.energon", "__class__": "TextSample"},
    "field_map": {"text": "txt"},
}


def write_rows(folder: Path, tokens: np.ndarray) -> None:
    """A prepared dataset of whole rows; the letters of a row are its text."""
    (folder / "parts").mkdir(parents=True)
    rows = tokens[: len(tokens) // LENGTH * LENGTH].reshape(-1, LENGTH)
    with webdataset.ShardWriter(f"{folder}/parts/data-%d.tar", maxcount=10_000) as writer:
        for i, row in enumerate(rows):
            writer.write({"__key__": f"{i:06d}", "txt": bytes(row[row != END].tolist())})
    paths = [f"parts/{path.name}" for path in sorted((folder / "parts").iterdir())]
    BaseWebdatasetFactory.prepare_dataset(
        folder, paths, split_parts_ratio=[("train", 1.0)], shuffle_seed=None, workers=1
    )
    (folder / ".nv-meta" / "dataset.yaml").write_text(yaml.safe_dump(DATASET), encoding="utf-8")


def rows_of(path: Path, *, repeat: bool) -> Iterator[list[int]]:
    """The rows that one worker reads, in order."""
    worker = WorkerConfig(rank=0, world_size=1, num_workers=0)
    dataset = get_train_dataset(
        path, worker_config=worker, batch_size=1, shuffle_buffer_size=None, max_samples_per_sequence=None, repeat=repeat
    )
    return ([ord(letter) for letter in batch.text[0]] for batch in get_loader(dataset))


def judge(folder: Path) -> Drawn:
    """A pass through what is repeated; of weights, which have no end, as many rows as the phase has."""
    for path in sorted((folder / "npy").glob("*.npy")):
        if not (folder / "webdataset" / path.stem).exists():
            write_rows(folder / "webdataset" / path.stem, np.fromfile(path, np.uint16))
    drawn: Drawn = {}
    for path in sorted((folder / "for-energon").glob("*.epochized.yaml")):
        drawn[path.name] = counted(rows_of(path, repeat=False))
        blend = path.with_name(path.name.replace(".epochized", ""))
        drawn[blend.name] = counted(islice(rows_of(blend, repeat=True), sum(drawn[path.name].values())))
    return drawn


if __name__ == "__main__":
    tell(judge, "megatron-energon")
