"""datatrove's dataset over a folder of .ds files, which nanotron builds for each `dataset_folder`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from datatrove.utils.dataset import DatatroveFolderDataset  # type: ignore[import-not-found]

from benchmarks.judges.told import Drawn, counted, tell

LENGTH = 63
"""datatrove takes one token more a sample, for the labels."""


def judge(folder: Path) -> Drawn:
    """All samples of each domain, and that positions begin at 0 where the index ends a document."""
    os.chdir(folder / "datatrove")
    drawn: Drawn = {}
    for path in sorted((folder / "datatrove").iterdir()):
        if path.is_dir():
            dataset = DatatroveFolderDataset(
                str(path), LENGTH, filename_pattern="*.ds", token_size=2, return_positions=True, shuffle=False
            )
            rows = [dataset[i] for i in range(len(dataset))]
            tokens = np.concatenate([row["input_ids"] for row in rows])
            assert np.array_equal(tokens, np.fromfile(folder / "npy" / f"{path.name}.npy", np.uint16)[: len(tokens)])
            begins = np.flatnonzero(np.concatenate([row["positions"] for row in rows]) == 0)
            assert set(range(0, len(tokens), 1000)) <= set(begins.tolist())
            drawn[path.name] = counted(row["input_ids"] for row in rows)
    return drawn


if __name__ == "__main__":
    tell(judge, "datatrove")
