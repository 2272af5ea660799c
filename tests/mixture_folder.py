"""A folder that is a mixture: its spec, its tables, and the lock that they give."""

from __future__ import annotations

from pathlib import Path

from mixture.lock import Lock, write_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec


def write_mixture(folder: Path, spec: str, **tables: str) -> Lock:
    """Write mixture.yaml, NAME.csv for each table, and mixture.lock.json; give the lock."""
    folder.mkdir(parents=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "mixture.yaml").write_text(spec, encoding="utf-8")
    lock = make_lock(make_plan(read_spec(folder / "mixture.yaml")))
    write_lock(lock, folder / "mixture.lock.json")
    return lock
