"""Runs written in a trainer's format and read back from the files, as two people would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixture.formats import (
    FORMATS,
    Exported,
    Given,
    Holds,
    Imported,
    SourceFile,
    WeightUnit,
    export_mixture,
    import_mixture,
    read_file,
)
from mixture.lock import Lock
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.plan import Plan, make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.schedule import Segment


@dataclass(frozen=True)
class Written:
    """A locked mixture and the table of its domains."""

    lock: Lock
    catalog: Catalog


def written(folder: Path, spec: str, cells: str) -> Written:
    """A mixture of this spec, without `catalog`, and table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cells.csv").write_text(cells, encoding="utf-8")
    (folder / "mixture.yaml").write_text(f"catalog: cells.csv\n{spec}", encoding="utf-8")
    plan = make_plan(read_spec(folder / "mixture.yaml"))
    return Written(make_lock(plan), plan.catalog)


def put(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """The files, written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def readable(exported: Exported, paths: Sequence[Path]) -> list[Path]:
    """The files of an export that are to be read: of two that say the same, the one by weight."""
    if exported.format == "megatron":
        return [path for path in paths if path.name.endswith(".args.txt")]
    return [path for path in paths if not path.stem.endswith((".choose", ".epochized"))]


def given_for(name: str, made: Written, unit: WeightUnit) -> Given:
    """What the files of a format do not say, and a person has to."""
    lock, holds = made.lock, FORMATS[name].holds
    says_no_length = name in ("marin-json", "olmo", "olmix", "energon", "hf", "maxtext")
    return Given(
        catalog=made.catalog,
        unit=unit,
        sequence_length=lock.data.segments[0].sequence_length if says_no_length else None,
        batch_sequences=lock.data.batches[0].sequences if says_no_length else None,
        steps=() if Holds.PHASES in holds or name == "mosaic" else tuple(phase.steps for phase in lock.phases),
    )


def trip(name: str, made: Written, folder: Path, *, unit: WeightUnit | None = None) -> tuple[Exported, Imported, Plan]:
    """An export, its import, and the plan of that."""
    form = FORMATS[name]
    exported = export_mixture(made.lock, form, catalog=made.catalog, unit=unit)
    paths = readable(exported, put(folder / "exported", exported.files))
    given = given_for(name, made, exported.unit)
    imported = import_mixture(form, [read_file(path) for path in paths], folder / "imported", given)
    spec, *_ = put(folder / "imported", imported.files)
    return exported, imported, make_plan(read_spec(spec))


def weighed(plan: Plan | Lock) -> list[tuple[int, int, int, dict[str, int]]]:
    """Segments: first step, steps, length, and integer weights above 0 by domain."""
    return [_weighed(plan, segment) for segment in plan.data.segments]


def _weighed(plan: Plan | Lock, segment: Segment) -> tuple[int, int, int, dict[str, int]]:
    names = [domain.name for domain in plan.data.domains]
    weights = {name: weight for name, weight in zip(names, segment.weights, strict=True) if weight}
    return segment.first_step, segment.steps, segment.sequence_length, weights


def brought_in(
    name: str, text: str, folder: Path, *, variables: Mapping[str, str] | None = None, **given: object
) -> tuple[Imported, Plan]:
    """What an import makes of a text, and the plan of it."""
    file = SourceFile(folder / f"file.{'json' if text.lstrip()[:1] in '[{' else 'yaml'}", text, variables or {})
    imported = import_mixture(FORMATS[name], [file], folder, Given(**given))  # type: ignore[arg-type]
    spec, *_ = put(folder, imported.files)
    return imported, make_plan(read_spec(spec))


def catalog_of(folder: Path, text: str) -> Catalog:
    """A catalog of its own."""
    put(folder, {"domains.csv": text})
    return read_catalog(folder / "domains.csv")
