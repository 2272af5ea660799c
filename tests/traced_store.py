"""A store whose documents have attributes and whose domains have labels, and runs of it of every kind, to be traced."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store
from mixture.lock import Lock
from mixture.lock.lock import Mask
from mixture.schedule import Domain, Rows, Schedule, ScheduleData

LICENCES = ["MIT", "Apache-2.0", "CC-BY-4.0", None]
SOURCES = ["gh", "cc", "arx"]
LABELS = {
    "code": {"kind": "source", "quality": 4},
    "held": {"kind": "text", "quality": 1},
    "web": {"kind": "text", "quality": 2},
}


def traced_store(folder: Path, documents: dict[str, int], *, most_words: int = 40, seed: int = 0) -> Store:
    """So many documents by domain; ids are DOMAIN/NUMBER, and `code/0` is a document of `web`, too."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    lines = []
    for name, count in documents.items():
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for i in range(count):
                words = " ".join(f"{name}{i}.{w}" for w in range(rng.randrange(1, most_words)))
                identity = "code/0" if (name, i) == ("web", 0) else f"{name}/{i}"
                row = {"id": identity, "text": words, "license": rng.choice(LICENCES), "source": rng.choice(SOURCES)}
                file.write(json.dumps(row) + "\n")
        columns = f"text: text, id: id, attributes: [license, source], labels: {json.dumps(LABELS[name])}"
        lines.append(f"  {name}: {{files: [{name}.jsonl], {columns}}}\n")
    (folder / "sources.yaml").write_text("domains:\n" + "".join(lines), encoding="utf-8")
    ingest(folder / "sources.yaml", folder / "store", processes=1)
    return open_store(folder / "store")


def lock_of(plain: Lock, data: ScheduleData, *masks: Mask) -> Lock:
    """The lock of another run over the domains of `plain`, in the same order."""
    tokens = {domain.name: domain.tokens for domain in plain.data.domains}
    domains = tuple(Domain(domain.name, tokens[domain.name], domain.pool_tokens) for domain in data.domains)
    data = replace(data, domains=domains)
    return replace(plain, data=data, _schedule=Schedule(data), masks=masks)


Places = dict[tuple[str, int], list[tuple[int, int, int]]]
"""By domain and first token of a document: (position, from, to) of all that is read of it, in order."""


def places_of(schedule: Schedule, store: Store, rows: Rows) -> Places:
    """Where each document is read by these rows, worked out row by row from the store's table."""
    found: Places = {}
    starts = {name: store.documents(name, 0, domain.tokens) for name, domain in store.domains.items() if domain.tokens}
    firsts = {name: table["first_token"].to_numpy() for name, table in starts.items()}
    lasts = {name: firsts[name] + table["tokens"].to_numpy() for name, table in starts.items()}
    columns = (rows.position, rows.domain, rows.first_token, rows.tokens)
    for position, d, first, tokens in zip(*(column.tolist() for column in columns), strict=True):
        name = schedule.names[d]
        held = np.flatnonzero((firsts[name] < first + tokens) & (lasts[name] > first))
        for start, last in zip(firsts[name][held].tolist(), lasts[name][held].tolist(), strict=True):
            part = (position, max(first, start) - start, min(first + tokens, last) - start)
            found.setdefault((name, start), []).append(part)
    return found
