"""What `pip install mixture-lock` alone can do: plan, lock, ingest text as bytes, and stream it into a trainer.

Run by the Python of an environment that has nothing else. `make lowest` makes one.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

import mixture

LEFT_OUT = ("datasets", "fastapi", "obstore", "sklearn", "sqlalchemy", "tokenizers", "torch", "uvicorn")
SPEC = """\
mixture: smallest
catalog: store
tokenizer: bytes
sequence_length: 64
batch: 4 sequences
budget: 20 steps
phases: [{phase: all, weights: {web: 75%, code: 25%}}]
"""


def main() -> None:
    assert [name for name in LEFT_OUT if importlib.util.find_spec(name)] == []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for domain in ("web", "code"):
            (folder / f"{domain}.txt").write_text(f"some {domain} " * 2_000, encoding="utf-8")
        sources = "domains: {web: {files: [web.txt]}, code: {files: [code.txt]}}\n"
        (folder / "sources.yaml").write_text(sources, encoding="utf-8")
        (folder / "mixture.yaml").write_text(SPEC, encoding="utf-8")
        mixture.ingest(folder / "sources.yaml", folder / "store")
        plan = mixture.make_plan(mixture.read_spec(folder / "mixture.yaml"))
        mixture.write_lock(mixture.make_lock(plan), folder / "mixture.lock.json")
        with mixture.open_stream(folder / "mixture.lock.json", folder / "store") as stream:
            batches = list(stream)
    assert len(batches) == 20
    assert sum(int(np.bincount(batch.domain, minlength=2)[1]) for batch in batches) == 60
    print("the smallest installation plans, locks, ingests and streams")


if __name__ == "__main__":
    main()
