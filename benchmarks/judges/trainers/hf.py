"""Hugging Face datasets: `interleave_datasets` with the arguments of every phase, over rows of one length."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from datasets import Dataset, interleave_datasets

from benchmarks.judges.told import PHASES, Drawn, tell


def judge(folder: Path) -> Drawn:
    """As many rows as the phase has."""
    drawn: Drawn = {}
    for phase, size in PHASES.items():
        (path,) = (folder / "for-hf").glob(f"*-{phase}.json")
        arguments = json.loads(path.read_text(encoding="utf-8"))
        rows = [Dataset.from_dict({"name": [name] * size}) for name in arguments.pop("datasets")]
        mixed = interleave_datasets(rows, **arguments)
        drawn[path.name] = dict(sorted(Counter(mixed["name"][:size]).items()))
    return drawn


if __name__ == "__main__":
    tell(judge, "datasets")
