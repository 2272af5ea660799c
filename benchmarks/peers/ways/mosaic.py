"""MosaicML Streaming: MDS shards at hand, streams with proportions, its default shuffle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.text import Text

SEED = 9176


def declare_operators() -> object:
    """The library imports torchvision for its sets of images; a build of that for accelerators has no operators on a
    plain torch, and will not be imported where these two are not declared. Nothing here calls them."""
    operators = import_module("torch.library").Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return operators


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    declared = declare_operators()
    from streaming import MDSWriter, Stream, StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    folders = [text.folder / "peers" / "mosaic" / str(number) for number in range(len(text.rows))]
    for folder, rows in zip(folders, text.of_domains(), strict=True):
        if not (folder / "index.json").exists():
            with MDSWriter(out=str(folder), columns={"input_ids": f"ndarray:uint32:{text.length}"}) as writer:
                for row in rows:
                    writer.write({"input_ids": row})

    def loaded(workers: int, rows: int, first_row: int) -> Iterator[Any]:
        assert declared is not None
        clean_stale_shared_memory()  # of the round before: one process may not open the same folder twice
        streams = [
            Stream(local=str(folder), proportion=share) for folder, share in zip(folders, text.shares, strict=True)
        ]
        dataset = StreamingDataset(
            streams=streams, epoch_size=text.num_rows, batch_size=rows, shuffle=True, shuffle_seed=SEED
        )
        if first_row:
            place = {"epoch": 0, "sample_in_epoch": first_row, "shuffle_seed": SEED}
            dataset.load_state_dict(place | {"num_canonical_nodes": 1, "initial_physical_nodes": 1})
        yield from StreamingDataLoader(dataset, batch_size=rows, num_workers=workers)

    return {f"DataLoader, {workers} workers": partial(loaded, workers) for workers in (0, 1, 2)}


if __name__ == "__main__":
    answer(ways, packages=("mosaicml-streaming", "torch"))
