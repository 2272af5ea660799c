"""Holding a catalog against the files that it leads to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixture.data.layout import LinkedFile, LinkedManifest, base_of, linked_path
from mixture.data.linking.catalog_writer import CountedBefore, KeptFile, PlannedDomain, Progress
from mixture.data.linking.catalogs import CatalogReport, DomainChange, before_of, replace_catalog, sources_of
from mixture.data.linking.counting import is_same
from mixture.data.linking.finding import Finder
from mixture.data.linking.sources import LinkSource
from mixture.data.token_files import looks
from mixture.errors import Place, StoreError


def refresh_catalog(
    folder: str | os.PathLike[str],
    *,
    accept: bool = False,
    full: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CatalogReport:
    """Hold a catalog against the files that it leads to, and count those that are new or were changed.

    accept: domains may change: locks that were made before do not fit any more
    full:   keep the SHA-256 of all of every file

    Errors: those of `build_catalog`; StoreError `catalog-changed` where a domain would change and that is not accepted,
    with every `DomainChange` in `changes` of its facts, `catalog-busy`, `store-replaced`.
    """
    before = before_of(Path(folder))
    base = base_of(before.folder)
    finder = Finder(base)
    planned, found = [], []
    for number, source in enumerate(sources_of(before)):
        files, change = _compare(before, number, source, finder.files_left(source), base, full)
        planned.append(PlannedDomain(source, files))
        found.append(change)
    numbers = [i for i, one in enumerate(planned) if any(isinstance(file, str) for file in one.files)]
    if not numbers and not any(found) and not _touched(before, base):
        return CatalogReport(before.folder, before.manifest, 0)

    def changes(written: LinkedManifest) -> tuple[DomainChange, ...]:
        made = _changes(before.manifest, written, found)
        if made and not accept:
            raise _unaccepted(before.folder, made)
        return made

    return replace_catalog(before, planned, numbers, is_full=full, threads=threads, progress=progress, changes=changes)


@dataclass(frozen=True, slots=True)
class _Found:
    """What is not as it was in a domain."""

    changed: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.grown or self.missing or self.new)


def _compare(
    before: CountedBefore, number: int, source: LinkSource, files: Sequence[str], base: Path, full: bool
) -> tuple[tuple[str | KeptFile, ...], _Found]:
    """The files of a domain as they are to be written, and what is not as it was."""
    domain = before.manifest.domains[number]
    known = {file.file: place for place, file in enumerate(domain.files)}
    changed: list[str] = []
    grown: list[str] = []
    parts: list[str | KeptFile] = []
    for name in files:
        place = known.get(name)
        if place is None:
            parts.append(name)
            continue
        file = domain.files[place]
        if all(is_same(linked_path(base, seen.file), seen) for seen in file.seen()):
            wanted = full and any(seen.sha256 is None for seen in file.seen())
            parts.append(name if wanted else KeptFile(_as_it_is(file, base), number, place))
            continue
        parts.append(name)
        size = looks(linked_path(base, name)).size
        (grown if size > file.bytes else changed).append(name)
    missing = tuple(name for name in known if name not in files)
    new = tuple(name for name in files if name not in known)
    found = _Found(tuple(changed), tuple(grown), missing, new)
    if source.how.path is not None and found:  # a store is made as a whole: the first file brings all documents
        parts = list(files)
    return tuple(parts), found


def _as_it_is(file: LinkedFile, base: Path) -> LinkedFile:
    """A file that is what it was, with the time that it has now."""

    def modified(path: str) -> dict[str, Any]:
        return {"modified": looks(linked_path(base, path)).modified}

    beside = tuple(seen.model_copy(update=modified(seen.file)) for seen in file.beside)
    return file.model_copy(update=modified(file.file) | {"beside": beside})


def _touched(before: CountedBefore, base: Path) -> bool:
    """Whether a file that is what it was has another time now: each opening would look into it."""
    return any(_as_it_is(file, base) != file for domain in before.manifest.domains for file in domain.files)


def _changes(old: LinkedManifest, new: LinkedManifest, found: Sequence[_Found]) -> tuple[DomainChange, ...]:
    return tuple(
        DomainChange(was.name, (was.tokens, now.tokens), one.changed, one.grown, one.missing, one.new)
        for was, now, one in zip(old.domains, new.domains, found, strict=True)
        if one
    )


def _unaccepted(folder: Path, changes: Sequence[DomainChange]) -> StoreError:
    """What changed, the largest change of tokens first, a line each."""
    ordered = sorted(changes, key=lambda change: -abs(change.tokens[1] - change.tokens[0]))
    lines = [*map(str, ordered[:_SHOWN])]
    if len(changes) > 1:
        lines.insert(0, f"the files of {len(changes):,} domains are not as they were counted:")
    if len(changes) > _SHOWN:
        lines.append(f"and {len(changes) - _SHOWN:,} more: `--json` lists all")
    return StoreError(
        "\n  ".join(lines),
        code="catalog-changed",
        place=Place(file=str(folder)),
        hint="`--accept` takes the files as they are now; locks made before then no longer fit",
        changes=tuple(changes),
    )


_SHOWN = 20
