"""MosaicML Streaming: each file's dataset, with the keys that its YAML has, read for an epoch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.judges.told import Drawn, counted, tell
from benchmarks.peers.ways.mosaic import declare_operators


def judge(folder: Path) -> Drawn:
    """Proportions and choices, of every phase."""
    declared = declare_operators()
    import yaml  # type: ignore[import-untyped]
    from streaming import MDSWriter, Stream, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    os.chdir(folder)
    drawn: Drawn = {}
    for path in sorted((folder / "for-mosaic").glob("*.yaml")):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        asked = config["train_loader"]["dataset"]
        length, batch = asked.pop("max_seq_len"), config["global_train_batch_size"]
        for stream in asked["streams"].values():
            local = Path(stream["local"])
            if not local.exists():
                tokens = np.fromfile(folder / "npy" / f"{local.name}.npy", np.uint16)
                with MDSWriter(out=str(local), columns={"tokens": f"ndarray:uint16:{length}"}) as writer:
                    for row in tokens[: len(tokens) // length * length].reshape(-1, length):
                        writer.write({"tokens": row})
        streams = [Stream(**keys) for keys in asked.pop("streams").values()]
        clean_stale_shared_memory()
        dataset = StreamingDataset(streams=streams, batch_size=batch, **asked)
        drawn[path.name] = counted(sample["tokens"] for sample in dataset)
    assert declared is not None
    return drawn


if __name__ == "__main__":
    tell(judge, "mosaicml-streaming", "torch")
