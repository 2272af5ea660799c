"""The mixture that is judged: a small store whose every token says its domain, and its exports beside the files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mixture.data.derived import ExportFormat, export_store
from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store
from mixture.formats import FORMATS, WeightUnit, export_mixture
from mixture.formats.stages import stages_of
from mixture.lock import Lock
from mixture.planning.catalog import read_catalog
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

DOCUMENT = 1_000
"""Tokens of every document, with the one that ends it."""
DOCUMENTS = {"books": 20, "code": 100, "rare": 5, "web": 400}
SEQUENCE_LENGTH, BATCH = 64, 4
SPEC = """\
mixture: judged
catalog: store
seed: 7
sequence_length: 64
batch: 4 sequences
budget: 1000 steps
max_epochs: 2
phases:
  - {phase: early, steps: 800 steps, weights: {web: 60%, code: 38.9%, rare: 1.1%}}
  - {phase: late, weights: {web: 20%, code: 30%, books: 50%}}
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one trainer is given: a format, whose paths these are, in this unit."""

    format: str
    template: str
    unit: WeightUnit | None = None


ASKED = {
    "megatron": Asked("megatron", "megatron/{file}"),
    "mosaic": Asked("mosaic", "mds/{file}"),
    "energon": Asked("energon", "../webdataset/{file}", WeightUnit.SEQUENCES),
    "olmo": Asked("olmo", "npy/{file}.npy"),
    "nanotron": Asked("nanotron", "datatrove/{file}"),
    "levanter": Asked("levanter", "{domain}"),
    "hf": Asked("hf", "{domain}", WeightUnit.SEQUENCES),
    "olmix": Asked("olmix", "npy/{file}.npy"),
}
"""By trainer."""


def make_text(folder: Path) -> tuple[Store, Lock]:
    """The store and its files in every format, made once; the exports, made each time."""
    if not (folder / "store").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, documents in DOCUMENTS.items():
            text = name[0] * (DOCUMENT - 1)
            lines = "".join(json.dumps({"id": f"{i:03d}", "text": text}) + "\n" for i in range(documents))
            (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        listed = "\n".join(f"  {name}: {{files: [{name}.jsonl], id: id}}" for name in DOCUMENTS)
        (folder / "sources.yaml").write_text(f"domains:\n{listed}\n", encoding="utf-8")
        ingest(folder / "sources.yaml", folder / "store")
    store = open_store(folder / "store")
    for form in (ExportFormat.MEGATRON, ExportFormat.NPY, ExportFormat.DATATROVE):
        if not (folder / form).exists():
            export_store(store, form, folder / form)
    (folder / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    lock = make_lock(make_plan(read_spec(folder / "mixture.yaml")))
    write_exports(lock, folder)
    return store, lock


def write_exports(lock: Lock, folder: Path) -> None:
    """Every export, in a folder of the trainer's."""
    catalog = read_catalog(folder / "store")
    for trainer, asked in ASKED.items():
        (folder / f"for-{trainer}").mkdir(exist_ok=True)
        made = export_mixture(
            lock, FORMATS[asked.format], catalog=catalog, path_template=asked.template, unit=asked.unit
        )
        for name, text in made.files.items():
            (folder / f"for-{trainer}" / name).write_text(text, encoding="utf-8")


def drawn_by(lock: Lock) -> dict[str, dict[str, int]]:
    """Sequences that the lock draws, by phase and domain."""
    names = [domain.name for domain in lock.data.domains]
    return {
        stage.name: {name: count for name, count in zip(names, stage.sequences, strict=True) if count}
        for stage in stages_of(lock)
    }
