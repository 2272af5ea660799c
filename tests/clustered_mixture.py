"""A mixture of real text in a few clusters by levels of quality, made as users make one: cluster, ingest, lock."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest
from made_once import made_once

from mixture.clusters import ClusterOptions, cluster
from mixture.data.ingest import ingest
from mixture.data.store import open_store
from mixture.lock import write_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

PACKAGES = ("asyncio", "email", "encodings", "unittest", "tkinter", "xml")
CLUSTERS, LEVELS = 4, 3
NAME = "clustered"
SPEC = """\
# Modules of Python's library, clustered.
mixture: clustered
catalog: store
tokenizer: bytes
sequence_length: 64
batch: 8 sequences
budget: 2000 steps
max_epochs: 2
accept: [over-epochs, draws-nothing]
phases:
  - {phase: first, share: 80%, weights: proportional}
  - {phase: second, weights: uniform}
"""


def clustered_mixture(factory: pytest.TempPathFactory) -> Path:
    """A folder with spec, lock, and the store below; every document has a source, a licence and an address.

    It is one for all tests, which only read it.
    """
    return made_once(factory, NAME, _make)[0]


def _make(folder: Path) -> None:
    text = folder / "text"
    text.mkdir()
    library = Path(sysconfig.get_path("stdlib"))
    domains = {}
    for package in PACKAGES:
        rows = [
            {
                "id": f"{package}/{path.name}",
                "text": path.read_text(encoding="utf-8"),
                "license": "PSF-2.0",
                "url": f"https://github.com/python/cpython/blob/main/Lib/{package}/{path.name}",
            }
            for path in sorted((library / package).glob("*.py"))
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (text / f"{package}.jsonl").write_text(lines, encoding="utf-8")
        domains[package] = {
            "files": [f"{package}.jsonl"], "text": "text", "id": "id", "attributes": ["license", "url"],
        }  # fmt: skip
    (text / "sources.yaml").write_text(json.dumps({"domains": domains}), encoding="utf-8")
    cluster(text / "sources.yaml", folder / "clusters", ClusterOptions(k=CLUSTERS, quality=LEVELS))
    ingest(folder / "clusters" / "sources.yaml", folder / "store")
    (folder / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    spec = read_spec(folder / "mixture.yaml")
    store = open_store(folder / "store")
    content = {domain.name: domain.content for domain in store.domains.values()}
    write_lock(make_lock(make_plan(spec), content=content), folder / "mixture.lock.json")
